/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stages that every sandbox goes through, whether it runs a command of its own (launch.c) or
 * takes in processes that are there (attach.c). The order is theirs. Each gives 0 or an exit status;
 * the message is out.
 */
#ifndef NEJ_SANDBOX_STAGE_H
#define NEJ_SANDBOX_STAGE_H

#include <pthread.h>

#include "sandbox.h"

/* Closes what our caller left open, and all that we have opened: it is neither the worker's nor the
 * command's. */
void stage_close_inherited(void);
/* A sandbox of which there is nothing yet, so that stage_take_apart is always right. */
void stage_begin(struct sandbox *sb, const struct sandbox_options *options);

int stage_failed(int err, const char *what); /* says so; the exit status */

/* --- in any order, side by side */

int stage_open_log(struct sandbox *sb);   /* and what a dead supervisor's rings hold */
int stage_open_audit(struct sandbox *sb); /* the same, under the policy from here on */
int stage_open_anchors(struct sandbox *sb);
int stage_start_worker(struct sandbox *sb); /* the listeners are open */

/* The programs, loaded by a thread meanwhile. */
struct stage_loading {
	struct sandbox *sb;
	pthread_t thread;
	bool is_started;
	int result;
	struct object_error error;
};

int stage_load(struct stage_loading *l, struct sandbox *sb);
void stage_join(struct stage_loading *l); /* as often as one likes; the thread is gone */

/* --- in this order */

int stage_loaded(struct stage_loading *l);
int stage_hook(struct sandbox *sb);    /* attached and pinned */
int stage_apply(struct sandbox *sb);   /* the policy into the maps, and sb->settings from it */
int stage_enforce(struct sandbox *sb); /* sb->settings into force */
int stage_finish_worker(struct sandbox *sb);
int stage_describe(struct sandbox *sb); /* the state file: others see it */
int stage_record(struct sandbox *sb);   /* the start is in the log, before anything is let go on */

/* Ends all there is of it. */
void stage_take_apart(struct sandbox *sb);

#endif
