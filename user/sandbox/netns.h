/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The listening sockets of proxy and stub, opened inside the sandbox's network namespace by the
 * supervisor: a socket stays where it was made, and belongs to the cgroup of who made it.
 */
#ifndef NEJ_SANDBOX_NETNS_H
#define NEJ_SANDBOX_NETNS_H

#include <stdint.h>

#include "handoff.h"

#define NETNS_PROXY_PORT 3128
#define NETNS_EAGER_PORT 3129
#define NETNS_STUB_PORT 4053

struct netns_listeners {
	int fds[HANDOFF_LISTENER_COUNT]; /* -1: the family is missing */
	uint32_t has;                    /* bit a handoff_listener */
	uint16_t proxy_port, eager_port, stub_port;
};

/* In the namespace of a process: `lo` is brought up, the fixed ports are taken. The calling thread
 * is back in its own namespace when this returns. 0 or negative errno. */
int netns_listen_in(int netns_fd, struct netns_listeners *ret);
/* In the caller's own: free ports outside ip_local_port_range, else a client whose ephemeral port
 * equals ours would connect to itself while we are down. */
int netns_listen_here(struct netns_listeners *ret);
/* In another one that others may use: as netns_listen_here, the calling thread comes back. */
int netns_listen_among(int netns_fd, struct netns_listeners *ret);
/* Brings `lo` up there and gives it the two addresses of link.h; takes those away again. */
int netns_set_up_lo(int netns_fd);
int netns_tidy_lo(int netns_fd);
/* Is there no device but `lo` that is up? 1, 0, negative errno. */
int netns_is_alone(int netns_fd);
/* Is there no device but `lo`, up or not, and those that the kernel makes in every namespace? */
int netns_is_bare(int netns_fd);
/* A descriptor of the namespace they are in, however they got there; negative errno. */
int netns_of_listeners(const struct netns_listeners *l);
void netns_listeners_close(struct netns_listeners *l);

#endif
