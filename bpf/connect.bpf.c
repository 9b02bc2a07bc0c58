// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect(): TCP, connected UDP, TCP Fast Open and io_uring alike, IPv4, IPv6 and v4-mapped. What
 * the verdict is, decide.bpf.h says; unconnected datagrams are datagram.bpf.c's.
 */
#include "flow.bpf.h"

/* Remembers what was asked and leads the socket where the verdict says. Turns into a deny when
 * there is no memory to remember it in. */
static __always_inline void connect_act(struct bpf_sock_addr *ctx, struct bpf_sock *sk, bool is_v6,
	const struct nej_settings *s, struct nej_ask *ask, struct nej_decision *d)
{
	struct nej_socket *sock = socket_ensure(sk);

	if (!sock) {
		*d = decide_deny(ask, NEJ_REASON_INTERNAL);
		return;
	}
	flow_remember(s, sock, &ask->dest, d);
	if (d->verdict == NEJ_PASS)
		return;
	if (ask->dest.proto == IPPROTO_UDP) {
		if (ask->facts & DEST_IS_V4)
			sock->asked4 = ask->dest;
		else
			sock->asked6 = ask->dest;
	}
	flow_redirect(ctx, is_v6, s, ask, d->verdict);
}

static __always_inline int connect_call(struct bpf_sock_addr *ctx, bool is_v6)
{
	const struct nej_settings *s = settings_find();
	struct nej_ask ask = {.hook = NEJ_HOOK_CONNECT};
	struct bpf_sock *sk = CTX(ctx->sk);
	struct nej_decision d;

	if (settings_exempt_caller(s))
		return 1;
	dest_from_call(ctx, is_v6, &ask.dest);
	ask.bound_if = sk ? sk->bound_dev_if : 0;
	d = decide_dest(s, &ask);
	if (d.needs_owner)
		owner_settle(ctx, sk, &ask, &d);
	if (s && d.verdict != NEJ_DENY)
		connect_act(ctx, sk, is_v6, s, &ask, &d);
	return event_finish(s, NEJ_HOOK_CONNECT, &d, &ask.dest);
}

SEC("cgroup/connect4")
int nej_connect4(struct bpf_sock_addr *ctx)
{
	return connect_call(ctx, false);
}

SEC("cgroup/connect6")
int nej_connect6(struct bpf_sock_addr *ctx)
{
	return connect_call(ctx, true);
}

char _license[] SEC("license") = "GPL";
