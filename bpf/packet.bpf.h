/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the packet programs need of a packet: the far end, the protocol, whether it is a bare RST or
 * a SYN. Anything unusual (extension headers, routing headers, fragments) is left as a protocol
 * that nobody passes. Read packet.bpf.c next.
 */
#ifndef NEJ_PACKET_BPF_H
#define NEJ_PACKET_BPF_H

#include "flow.bpf.h"

#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_RST 0x04
#define TCP_FLAG_ACK 0x10

struct packet {
	struct nej_dest far; /* egress: destination, ingress: source */
	__u16 near_port_be;
	__u8 is_bare_rst; /* RST without payload: how a destroyed socket tells its peer */
	__u8 is_opening;  /* SYN without ACK */
};

/* l4_len: bytes of this packet behind the IP headers. */
static __always_inline void packet_parse_l4(
	void *l4, void *end, __u32 l4_len, bool is_egress, struct packet *p)
{
	if (p->far.proto == IPPROTO_TCP) {
		struct tcphdr *tcp = l4;
		__u8 flags, doff;

		if ((void *)(tcp + 1) > end)
			return;
		p->far.port_be = is_egress ? tcp->dest : tcp->source;
		p->near_port_be = is_egress ? tcp->source : tcp->dest;
		doff = ((__u8 *)tcp)[12] >> 4;
		flags = ((__u8 *)tcp)[13];
		p->is_bare_rst = (flags & TCP_FLAG_RST) && l4_len == doff * 4u;
		p->is_opening = (flags & (TCP_FLAG_SYN | TCP_FLAG_ACK)) == TCP_FLAG_SYN;
	} else if (p->far.proto == IPPROTO_UDP) {
		struct udphdr *udp = l4;

		if ((void *)(udp + 1) > end)
			return;
		p->far.port_be = is_egress ? udp->dest : udp->source;
		p->near_port_be = is_egress ? udp->source : udp->dest;
	}
}

static __always_inline bool packet_parse4(void *data, void *end, bool is_egress, struct packet *p)
{
	struct iphdr *ip = data;
	__u32 head_len;

	if ((void *)(ip + 1) > end)
		return false;
	dest_set(&p->far, 0, 0, DEST_MAPPED, is_egress ? ip->daddr : ip->saddr, 0);
	p->far.proto = ip->protocol;
	head_len = ip->ihl * 4u;
	packet_parse_l4(data + head_len, end, bpf_ntohs(ip->tot_len) - head_len, is_egress, p);
	return true;
}

static __always_inline bool packet_parse6(void *data, void *end, bool is_egress, struct packet *p)
{
	struct ipv6hdr *ip = data;
	const __u32 *a;

	if ((void *)(ip + 1) > end)
		return false;
	a = is_egress ? ip->daddr.in6_u.u6_addr32 : ip->saddr.in6_u.u6_addr32;
	dest_set(&p->far, a[0], a[1], a[2], a[3], 0);
	p->far.proto = ip->nexthdr;
	packet_parse_l4(ip + 1, end, bpf_ntohs(ip->payload_len), is_egress, p);
	return true;
}

/* False: not an IP packet whose header can be read. */
static __always_inline bool packet_parse(struct __sk_buff *skb, bool is_egress, struct packet *ret)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		ret->far.family = AF_INET;
		return packet_parse4(data, end, is_egress, ret);
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		ret->far.family = AF_INET6;
		return packet_parse6(data, end, is_egress, ret);
	}
	return false;
}

static __always_inline struct nej_socket *packet_socket(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return NULL;
	return socket_find(bpf_sk_fullsock(sk));
}

#endif
