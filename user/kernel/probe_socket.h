/* SPDX-License-Identifier: GPL-2.0-only */
/* Two questions to the kernel over netlink, for probe.c. */
#ifndef NEJ_KERNEL_PROBE_SOCKET_H
#define NEJ_KERNEL_PROBE_SOCKET_H

/* Can sockets be destroyed over sock_diag? Tried on one of our own. 0 or negative errno. */
int probe_socket_destroy(void);

/* Does nf_tables answer? 0 or negative errno. */
int probe_socket_nf_tables(void);

#endif
