/* SPDX-License-Identifier: GPL-2.0-only */
/* The mounts of our namespace, as /proc/self/mountinfo lists them (proc(5)). */
#ifndef NEJ_SANDBOX_MOUNTS_H
#define NEJ_SANDBOX_MOUNTS_H

#include <limits.h>

struct mount_row {
	char target[PATH_MAX];
	char type[64];
	unsigned long flags; /* nosuid, nodev, noexec: what a remount must keep */
};

/* Calls on_mount for each, in their order, as they are at the call. Stops at a negative value and returns
 * it; negative errno when the list cannot be read. */
int mounts_each(int (*on_mount)(void *arg, const struct mount_row *row), void *arg);

/* With these flags (MS_RDONLY or 0) from now on. 0 also for one that cannot be reached, since another
 * lies over it. */
int mounts_remount(const struct mount_row *row, unsigned long flags);

#endif
