/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the sandbox's secrets anew while the supervisor goes on: commands take their time, so a
 * thread of its own waits for them.
 */
#ifndef NEJ_SANDBOX_RENEW_H
#define NEJ_SANDBOX_RENEW_H

#include "../base/loop.h"
#include "secrets.h"

struct renew;

/* on_done comes on the loop, the new values in their places already: names of those that were read,
 * and of those that were not with the reason; both may be empty. 0 or negative errno. */
int renew_new(struct loop *loop, struct secrets *secrets,
	void (*on_done)(void *arg, const char *read, const char *failed), void *arg,
	struct renew **ret);
/* Begins; once more behind the one that runs. 0 or negative errno. */
int renew_start(struct renew *r);
void renew_free(struct renew *r); /* waits for its thread */

#endif
