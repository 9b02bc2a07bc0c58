/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a secret's value from where the policy says it is. */
#ifndef NEJ_SANDBOX_SOURCE_H
#define NEJ_SANDBOX_SOURCE_H

#include <signal.h>

#include "../policy/policy.h"
#include "locked.h"

#define SOURCE_COMMAND_MS 10000

/* Why a source gives no value, for people; never any of what was read. */
struct source_error {
	char why[256];
};

/* Reads secret i. signals: the mask of a command. 0 with the value (1 to HANDOFF_MAX_SECRET_BYTES
 * bytes, no control character among them; the caller's to free), or negative errno with why. */
int source_read(const struct policy *p, size_t i, const sigset_t *signals, struct locked *ret,
	struct source_error *why);

/* The same for a text at hand, such as a variable. */
int source_take(const char *text, size_t len_bytes, struct locked *ret, struct source_error *why);

/* Where it comes from, for people: `variable X`, `file /x`, `command /x`. */
void source_print(const struct policy *p, size_t i, char *ret, size_t max_bytes);

#endif
