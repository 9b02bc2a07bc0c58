// SPDX-License-Identifier: GPL-2.0-only
/*
 * getpeername() of a redirected socket: the address the program asked for, not the proxy's.
 */
#include "flow.bpf.h"

static __always_inline void peername_restore(struct bpf_sock_addr *ctx, bool is_v6)
{
	const struct nej_settings *s = settings_find();
	struct nej_dest peer = {}, asked;
	struct nej_socket *sock;

	if (!s)
		return;
	dest_from_call(ctx, is_v6, &peer);
	if (!dest_is_lo(&peer) ||
		(peer.port_be != s->proxy_port_be && peer.port_be != s->eager_port_be &&
			peer.port_be != s->stub_port_be))
		return;
	sock = socket_find(CTX(ctx->sk));
	if (!sock || sock->verdict < NEJ_PROXY)
		return;
	asked = sock->origin.dest;
	if (is_v6 || dest_is_v4(&asked))
		dest_to_call(ctx, is_v6, &asked);
}

SEC("cgroup/getpeername4")
int nej_getpeername4(struct bpf_sock_addr *ctx)
{
	peername_restore(ctx, false);
	return 1;
}

SEC("cgroup/getpeername6")
int nej_getpeername6(struct bpf_sock_addr *ctx)
{
	peername_restore(ctx, true);
	return 1;
}
