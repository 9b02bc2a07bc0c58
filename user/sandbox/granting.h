/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants come and go while a sandbox runs: the commands of the control socket, their ends by the
 * clock. Which there are is grants.h's; how the worker takes them up, turn.h's.
 */
#ifndef NEJ_SANDBOX_GRANTING_H
#define NEJ_SANDBOX_GRANTING_H

#include "../base/loop.h"
#include "control.h"
#include "sandbox.h"

struct granting;

struct granting_hooks {
	bool (*is_changing)(void *arg);
	/* What lies over the policy is in force in the kernel, which has ended so many connections:
	 * the worker is to follow, then the request (0: nobody's) gets the answer. */
	void (*on_change)(void *arg, uint32_t id, json_t *answer, int n_cut);
	void (*on_record)(void *arg); /* the sink holds something to write */
	void *arg;
};

/* 0 or negative errno. */
int granting_new(struct loop *loop, struct sandbox *sb, struct control *control,
	const struct granting_hooks *hooks, struct granting **ret);
void granting_free(struct granting *g);

/* Requests: `grant` with `target`, `seconds`, `transport`, `note`, `uid`; `revoke` with `grant` (an
 * id), `target` or `all`. */
void granting_grant(struct granting *g, uint32_t id, const json_t *request);
void granting_revoke(struct granting *g, uint32_t id, const json_t *request);
/* A change has ended: what waited for it goes on. */
void granting_settled(struct granting *g);

/* Lays what is in force over another policy, before that comes into force. 0 or negative errno. */
int granting_lay(const struct sandbox *sb, struct policy *next);

#endif
