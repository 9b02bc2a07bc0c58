// SPDX-License-Identifier: GPL-2.0-only
/*
 * The net under the hooks: every packet of the sandbox's sockets, out and in. Catches what no
 * socket hook sees: SO_BINDTODEVICE, IP_PKTINFO, IP_UNICAST_IF, routing headers, link-local scopes,
 * sockets older than the sandbox, inbound connections. A packet that is dropped here gives the
 * program no errno over TCP, so the socket hooks refuse first.
 */
#include "packet.bpf.h"

static __always_inline bool packet_is_transport(struct packet *p)
{
	return p->far.proto == IPPROTO_TCP || p->far.proto == IPPROTO_UDP;
}

/* A flow outlives the expiry of the name it was let out for, but not the rule: after a reload its first
 * packet asks once whether the policy of now would have let it out as well; that of a grant always. One
 * that is ahead of the settings was let out by the policy of now, and asked about by the next already. */
static __always_inline bool packet_is_current(const struct nej_settings *s, struct nej_socket *sock)
{
	struct dest_words *w = dest_words(&sock->origin.dest);

	if ((__s32)(sock->generation - s->generation) >= 0 && !sock->is_granted)
		return true;
	if (decide_find_allow(w->w[0], w->w[1], w->w[2], w->w[3],
		    DECIDE_PORT(&sock->origin.dest) | DECIDE_EVEN_EXPIRED) &
		ALLOW_PASS) {
		sock->generation = s->generation;
		return true;
	}
	/* The supervisor may still be about to write what else allows it. */
	if (!sock->is_granted)
		sock->is_admitted = false;
	return false;
}

/* Does the far end belong to what a rule let straight out? */
static __always_inline bool packet_is_admitted(
	const struct nej_settings *s, struct packet *p, struct nej_socket *sock)
{
	struct dest_words *far = dest_words(&p->far), *asked;

	if (!s || (s->flags & NEJ_F_HALTED) || !sock || !packet_is_transport(p))
		return false;
	asked = dest_words(&sock->origin.dest);
	if (sock->is_admitted && far->w[0] == asked->w[0] && far->w[1] == asked->w[1] &&
		far->w[2] == asked->w[2] && far->w[3] == asked->w[3] &&
		p->far.port_be == sock->origin.dest.port_be && packet_is_current(s, sock))
		return true;
	if (p->far.proto != IPPROTO_UDP)
		return false;
	return decide_lookup_allow(&p->far) & ALLOW_PASS;
}

/* A socket without storage of another user than the confined one. */
static __always_inline bool packet_is_exempt(
	const struct nej_settings *s, struct __sk_buff *skb, struct nej_socket *sock)
{
	return s && (s->flags & NEJ_F_SCOPE_UID) && !sock &&
		bpf_get_socket_uid(skb) != s->scope_uid;
}

static __always_inline int packet_drop(
	__u8 hook, __u8 reason, struct packet *p, struct nej_socket *sock)
{
	const struct nej_process nobody = {};

	counters_add(NEJ_COUNTER_DROPPED_PACKETS);
	event_refusal(hook, reason, &p->far, sock ? &sock->origin.process : &nobody);
	return 0;
}

static __always_inline __u8 packet_reason(const struct nej_settings *s, struct packet *p)
{
	if (!s)
		return NEJ_REASON_INTERNAL;
	if (s->flags & NEJ_F_HALTED)
		return NEJ_REASON_HALTED;
	if (p->far.proto == IPPROTO_UDP)
		return NEJ_REASON_UDP;
	return p->far.proto == IPPROTO_TCP ? NEJ_REASON_NO_RULE : NEJ_REASON_SOCKET_TYPE;
}

/* Through lo of a namespace that is the sandbox's own a packet reaches nobody else. */
static __always_inline bool packet_is_inside(
	const struct nej_settings *s, struct __sk_buff *skb, __u32 unless)
{
	return s && (s->flags & (NEJ_F_OWN_NETNS | NEJ_F_HALTED | unless)) == NEJ_F_OWN_NETNS &&
		skb->ifindex == 1;
}

SEC("cgroup_skb/egress")
int nej_egress(struct __sk_buff *skb)
{
	const struct nej_settings *s = settings_find();
	struct nej_socket *sock;
	struct packet p = {};

	if (packet_is_inside(s, skb, 0))
		return 1;
	packet_parse(skb, true, &p);
	if (p.is_bare_rst)
		return 1;
	if (s && !(s->flags & NEJ_F_HALTED) && skb->ifindex == 1 && packet_is_transport(&p) &&
		dest_is_loopback(&p.far))
		return 1;
	sock = packet_socket(skb);
	if (packet_is_exempt(s, skb, sock))
		return 1;
	if (packet_is_admitted(s, &p, sock))
		return 1;
	return packet_drop(NEJ_HOOK_EGRESS, packet_reason(s, &p), &p, sock);
}

/* With `inbound: deny` nobody may open a connection to the sandbox's listeners, nor send them
 * datagrams; what answers a question of the sandbox comes from the stub or from an admitted peer. */
static __always_inline bool packet_is_unasked(const struct nej_settings *s, struct packet *p)
{
	if (!(s->flags & NEJ_F_INBOUND_DENY))
		return false;
	if (p->far.proto == IPPROTO_UDP)
		return p->far.port_be != s->stub_port_be || !dest_is_lo(&p->far);
	return p->is_opening;
}

static __always_inline bool packet_may_enter(
	const struct nej_settings *s, struct __sk_buff *skb, struct packet *p)
{
	if (!s || (s->flags & NEJ_F_HALTED) || packet_is_unasked(s, p))
		return false;
	return packet_is_inside(s, skb, 0) || (packet_is_transport(p) && dest_is_loopback(&p->far));
}

SEC("cgroup_skb/ingress")
int nej_ingress(struct __sk_buff *skb)
{
	const struct nej_settings *s = settings_find();
	struct nej_socket *sock;
	struct packet p = {};
	__u8 reason;

	if (packet_is_inside(s, skb, NEJ_F_INBOUND_DENY))
		return 1;
	packet_parse(skb, false, &p);
	if (p.is_bare_rst || packet_may_enter(s, skb, &p))
		return 1;
	sock = packet_socket(skb);
	if (packet_is_exempt(s, skb, sock))
		return 1;
	if (packet_is_admitted(s, &p, sock))
		return 1;
	reason = packet_reason(s, &p);
	/* Told by the local port: the far end's is a new one at every attempt. */
	p.far.port_be = p.near_port_be;
	return packet_drop(NEJ_HOOK_INGRESS, reason, &p, sock);
}
