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

/* An address range that is not global has to be under `private` to be reached; what is never
 * reached is noted. */
void import_open_range(struct import *im, unsigned int line, const char *range);

#endif
