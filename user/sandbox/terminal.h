/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Job control of `nej run`. The command has a process group of its own; on a terminal it gets the
 * foreground, and when it stops we stop too, so that the outer shell sees one job.
 */
#ifndef NEJ_SANDBOX_TERMINAL_H
#define NEJ_SANDBOX_TERMINAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct terminal {
	int fd;        /* the controlling terminal, or -1 */
	bool is_given; /* the command's group has the foreground, from us */
	struct {
		uid_t uid;
		gid_t gid;
		bool is_changed;
	} streams[3];
};

void terminal_open(struct terminal *t);
/* Is our process group in the foreground? */
bool terminal_is_ours(const struct terminal *t);
/* Has it hung up (tty_hangup)? */
bool terminal_is_gone(const struct terminal *t);
/* Does the command get the foreground at once? When all three streams are terminals; else only when
 * it wants to read or set it, so that a pager behind a pipe keeps it. */
bool terminal_wants_command(const struct terminal *t);

/* Takes the foreground back and stops our process group as the terminal would (no effect where
 * nobody could continue it). Returns when continued: true if in the foreground. */
bool terminal_stop_job(struct terminal *t);
/* After the command: the foreground is ours again if we gave it away. */
void terminal_take_back(struct terminal *t);

/* Terminals and pipes on 0, 1 and 2 that belong to root become the user's, so that it can open
 * /dev/stdout and its kind; given back at the end. */
void terminal_lend_streams(struct terminal *t, uid_t uid);
void terminal_return_streams(struct terminal *t);

/* Who waits for the end of a pipe waits for the command, not for us: 0 and 1 are let go unless they
 * are terminals. */
void terminal_let_go_of_streams(void);

#endif
