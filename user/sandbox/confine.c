/* SPDX-License-Identifier: GPL-2.0-only */
/* Becomes the command's user; see confine.h. Its system call filter is filter.c's. */
#include "confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"

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

/* struct landlock_ruleset_attr of version 6; older headers lack its end. */
struct scoped_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

#define SCOPE_ABSTRACT_UNIX_SOCKET 1u

void confine_abstract_sockets(void)
{
	struct scoped_attr attr = {.scoped = SCOPE_ABSTRACT_UNIX_SOCKET};
	_cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd >= 0)
		syscall(SYS_landlock_restrict_self, fd, 0);
}
