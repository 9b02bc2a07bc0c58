/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The grants of a sandbox: those in force, and the newest that ended, because records of what they
 * let through may still come. Plain data and its rules; granting.c puts them in force.
 */
#ifndef NEJ_SANDBOX_GRANTS_H
#define NEJ_SANDBOX_GRANTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../policy/overlay.h"

#define GRANTS_MAX_SECONDS 86400u
#define GRANTS_MAX_NOTE_BYTES 200

struct grant {
	uint32_t id;
	uint32_t uid; /* of whoever asked for it */
	uint32_t seconds;
	uint64_t expiry_ns; /* CLOCK_BOOTTIME */
	bool is_kernel;
	bool is_ending; /* counts no more: grants_end follows, or it is taken back */
	char *target;
	char *note; /* NULL without one */
	char *text; /* as a rule: what records call it */
};

struct grants {
	struct grant *live[NEJ_MAX_GRANTS]; /* the newest first */
	size_t n;
	struct grant *ended[NEJ_MAX_GRANTS];
	size_t next_ended;
	uint32_t last_id;
};

/* A grant out of a request: `target`, `seconds`, and if need be `transport`, `note`, `uid`. NULL with
 * why not. */
struct grant *grant_parse(const json_t *request, char *why, size_t max_bytes);
/* Gives it the next id and lets its time begin. 0, -ENOSPC: there are NEJ_MAX_GRANTS; -ENOMEM. */
int grant_begin(struct grant *g, const struct grants *all);
void grant_free(struct grant *g);

/* Owned from now on; grant_begin has found room. */
void grants_add(struct grants *g, struct grant *grant);
/* Takes the first of those that are ending out of force, or NULL. It is still known, until as many
 * others have ended. */
struct grant *grants_end_one(struct grants *g);
void grants_done(struct grants *g);

/* The earliest end of one in force, CLOCK_BOOTTIME; 0: there is none. */
uint64_t grants_first_end(const struct grants *g);

/* Those in force, with one more (may be NULL), as an image; *ret NULL for none. -EINVAL with errors;
 * what errs has to warn of is about that one alone. */
int grants_compile(const struct grants *g, const struct grant *with, struct err_list *errs,
	struct policy **ret);

/* Text and note of a grant by its number as a rule, in force or ended; false when it is forgotten. */
bool grants_text(
	const struct grants *g, uint32_t rule, const char **ret_text, const char **ret_note);
/* Those in force, the newest first. */
json_t *grants_print(const struct grants *g);

#endif
