/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TCP and UDP sockets of a network namespace, and an end to one of them: sock_diag(7) with
 * SOCK_DESTROY. Whose sockets are to end is sandbox/sweep.c's.
 */
#ifndef NEJ_KERNEL_SOCKDIAG_H
#define NEJ_KERNEL_SOCKDIAG_H

#include <stdint.h>

#include "../base/addr.h"

struct sockdiag_socket {
	struct endpoint local, remote; /* port 0: not connected */
	uint8_t family;                /* AF_INET, AF_INET6 */
	uint8_t proto;                 /* IPPROTO_TCP, IPPROTO_UDP */
	uint8_t state;      /* TCP_ESTABLISHED, …; of UDP too: connected or TCP_CLOSE */
	uint32_t uid;       /* of its maker */
	uint32_t inode;     /* as /proc/PID/fd shows it; 0: no file any more */
	uint64_t cgroup_id; /* that it was made in; 0: unknown (before Linux 5.9) */
	uint32_t device;    /* it is bound to; 0 */
	uint32_t cookie[2]; /* tells it from a later one at the same addresses */
};

/* A netlink socket for the calling thread's network namespace; it stays there. */
int sockdiag_open(void);

/* Calls on_socket for all TCP and UDP sockets over IPv4 and IPv6 that stand in the kernel's tables:
 * what is neither bound nor connected does not. Stops at a negative value and returns it. -ENOENT:
 * this kernel has no inet_diag. */
int sockdiag_each(
	int fd, int (*on_socket)(void *arg, const struct sockdiag_socket *socket), void *arg);

/* Its calls fail from now on with ECONNABORTED; a TCP peer gets a RST. 0 also when it is gone;
 * -EOPNOTSUPP: needs CONFIG_INET_DIAG_DESTROY. */
int sockdiag_destroy(int fd, const struct sockdiag_socket *socket);

#endif
