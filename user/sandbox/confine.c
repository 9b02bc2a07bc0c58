/* SPDX-License-Identifier: GPL-2.0-only */
/* Becomes the command's user; see confine.h. Its system call filter is filter.c's. */
#include "confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SECUREBITS                                                                                 \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                      \
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int confine_become(const struct identity *id)
{
	if (prctl(PR_SET_SECUREBITS, SECUREBITS) < 0)
		return -errno;
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_change_id((int)id->uid, (int)id->gid,
		    CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING | CAPNG_CLEAR_AMBIENT) != 0)
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (getuid() != id->uid || geteuid() != id->uid || setuid(0) == 0 || setgid(0) == 0)
		return -EPERM;
	return 0;
}
