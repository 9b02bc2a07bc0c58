/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types the BPF programs need: the uapi ones as they are (their layout is stable, so no
 * relocation and no kernel BTF is needed) and, relocated by CO-RE, the internal ones of unix.bpf.c.
 * Not a dump of a kernel's BTF: that would be 135,000 lines.
 */
#ifndef NEJ_VMLINUX_H
#define NEJ_VMLINUX_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

/* include/linux/socket.h and net.h of the kernel */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#ifdef NEJ_WANT_KERNEL_TYPES
/* The flavour suffix keeps them apart from the uapi struct of the same name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sockaddr_un___nej {
	__u16 sun_family;
	char sun_path[108];
};

struct bpf_sock_addr_kern___nej {
	void *uaddr;
	__u32 uaddrlen; /* Linux 6.7 */
};

#pragma clang attribute pop
#endif

#endif
