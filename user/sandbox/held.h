/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network sockets that processes hold already, each through a descriptor of our own. What is to
 * become of them is sweep.c's.
 */
#ifndef NEJ_SANDBOX_HELD_H
#define NEJ_SANDBOX_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/addr.h"
#include "cgroup.h"

struct held_socket {
	int fd; /* ours, closed when the call returns */
	pid_t pid;
	int domain, type, protocol; /* as socket(2) had them */
	uint32_t inode;
	uid_t uid; /* of its maker */
	bool is_connected;
	struct endpoint peer;
};

struct held_plan {
	const struct cgroup *cgroup;
	bool has_uid;
	uid_t uid; /* only processes and sockets of this user */
	/* Each process first, then its sockets. May be NULL. */
	void (*on_process)(void *arg, pid_t pid);
	void (*on_socket)(void *arg, const struct held_socket *socket);
	/* Where a socket may be that no descriptor leads to: with its inode, or 0. May be NULL. */
	void (*on_hidden)(void *arg, pid_t pid, uint32_t inode, const char *what);
	/* A descriptor that cannot be looked at (before Linux 5.6, or a lock on ptrace). */
	void (*on_closed)(void *arg, pid_t pid);
	void *arg;
};

/* All sockets but those of the Unix and netlink families, of each process of the cgroup and those below
 * it; one that several hold comes several times. */
void held_each(const struct held_plan *plan);

/* Do the cgroup's programs, attached and refusing binds to port_be, run for this TCP or UDP socket?
 * Not if it was made in another cgroup, whoever holds it. uid: whom the programs are for, or -1. */
bool held_is_covered(const struct held_socket *socket, uint16_t port_be, uid_t uid);

#endif
