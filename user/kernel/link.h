/* SPDX-License-Identifier: GPL-2.0-only */
/* The network devices and addresses of a namespace, over rtnetlink (libnl). */
#ifndef NEJ_KERNEL_LINK_H
#define NEJ_KERNEL_LINK_H

#include <stddef.h>

#include "../base/addr.h"

/* In the calling thread's network namespace: brings `lo` up and gives it the two addresses that
 * make AI_ADDRCONFIG find both families. IPv6 switched off is fine. 0 or negative errno. */
int link_set_up_lo(void);
/* Takes those two addresses away again. */
void link_tidy_lo(void);
/* Is there no device but `lo` that is up? 1, 0, negative errno. */
int link_is_alone(void);
/* Is there none but `lo` that anybody made, be it down? The kernel's own in every namespace are the ends
 * of tunnels (net.core.fb_tunnels_only_for_init_net), which lead nowhere without another. */
int link_is_bare(void);

/* The addresses of this namespace's devices, so that the dialler can refuse the host's own.
 * Caller frees *ret. */
int link_addrs(struct addr **ret, size_t *ret_n);

#endif
