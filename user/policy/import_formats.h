/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the readers of other formats share: looking keys up, adding rules and notes, and reading a
 * host as others write it. Only for import*.c.
 */
#ifndef NEJ_POLICY_IMPORT_FORMATS_H
#define NEJ_POLICY_IMPORT_FORMATS_H

#include <stdint.h>

#include "import.h"
#include "yaml.h"

/* Each reads the root of its document (NULL: it is plain text, import.text). */
void import_read_task(struct import *im, const struct yaml_node *root);
void import_read_settings(struct import *im, const struct yaml_node *root);
void import_read_harden(struct import *im, const struct yaml_node *root);
void import_read_openshell(struct import *im, const struct yaml_node *root);
void import_read_gh_aw(struct import *im, const struct yaml_node *root);
void import_read_docker(struct import *im, const struct yaml_node *root);

/* --- looking up */

/* The value of a key, NULL without one. A key written twice is an error. */
const struct yaml_node *import_key(struct import *im, const struct yaml_node *map, const char *key);
/* The same without errors, for detection; NULL when map is NULL or no map. */
const struct yaml_node *import_peek(const struct yaml_node *map, const char *key);
/* A list that may be absent or null (then NULL); anything else than a list is an error. */
const struct yaml_node *import_list(
	struct import *im, const struct yaml_node *map, const char *key);
/* A single word or number that may be absent; others are errors. NULL: absent or wrong. */
const struct yaml_node *import_scalar(
	struct import *im, const struct yaml_node *map, const char *key);
/* true or false; absent and null are false, anything else an error. */
bool import_flag(struct import *im, const struct yaml_node *map, const char *key);

/* A key that is not read, by its name: one that denies something must be (true: an error was added),
 * others open nothing and are noted. */
bool import_unknown_key(struct import *im, const struct yaml_node *key);
/* The same for every key of a map that may hold anything: no notes. */
void import_check_denials(
	struct import *im, const struct yaml_node *map, const char *const *known, size_t n_known);

/* --- adding */

void import_fail(struct import *im, const struct yaml_node *at, const char *mend, const char *what,
	...) __attribute__((format(printf, 4, 5)));
void import_note(struct import *im, unsigned int line, bool is_lost, const char *what, ...)
	__attribute__((format(printf, 4, 5)));
/* A text of the arena; "" without memory (found by the end). */
const char *import_printf(struct import *im, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A rule without targets, from an entry under a key. The pointer holds until the next is added;
 * NULL without memory. */
struct import_rule *import_rule(
	struct import *im, bool is_deny, const char *key, const struct yaml_node *entry);
/* Checked by pattern.h's grammar: false, and an error at the entry, if it is no target. rule may be
 * NULL. */
bool import_target(struct import *im, struct import_rule *rule, const struct yaml_node *entry,
	const char *target);

/* --- hosts */

enum import_host_kind {
	IMPORT_HOST_NAME,
	IMPORT_HOST_DOT,   /* .name */
	IMPORT_HOST_STAR,  /* *.name */
	IMPORT_HOST_EVERY, /* * */
	IMPORT_HOST_ADDR,  /* address or range */
};

struct import_host {
	enum import_host_kind kind;
	const char *name; /* without dot or star; lower case; an address as targets write it */
	uint16_t port;    /* 0: none written */
	bool is_local;    /* localhost, a name below it, or an address of the loopback */
};

/* HOST[:PORT] as it stands. False, and an error at the entry, for anything else. */
bool import_host(struct import *im, const struct yaml_node *entry, const char *text, size_t len,
	struct import_host *ret);

/* The same for a name with a star: `*` within a label, or elsewhere than first, cannot be said. */
bool import_has_odd_star(const char *text);

/* An address range that is not global has to be under `private` to be reached; what is never
 * reached is noted. */
void import_open_range(struct import *im, unsigned int line, const char *range);

/* --- entries outside of lists: import_text.c */

/* A text word by word, as a shell reads it: quotes, `#` comments, a backslash joins lines. */
struct import_words {
	const char *at, *end;
	unsigned int line, column;
	bool is_first; /* of its line */
};

void import_words_init(struct import *im, struct import_words *ret);
/* The next word as a scalar (is_plain: the first of its line); false at the end. */
bool import_next_word(struct import *im, struct import_words *w, struct yaml_node *ret);

/* Each word of a scalar, at its own place in the text. */
void import_each_word(struct import *im, const struct yaml_node *scalar,
	void (*take)(struct import *im, const struct yaml_node *word, void *arg), void *arg);
/* Each piece between commas or line ends. */
void import_each_piece(struct import *im, const struct yaml_node *list,
	void (*take)(struct import *im, const struct yaml_node *piece, void *arg), void *arg);

/* --- requests: import_requests.c */

struct import_request {
	const struct yaml_node *entry;
	const char *key;
	const char *methods; /* `GET,HEAD`; NULL: any */
	const char *host;    /* as a target has it, port and scheme included */
	const char *path;    /* a glob: `*` in a segment, `**` as a segment; NULL: every path */
	/* What is asked of this host is decided by its own entries, not by those of patterns that
	 * cover it too. */
	bool is_own;
};

/* Collected first (list: from buf_init to buf_done), because their order is not that of the file. */
void import_add_request(
	struct import *im, struct buf *list, bool is_deny, const struct import_request *request);
/* Nothing of the request's host can be allowed: only is_own and the host count. */
void import_close_host(struct buf *list, const struct import_request *request);
void import_put_requests(struct import *im, struct buf *list);

#endif
