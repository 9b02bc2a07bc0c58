/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker's threads change over: another policy or other grants come into force, or everything is
 * cut. Each thread does it between two events of its own, so that none decides by two policies at
 * once.
 */
#ifndef NEJ_SANDBOX_TURN_H
#define NEJ_SANDBOX_TURN_H

#include <stdatomic.h>

#include "../base/loop.h"
#include "../policy/policy.h"
#include "../proxy/proxy.h"
#include "handoff.h"
#include "init.h"

struct turn;

struct turn_lane {
	struct turn *turn;
	struct loop_io wake; /* eventfd: do as turn->word says */
	struct proxy *proxy;
	const struct policy *policy; /* in force on this thread */
	uint32_t generation;
};

struct turn {
	struct turn_lane lanes[HANDOFF_MAX_THREADS];
	size_t n;
	int control;                 /* to the supervisor */
	struct policy *now, *before; /* threads may still hold texts of the one before */
	struct policy *next;         /* came, and waits for INIT_TURN */
	uint32_t next_generation;
	enum init_word word; /* being carried out */
	_Atomic uint32_t n_left, n_ended;
};

/* Of n threads, all under this policy (owned from now on). 0 or negative errno. */
int turn_init(struct turn *t, size_t n, struct policy *policy, uint32_t generation, int control);
/* Before lane i serves, on its loop. */
int turn_watch(struct turn *t, size_t i, struct loop *loop, struct proxy *proxy);
/* The policy that secrets which come now belong to. */
const struct policy *turn_policy(const struct turn *t);
/* A word of the supervisor, on lane 0: INIT_POLICY with its memfd (borrowed), INIT_GRANTS with one or
 * without (over that policy, or else the one in force), INIT_TURN, INIT_HALT.
 * These two are answered with INIT_TURNED when every thread is done; INIT_COUNT at once. */
void turn_do(struct turn *t, const struct init_message *message, int fd);

#endif
