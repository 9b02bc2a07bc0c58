/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is decided before anything is made: name, lock, users, policy and whether it may be used,
 * audit path. Read launch.h next.
 */
#ifndef NEJ_SANDBOX_PREPARE_H
#define NEJ_SANDBOX_PREPARE_H

#include "sandbox.h"

/* Fills sb from its options. 0, or the exit status of a refusal; the message is out. */
int prepare(struct sandbox *sb);
/* The same of an attach, in two steps: name and lock; then, when sb->id is known, all else. */
int prepare_begin(struct sandbox *sb);
int prepare_rest(struct sandbox *sb);

/* Loads a policy and prints its errors; is_hidden: only where they are. 0 or an exit status. */
int prepare_policy(const char *path, bool is_hidden, struct policy **ret);

/* May the sandbox's user not write it, or has it been trusted as it is? 0, or an exit status with
 * why not. */
int prepare_trust(const char *path, const struct policy *policy, const struct identity *id,
	char *why, size_t max_bytes);

/* audit_rule_lookup for the sink; arg is the sandbox. */
void prepare_lookup(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note);

#endif
