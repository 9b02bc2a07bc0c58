/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts the sandbox's init in its cgroup and namespaces; the supervisor's end. See init.h. */
#ifndef NEJ_SANDBOX_SPAWN_H
#define NEJ_SANDBOX_SPAWN_H

#include <sys/types.h>

#include "init.h"

struct spawn {
	pid_t pid; /* of init, in our pid namespace */
	int pidfd;
	int socket; /* to it */
};

/* Clones init into new pid, mount and ipc namespaces and into the cgroup, plan->cgroup_fd. Called
 * while this process has one thread. joins_itself: it is cloned beside us and joins the cgroup before
 * it does anything else. 0 or negative errno. */
int spawn_init(struct init_plan *plan, bool joins_itself, struct spawn *ret);

/* Waits for init's next word, which must be this one. 0, -EPIPE (it ended without a word), -EPROTO, or what INIT_FAILED says, with
 * its text in ret_what (120 bytes). *ret_fd as of init_recv. */
int spawn_expect(struct spawn *s, enum init_word word, int *ret_fd, char ret_what[static 120]);

/* Kills init, and thereby all of its namespace, if it still runs; closes. */
void spawn_done(struct spawn *s);

#endif
