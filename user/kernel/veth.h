/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wire between two network namespaces, over rtnetlink: what `nej demo` builds its internet from.
 * The sandbox itself never gets one; its namespace is link.h's.
 */
#ifndef NEJ_KERNEL_VETH_H
#define NEJ_KERNEL_VETH_H

#include "../base/addr.h"

/* Makes the pair: `name` in the calling thread's namespace, `peer` in that of peer_ns_fd. 0 or
 * negative errno (-EOPNOTSUPP: this kernel has no veth). */
int veth_add(const char *name, const char *peer, int peer_ns_fd);

/* Gives the device an IPv4 address (prefix bits of the 4 byte form) and brings it up. */
int veth_set_up(const char *name, const struct addr *addr, unsigned int prefix_bits);

/* Makes an IPv4 address the gateway of the default route. */
int veth_set_gateway(const char *name, const struct addr *gateway);

#endif
