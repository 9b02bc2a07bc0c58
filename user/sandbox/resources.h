/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory, processes and CPU time of a sandbox's cgroup: the controllers of cgroup2. */
#ifndef NEJ_SANDBOX_RESOURCES_H
#define NEJ_SANDBOX_RESOURCES_H

#include <stdbool.h>

#include "cgroup.h"
#include "limits.h"

#define RESOURCES_WHY_BYTES 512

struct resources_events {
	uint64_t n_oom_kills;    /* processes that the kernel killed for want of memory */
	uint64_t n_pids_refused; /* forks */
};

/* Before any process is in it. 0 also when nothing is asked for; -EOPNOTSUPP with a sentence why: this
 * machine's cgroup2 has no such controller, or does not hand it on. */
int resources_set(const struct cgroup *cg, const uint64_t limits[static LIMIT_COUNT],
	char why[static RESOURCES_WHY_BYTES]);
void resources_events(const struct cgroup *cg, struct resources_events *ret);
/* The controllers that could be set on this machine, separated by blanks; for `nej doctor`. */
void resources_available(char *ret, size_t bytes);

#endif
