/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroup of one sandbox, `nej/NAME` below wherever cgroup2 is mounted. */
#ifndef NEJ_SANDBOX_CGROUP_H
#define NEJ_SANDBOX_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
