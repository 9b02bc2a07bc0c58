/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The secrets of one sandbox in the supervisor: their values in locked memory, the placeholders that
 * stand for them inside, and the memfd by which the worker gets both. Read placeholder.h and source.h
 * for the parts, proxy/secret.h for what the worker does with them.
 */
#ifndef NEJ_SANDBOX_SECRETS_H
#define NEJ_SANDBOX_SECRETS_H

#include <signal.h>
#include <stdbool.h>

#include "../base/buf.h"
#include "../policy/policy.h"
#include "locked.h"

struct secrets_item {
	const char *name;     /* the policy's */
	struct locked value;  /* len 0: its source fails now */
	struct locked key_id; /* a variable's value; len 0: none, or it is a secret's */
	char *placeholder;
};

struct secrets {
	const struct policy *policy;
	struct secrets_item *items; /* one a secret, in the policy's order */
	size_t n;
	sigset_t signals; /* mask of commands */
};

/* Reads all of them and draws placeholders. From now on our memory cannot be dumped or looked at.
 * 0, or an exit status; the messages are out. */
int secrets_open(const struct policy *p, const sigset_t *signals, struct secrets *ret);
void secrets_done(struct secrets *s);

/* Takes every value out of our environment and out of the words of argv: placeholders take their
 * places, what held them is wiped, variables under the secrets' names are set. Once, before anything
 * is forked. 0 or -ENOMEM. */
int secrets_hide(const struct secrets *s, char **argv);

/* Reads files and commands anew into n values of the caller's (len 0: none, or a variable), names in
 * what became of them for the log: `A, B` were read and `C (why)` was not. Takes as long as the
 * commands do; may run beside the other functions. */
void secrets_read_again(
	const struct secrets *s, struct locked *ret, struct buf *read, struct buf *failed);
/* Puts these values in the place of the old ones; those that could not be read are gone. */
void secrets_renew(struct secrets *s, struct locked *values);

/* A sealed memfd as of handoff.h, the caller's; negative errno. */
int secrets_encode(const struct secrets *s);

#endif
