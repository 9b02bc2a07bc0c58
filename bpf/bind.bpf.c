// SPDX-License-Identifier: GPL-2.0-only
/*
 * bind(): everything but the ports of the proxy and the stub, on which a program of the sandbox
 * could otherwise take their place while they restart.
 */
#include "event.bpf.h"

static __always_inline int bind_call(struct bpf_sock_addr *ctx, bool is_v6)
{
	const struct nej_settings *s = settings_find();
	struct nej_decision d = {};
	struct nej_dest at = {};

	if (settings_exempt_caller(s))
		return 1;
	dest_from_call(ctx, is_v6, &at);
	d.reason = decide_bind(s, at.port_be);
	/* So nej itself asks, before it lets the policy decide, whether a socket is one of this cgroup
	 * (sandbox/held.c). */
	d.is_quiet = s && (s->flags & NEJ_F_HALTED);
	return d.reason ? event_finish(s, NEJ_HOOK_BIND, &d, &at) : 1;
}

SEC("cgroup/bind4")
int nej_bind4(struct bpf_sock_addr *ctx)
{
	return bind_call(ctx, false);
}

SEC("cgroup/bind6")
int nej_bind6(struct bpf_sock_addr *ctx)
{
	return bind_call(ctx, true);
}
