/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sandboxed command's system call filter: socket families no BPF hook sees, io_uring, what acts
 * on the terminal or the kernel. Everything else stays allowed: real programs run inside. The
 * worker's filter, far narrower, is isolate.c's.
 */
#ifndef NEJ_SANDBOX_FILTER_H
#define NEJ_SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

#define FILTER_MAX 320

/* The program as classic BPF over struct seccomp_data. family_action: what a socket of another
 * family, a raw or a ping socket gets. Returns its length, or negative errno. */
int filter_build(struct sock_filter out[static FILTER_MAX], unsigned int family_action);

/* Loads it for this process and its children; no_new_privs is set. Sockets of other families are
 * reported on *ret_fd, see refused.h; -1 where the kernel cannot (they are refused all the same). */
int filter_load(int *ret_fd);

#endif
