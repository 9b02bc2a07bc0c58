/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroup of one sandbox, `nej/NAME` below wherever cgroup2 is mounted. */
#ifndef NEJ_SANDBOX_CGROUP_H
#define NEJ_SANDBOX_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup {
	int fd;      /* its directory */
	uint64_t id; /* as BPF programs see it */
	char path[PATH_MAX];
};

/* Makes it; one that an earlier supervisor left (ret_is_leftover) is emptied, its processes killed,
 * and made anew. -ENOENT: no cgroup2; -ETIMEDOUT, -EBUSY: the processes do not end. */
int cgroup_open(const char *name, struct cgroup *ret, bool *ret_is_leftover);
/* Kills all its processes, those of descendants too, and waits until they are gone: 0, or
 * -ETIMEDOUT after five seconds. */
int cgroup_kill(const struct cgroup *cg);
/* Removes it with its descendants. 0, or -EBUSY while a process is in it. */
int cgroup_remove(struct cgroup *cg);
void cgroup_close(struct cgroup *cg);

/* The path of a process's cgroup, below the root of the hierarchy; it begins with `/..` for one outside
 * of our cgroup namespace. 0, -ESRCH (no process), -ENOENT (it is in no cgroup2). */
int cgroup_path_of(pid_t pid, char ret[static PATH_MAX]);
/* The same, opened. On failure there is nothing to close. */
int cgroup_of(pid_t pid, struct cgroup *ret);
/* Is a process in it or below it? path: whole. False for one that is not there; true where that cannot be
 * known, as who is told that nobody is in it may let it go. */
bool cgroup_is_populated(const char *path);

/* Calls visit for its directory and those of all descendants, the deepest first. */
void cgroup_each(const struct cgroup *cg, void (*visit)(void *arg, int dir_fd), void *arg);
/* Calls on_process for each process of one directory alone. */
void cgroup_each_process(int dir_fd, void (*on_process)(void *arg, pid_t pid), void *arg);

#endif
