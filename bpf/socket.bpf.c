// SPDX-License-Identifier: GPL-2.0-only
/*
 * socket(): only TCP and UDP. UDP-Lite, SCTP, DCCP and ping sockets skip the connect or sendmsg
 * hooks, so they must not exist. Also gives each socket its storage: the tag by which loopback
 * isolation knows it, and the allocation that connect() then need not make.
 */
#include "flow.bpf.h"

static __always_inline int socket_refuse(
	const struct nej_settings *s, struct bpf_sock *ctx, __u8 reason)
{
	struct event_ask ask = {};
	__u32 type = ctx->type, protocol = ctx->protocol;

	ask.key.dest.family = ctx->family;
	ask.key.dest.proto = protocol;
	ask.key.dest.port_be = bpf_htons(protocol);
	ask.key.hook = NEJ_HOOK_SOCKET;
	ask.key.reason = reason;
	ask.key.verdict = NEJ_DENY;
	ask.key.sock_type = type;
	event_count_current(&ask);
	counters_add(reason);
	if (reason != NEJ_REASON_SOCKET_TYPE)
		return refuse_with(s && s->deny_errno ? s->deny_errno : EACCES);
	/* What has a fallback gets the errno on which programs fall back to TCP or UDP. */
	if (type == SOCK_RAW || protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6)
		return 0;
	return refuse_with(EPROTONOSUPPORT);
}

SEC("cgroup/sock_create")
int nej_sock_create(struct bpf_sock *ctx)
{
	const struct nej_settings *s = settings_find();
	__u8 reason;

	if (settings_exempt_caller(s))
		return 1;
	reason = decide_socket(s, ctx->type, ctx->protocol);
	if (!reason) {
		struct nej_socket *sock = socket_ensure(ctx);

		if (sock) {
			process_fill(&sock->origin.process);
			return 1;
		}
		reason = NEJ_REASON_INTERNAL;
	}
	return socket_refuse(s, ctx, reason);
}
