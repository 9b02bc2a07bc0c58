/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be done to a sandbox while it runs: another policy, halt and resume, and what it says of
 * itself. The supervisor's side; turn.h is the worker's, control.h how it is asked.
 */
#ifndef NEJ_SANDBOX_LIVE_H
#define NEJ_SANDBOX_LIVE_H

#include "../base/loop.h"
#include "sandbox.h"

struct live;

struct live_hooks {
	void (*on_record)(void *arg);   /* the sink holds something to write */
	void (*on_policy)(void *arg);   /* another policy is in force: its secrets are to be read */
	void (*on_detach)(void *arg);   /* let it go, and end */
	void (*take_events)(void *arg); /* what the kernel has to tell, now */
	void *arg;
};

/* 0 or negative errno. */
int live_new(
	struct loop *loop, struct sandbox *sb, const struct live_hooks *hooks, struct live **ret);
void live_free(struct live *l);
/* The end is near: nothing of ours runs inside any more. */
void live_quiet(struct live *l);

/* The worker is done with a word of ours. */
void live_on_turned(struct live *l, int value);
void live_on_counted(struct live *l, int value); /* it says how many connections are open */
/* The worker ended; the next one starts with what is in force. */
void live_on_worker_end(struct live *l);
/* How often that was, for status. */
void live_count_restart(struct live *l);

/* Writes why everything is refused, if it is, for worker and kernel: after is_halted or
 * is_audit_failed changed. */
void live_apply_refusal(struct sandbox *sb);

#endif
