// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams with an address of their own: sendmsg (sendto, sendmmsg, io_uring) and recvmsg, which
 * gives the resolver's answer the address that was asked. An IPv6 socket that writes to a v4-mapped
 * address runs sendmsg4 and is answered through recvmsg6.
 */
#include "flow.bpf.h"

static __always_inline void sendmsg_act(struct bpf_sock_addr *ctx, struct bpf_sock *sk, bool is_v6,
	const struct nej_settings *s, struct nej_ask *ask, struct nej_decision *d)
{
	bool is_pass = d->verdict == NEJ_PASS;
	struct nej_socket *sock;

	if (is_pass && d->reason != NEJ_REASON_RULE)
		return;
	/* What a rule lets out needs its storage too: packets of sockets without one are dropped. */
	sock = socket_ensure(sk);
	if (!sock)
		*d = decide_deny(ask, NEJ_REASON_INTERNAL);
	if (!sock || is_pass)
		return;
	if (ask->facts & DEST_IS_V4)
		sock->asked4 = ask->dest;
	else
		sock->asked6 = ask->dest;
	flow_redirect(ctx, is_v6, s, ask, d->verdict);
}

/*
 * To the stub itself the decision is PASS and nothing is remembered: a connected IPv6 socket whose
 * peer is v4-mapped comes through here again at every send, already rewritten. A native IPv6
 * datagram cannot be sent to 127.0.0.1, so without an IPv6 stub it is refused.
 */
static __always_inline int sendmsg_call(struct bpf_sock_addr *ctx, bool is_v6)
{
	const struct nej_settings *s = settings_find();
	struct nej_ask ask = {.hook = NEJ_HOOK_SENDMSG};
	struct bpf_sock *sk = CTX(ctx->sk);
	struct nej_decision d;

	if (settings_exempt_caller(s))
		return 1;
	dest_from_call(ctx, is_v6, &ask.dest);
	ask.bound_if = sk ? sk->bound_dev_if : 0;
	d = decide_dest(s, &ask);
	if (d.needs_owner)
		owner_settle(ctx, sk, &ask, &d);
	if (s && d.verdict == NEJ_STUB && (s->flags & NEJ_F_V4_ONLY) && !(ask.facts & DEST_IS_V4))
		d = decide_deny(&ask, NEJ_REASON_UDP);
	if (s && d.verdict != NEJ_DENY)
		sendmsg_act(ctx, sk, is_v6, s, &ask, &d);
	return event_finish(s, NEJ_HOOK_SENDMSG, &d, &ask.dest);
}

/* The source of an answer from the stub becomes the resolver that was asked. */
static __always_inline void recvmsg_call(struct bpf_sock_addr *ctx, bool is_v6)
{
	const struct nej_settings *s = settings_find();
	struct nej_socket *sock;
	struct nej_dest from = {};

	if (!s)
		return;
	dest_from_call(ctx, is_v6, &from);
	if (from.port_be != s->stub_port_be || !dest_is_lo(&from))
		return;
	sock = socket_find(CTX(ctx->sk));
	if (!sock)
		return;
	from = dest_is_v4(&from) ? sock->asked4 : sock->asked6;
	if (from.port_be)
		dest_to_call(ctx, is_v6, &from);
}

SEC("cgroup/sendmsg4")
int nej_sendmsg4(struct bpf_sock_addr *ctx)
{
	return sendmsg_call(ctx, false);
}

SEC("cgroup/sendmsg6")
int nej_sendmsg6(struct bpf_sock_addr *ctx)
{
	return sendmsg_call(ctx, true);
}

SEC("cgroup/recvmsg4")
int nej_recvmsg4(struct bpf_sock_addr *ctx)
{
	recvmsg_call(ctx, false);
	return 1;
}

SEC("cgroup/recvmsg6")
int nej_recvmsg6(struct bpf_sock_addr *ctx)
{
	recvmsg_call(ctx, true);
	return 1;
}
