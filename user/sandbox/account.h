/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a running sandbox says of itself: its state, and what went through it in numbers. Only the
 * worker knows how many connections are open, so that an answer waits for it, but not for long.
 */
#ifndef NEJ_SANDBOX_ACCOUNT_H
#define NEJ_SANDBOX_ACCOUNT_H

#include "../base/loop.h"
#include "canary.h"
#include "control.h"
#include "sandbox.h"

struct account {
	struct loop *loop;
	const struct sandbox *sb;
	struct control *control;
	const struct canary *canary;
	struct loop_timer limit;
	uint32_t ids[CONTROL_MAX_CLIENTS]; /* requests that wait for the worker's number */
	size_t n_ids;
	uint32_t n_restarts;
};

void account_init(struct account *a, struct loop *loop, const struct sandbox *sb,
	struct control *control, const struct canary *canary);
void account_done(struct account *a);

/* Answers the request with this id, now or soon. */
void account_ask(struct account *a, uint32_t id);
/* The worker's number; negative: there is none to be had. */
void account_on_counted(struct account *a, int n_open);

#endif
