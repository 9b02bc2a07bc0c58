/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command of a sandbox as its supervisor sees it, through init: when it stops or ends, and which
 * signals it gets. An attach has none. Read terminal.h for whose the terminal is.
 */
#ifndef NEJ_SANDBOX_JOB_H
#define NEJ_SANDBOX_JOB_H

#include "../base/loop.h"
#include "sandbox.h"

struct job {
	struct loop *loop;
	struct sandbox *sb;
	struct loop_io init, init_end;
	void (*before_stop)(void *arg); /* we are about to stop as well */
	void *arg;
};

/* before_stop and arg are set. Its end stops the loop, sb->wait_status is set then. 0 or negative
 * errno. */
int job_watch(struct job *j, struct loop *loop, struct sandbox *sb);
/* Passes one of ours on. */
void job_signal(struct job *j, int signal, bool is_of_kernel);

#endif
