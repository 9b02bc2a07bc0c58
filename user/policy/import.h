/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Network policies of other tools, read into targets of our language. Pure: text in; rules, notes
 * and errors out. What cannot be said in our language is denied and noted, never dropped. One
 * import_*.c a family of formats; import_formats.h is what they share.
 */
#ifndef NEJ_POLICY_IMPORT_H
#define NEJ_POLICY_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/buf.h"
#include "../base/err.h"
#include "arena.h"
#include "draft.h"

enum import_format {
	IMPORT_NONE, /* not one of these */
	IMPORT_TASK, /* an Agentfile, or a task with `sandbox.network_mode` */
	IMPORT_SANDBOX_RUNTIME,
	IMPORT_CLAUDE,
	IMPORT_HARDEN_RUNNER,
	IMPORT_OPENSHELL,
	IMPORT_GH_AW,
	IMPORT_DOCKER,
	IMPORT_FORMATS
};

#define IMPORT_MAX_TARGETS 8

struct import_rule {
	bool is_deny;
	bool ignores_case;         /* of its paths */
	unsigned int line, column; /* of the entry it comes from, from 1 */
	const char *text;          /* the entry as written, one line: `blocked_hosts: a.example` */
	size_t n_targets;
	const char *targets[IMPORT_MAX_TARGETS];
};

struct import_note {
	unsigned int line;
	bool is_lost; /* something is denied that the other tool would have allowed */
	const char *text;
};

struct import {
	enum import_format format;
	struct arena arena; /* of all texts */
	struct err_list *errs;
	const char *text; /* what is read, not owned */
	size_t len;
	bool is_default_allow;
	struct buf rules;    /* struct import_rule, in order */
	struct buf notes;    /* struct import_note, by line */
	struct buf privates; /* const char *: CIDRs */
};

/* The word of a format (`--from`), NULL for IMPORT_NONE. */
const char *import_word(enum import_format format);
/* What it is called in a sentence. */
const char *import_title(enum import_format format);
/* By its word; IMPORT_NONE for an unknown one. */
enum import_format import_find(const char *word);

/* By content alone. */
enum import_format import_detect(const char *text, size_t len_bytes);

/* Why nothing was detected, when it can be told: an error in errs, and true. */
bool import_is_unread(const char *text, size_t len_bytes, struct err_list *errs);

/* from IMPORT_NONE: detect. 0; -EINVAL with errors in errs; -ENOMEM. To be given back by
 * import_done either way; text must live as long. */
int import_read(const char *text, size_t len_bytes, enum import_format from, struct err_list *errs,
	struct import *ret);
void import_done(struct import *im);

/* The policy as text, with the place each rule comes from. file is named in its head. */
int import_print(const struct import *im, const char *file, struct buf *ret);

/* Places and texts of rules that import_print wrote, as parse.c read them, become those of the
 * imported file. */
void import_place(const struct import *im, struct draft *d);

#endif
