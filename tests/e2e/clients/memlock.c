/* SPDX-License-Identifier: GPL-2.0-only */
/* For LD_PRELOAD: crun raises RLIMIT_MEMLOCK, which root without CAP_SYS_RESOURCE may not, and gives up.
 * Here nothing of it needs the memory. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int setrlimit(__rlimit_resource_t which, const struct rlimit *limit)
{
	return which == RLIMIT_MEMLOCK ? 0 : (int)syscall(SYS_prlimit64, 0, which, limit, NULL);
}
