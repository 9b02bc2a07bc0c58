/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of a command that does not end by itself: `--idle` tells it to when nothing has happened for
 * that long, `--grace` kills what is still there so long after it was told.
 */
#ifndef NEJ_SANDBOX_CURFEW_H
#define NEJ_SANDBOX_CURFEW_H

#include "../base/loop.h"
#include "sandbox.h"

struct curfew;

struct curfew_hooks {
	void (*on_term)(void *arg); /* the command is to end */
	void (*on_kill)(void *arg); /* and did not; sb->ended_by says why */
	void *arg;
};

/* *ret is NULL where neither is asked for: then nothing ever wakes for it. 0 or negative errno. */
int curfew_new(struct loop *loop, struct sandbox *sb, const struct curfew_hooks *hooks,
	struct curfew **ret);
void curfew_free(struct curfew *c);
/* The command has been told to end by somebody else. c may be NULL. */
void curfew_on_term(struct curfew *c);

#endif
