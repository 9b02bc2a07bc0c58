/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a socket asked for and who asked: kept in the socket's storage at every connect, filed under
 * the client's address by sockops before the SYN exists, given back by getpeername and recvmsg.
 * Also whose listener stands at a loopback port. Read connect.bpf.c next.
 */
#ifndef NEJ_FLOW_BPF_H
#define NEJ_FLOW_BPF_H

#include "event.bpf.h"

static __always_inline struct nej_socket *socket_find(void *sk)
{
	return sk ? bpf_sk_storage_get(&sockets, sk, NULL, 0) : NULL;
}

/* NULL when the socket's memory budget is used up: the caller refuses. */
static __always_inline struct nej_socket *socket_ensure(void *sk)
{
	return sk ? bpf_sk_storage_get(&sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
}

/* Writes what this connect asked over what the last one left: connect(AF_UNSPEC) and a second
 * connect must not keep the first one's origin. */
static __always_inline void flow_remember(const struct nej_settings *s, struct nej_socket *sock,
	struct nej_dest *dest, struct nej_decision *d)
{
	sock->verdict = d->verdict;
	sock->is_admitted = d->verdict == NEJ_PASS && d->reason == NEJ_REASON_RULE;
	sock->is_granted = sock->is_admitted && (d->rule & NEJ_RULE_GRANT);
	sock->is_remembered = d->verdict != NEJ_PASS || d->is_remembered;
	sock->generation = s->generation;
	sock->origin.dest = *dest;
	if (sock->is_remembered || sock->is_admitted) {
		process_refresh(&sock->origin.process);
		sock->origin.time_ns = bpf_ktime_get_ns();
	}
}

/* Where a verdict leads on the sandbox's loopback. is_mapped: an IPv6 socket that speaks IPv4. */
static __always_inline void flow_redirect(struct bpf_sock_addr *ctx, bool is_v6,
	const struct nej_settings *s, struct nej_ask *ask, __u8 verdict)
{
	struct nej_dest to = {};
	__u16 port_be = verdict == NEJ_STUB ? s->stub_port_be
		: verdict == NEJ_EAGER      ? s->eager_port_be
					    : s->proxy_port_be;

	if ((ask->facts & DEST_IS_V4) || (s->flags & NEJ_F_V4_ONLY))
		dest_set(&to, 0, 0, DEST_MAPPED, DEST_LO4, port_be);
	else
		dest_set(&to, 0, 0, 0, bpf_htonl(1), port_be);
	dest_to_call(ctx, is_v6, &to);
	counters_add(NEJ_COUNTER_REDIRECTED);
}

/* sockops: the connection's own address is known, the SYN is not sent yet. */
static __always_inline void flow_file(struct bpf_sock_ops *ctx)
{
	struct nej_socket *sock = socket_find(CTX(ctx->sk));
	struct nej_flow_key key = {};
	struct dest_words *words = (struct dest_words *)__builtin_assume_aligned(key.addr, 4);
	__u32 local_ip4 = CTX(ctx->local_ip4);
	struct nej_origin *old;

	if (!sock || !sock->is_remembered)
		return;
	if (ctx->family == AF_INET6) {
		words->w[0] = CTX(ctx->local_ip6[0]);
		words->w[1] = CTX(ctx->local_ip6[1]);
		words->w[2] = CTX(ctx->local_ip6[2]);
		words->w[3] = CTX(ctx->local_ip6[3]);
	} else {
		words->w[2] = DEST_MAPPED;
		words->w[3] = local_ip4;
	}
	key.port_be = bpf_htons(ctx->local_port);
	/* In place where the port was used before: an update would take a node out of the LRU list,
	 * 400 ns against 100. Who still reads the old value belongs to a connection that is gone. */
	old = bpf_map_lookup_elem(&flows, &key);
	if (old)
		*old = sock->origin;
	else
		bpf_map_update_elem(&flows, &key, &sock->origin, BPF_ANY);
}

/* --- loopback of a shared network namespace */

enum owner {
	OWNER_NOBODY,
	OWNER_SANDBOX,
	OWNER_OTHER,
};

static __always_inline enum owner owner_of(struct bpf_sock *found)
{
	enum owner owner = OWNER_NOBODY;

	if (found) {
		owner = bpf_sk_storage_get(&sockets, found, NULL, 0) ? OWNER_SANDBOX : OWNER_OTHER;
		bpf_sk_release(found);
	}
	return owner;
}

static __always_inline enum owner owner_find(
	struct bpf_sock_addr *ctx, struct nej_dest *dest, __u32 size, struct bpf_sock_tuple *tuple)
{
	if (dest->proto == IPPROTO_TCP)
		return owner_of(bpf_sk_lookup_tcp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0));
	return owner_of(bpf_sk_lookup_udp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0));
}

/*
 * Whose socket would get a packet to this loopback destination? The tag is the storage that
 * sock_create gave it. The own address and port are part of the question: a connected UDP socket
 * only answers to its peer.
 */
static __always_inline enum owner owner_lookup(
	struct bpf_sock_addr *ctx, struct bpf_sock *sk, struct nej_dest *dest)
{
	struct bpf_sock_tuple tuple = {};
	struct dest_words *words = dest_words(dest);
	__u32 src_port = 0;

	if (sk && dest->proto == IPPROTO_UDP)
		src_port = bpf_htons(sk->src_port);
	if (dest_is_v4(dest)) {
		tuple.ipv4.daddr = words->w[3] ? words->w[3] : DEST_LO4;
		tuple.ipv4.dport = dest->port_be;
		tuple.ipv4.saddr = DEST_LO4;
		tuple.ipv4.sport = src_port;
		return owner_find(ctx, dest, sizeof(tuple.ipv4), &tuple);
	}
	tuple.ipv6.daddr[3] = bpf_htonl(1);
	tuple.ipv6.dport = dest->port_be;
	tuple.ipv6.saddr[3] = bpf_htonl(1);
	tuple.ipv6.sport = src_port;
	return owner_find(ctx, dest, sizeof(tuple.ipv6), &tuple);
}

/* musl's getaddrinfo with AI_ADDRCONFIG connects a datagram socket to this port of loopback, says
 * nothing, and takes an errno for the end of all name resolution (src/network/lookup_name.c). */
#define OWNER_PROBE_PORT bpf_htons(65535)

/* Settles a decision that depends on the listener. Nobody there: the errno of a closed port, for
 * programs that wait for a server to start, and no event. */
static __always_inline void owner_settle(
	struct bpf_sock_addr *ctx, struct bpf_sock *sk, struct nej_ask *ask, struct nej_decision *d)
{
	enum owner owner = owner_lookup(ctx, sk, &ask->dest);

	d->needs_owner = false;
	if (owner == OWNER_SANDBOX)
		return;
	if (owner == OWNER_NOBODY && ask->hook == NEJ_HOOK_CONNECT &&
		ask->dest.proto == IPPROTO_UDP && ask->dest.port_be == OWNER_PROBE_PORT) {
		*d = decide_to(NEJ_STUB); /* what it might say all the same goes there */
		return;
	}
	*d = decide_deny(ask, NEJ_REASON_LOOPBACK);
	if (owner == OWNER_NOBODY) {
		d->is_quiet = true;
		d->error = ECONNREFUSED;
	}
}

#endif
