/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets a contender that refuses loopback destinations (nej) run in a harness whose origins listen on
 * loopback: what it dials in 93.184.216.0/24 goes to 127.0.0.0/24. Attached to the contender's
 * cgroup, outside of what is measured; one comparison a connect(). See start.
 */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("cgroup/connect4")
int bridge(struct bpf_sock_addr *ctx)
{
	__u32 addr = bpf_ntohl(ctx->user_ip4);

	if (addr >> 8 == 0x5db8d8)
		ctx->user_ip4 = bpf_htonl(0x7f000000 | (addr & 0xff));
	return 1;
}

char _license[] SEC("license") = "GPL";
