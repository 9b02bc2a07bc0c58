/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one decision of the kernel side: a destination and the settings in, a verdict out. Hooks act
 * on it and never decide. Runs under SEC("syscall") in tests/bpf/decide.bpf.c. Read flow.bpf.h
 * next.
 */
#ifndef NEJ_DECIDE_BPF_H
#define NEJ_DECIDE_BPF_H

#include "dest.bpf.h"

/*
 * Theory of operation
 *
 * decide_dest() answers connect() and sendmsg() in this order, first answer wins:
 *   1. nothing configured, halted, audit broken, socket bound to a device other than lo: deny
 *   2. port 53, wherever: the stub (a link-local scope steers packets past lo, so not those)
 *   3. multicast, link-local: deny, whatever the policy says
 *   4. loopback: the proxy and the stub themselves; the sandbox's own namespace; host_ports; else
 *      `needs_owner`: the caller looks the listener up, which only a socket hook can
 *   5. allow4/allow6: let straight out, or a deny of the same table
 *   6. TCP to a port some rule can allow: a proxy listener; all else: deny
 * A UDP connect that ends in a deny is `is_quiet`: it is a resolver's probe of source addresses,
 * nothing leaves by it. Nothing here has a side effect.
 */

struct nej_decision {
	__u8 verdict;       /* enum nej_verdict */
	__u8 reason;        /* enum nej_reason of a DENY; RULE for a PASS by rule */
	__u8 is_quiet;      /* counted as a probe, no event */
	__u8 needs_owner;   /* PASS if the listener is the sandbox's own, else DENY */
	__u8 is_remembered; /* PASS: the proxy needs the origin all the same */
	__u8 pad;
	__u16 error; /* errno of this DENY; 0: the settings' */
	__u32 rule;
};

struct nej_ask {
	struct nej_dest dest;
	__u32 facts; /* DEST_* of it, once decided */
	__u32 bound_if;
	__u8 hook; /* NEJ_HOOK_CONNECT or NEJ_HOOK_SENDMSG */
	__u8 pad[3];
};

static __always_inline struct nej_decision decide_deny(struct nej_ask *ask, __u8 reason)
{
	struct nej_decision d = {.verdict = NEJ_DENY, .reason = reason};

	d.is_quiet = ask->dest.proto == IPPROTO_UDP && ask->hook == NEJ_HOOK_CONNECT;
	return d;
}

static __always_inline struct nej_decision decide_to(__u8 verdict)
{
	struct nej_decision d = {.verdict = verdict};

	return d;
}

/* What holds for every hook: NONE, or why everything is refused. */
static __always_inline __u8 decide_gate(const struct nej_settings *s)
{
	if (!s)
		return NEJ_REASON_INTERNAL;
	if (s->flags & NEJ_F_HALTED)
		return NEJ_REASON_HALTED;
	if (s->flags & NEJ_F_AUDIT_FAILED)
		return NEJ_REASON_AUDIT_UNAVAILABLE;
	return NEJ_REASON_NONE;
}

/* The two look-ups are global functions over scalars, for the same reason as dest_facts(). A port
 * comes as the protocol above the port in network order. */
#define DECIDE_PORT(d) ((__u32)(d)->proto << 16 | (d)->port_be)

__weak __u32 decide_port_flags(__u32 proto_port)
{
	struct nej_port_key key = {.proto = proto_port >> 16, .port_be = proto_port};
	struct nej_port *port = bpf_map_lookup_elem(&ports, &key);

	return port ? port->flags : 0;
}

#define DECIDE_EVEN_EXPIRED (1u << 31) /* beside a port: an entry of whatever age is one */

#define ALLOW_FOUND (1ull << 32)
#define ALLOW_PASS (1ull << 33)
#define ALLOW_PRIVATE_OK (1ull << 34)

static __always_inline bool decide_is_granted(__u32 rule)
{
	__u32 id = rule & ~NEJ_RULE_GRANT, slot = id % NEJ_MAX_GRANTS;
	struct nej_grant *grant = bpf_map_lookup_elem(&grants, &slot);

	return grant && grant->id == id && grant->expiry_ns > bpf_ktime_get_boot_ns();
}

static __always_inline __u64 decide_read_allow(const struct nej_allow *allow, __u32 even_expired)
{
	if (!allow)
		return 0;
	if (!even_expired && allow->expiry_ns && allow->expiry_ns < bpf_ktime_get_boot_ns())
		return 0;
	if ((allow->rule & NEJ_RULE_GRANT) && !decide_is_granted(allow->rule))
		return 0;
	return allow->rule | ALLOW_FOUND | (allow->verdict == NEJ_PASS ? ALLOW_PASS : 0) |
		(allow->is_private_ok ? ALLOW_PRIVATE_OK : 0);
}

/* The entry for this address and port, or else for the address on every port: its rule in the low
 * half, ALLOW_* above, 0 without one. */
__weak __u64 decide_find_allow(__u32 w0, __u32 w1, __u32 w2, __u32 w3, __u32 proto_port)
{
	struct nej_allow4_key key4 = {.prefix_bits = 64};
	struct nej_allow6_key key6 = {.prefix_bits = 160};
	const __u32 w[4] = {w0, w1, w2, w3}, old = proto_port & DECIDE_EVEN_EXPIRED;
	__u64 found;

	key4.proto = key6.proto = proto_port >> 16;
	key4.port_be = key6.port_be = proto_port;
	if (!w0 && !w1 && w2 == DEST_MAPPED) {
		__builtin_memcpy(key4.addr, &w3, 4);
		found = decide_read_allow(bpf_map_lookup_elem(&allow4, &key4), old);
		key4.port_be = 0;
		return found ? found : decide_read_allow(bpf_map_lookup_elem(&allow4, &key4), old);
	}
	__builtin_memcpy(key6.addr, w, 16);
	found = decide_read_allow(bpf_map_lookup_elem(&allow6, &key6), old);
	key6.port_be = 0;
	return found ? found : decide_read_allow(bpf_map_lookup_elem(&allow6, &key6), old);
}

static __always_inline __u64 decide_lookup_allow(struct nej_dest *d)
{
	struct dest_words *words = dest_words(d);

	return decide_find_allow(
		words->w[0], words->w[1], words->w[2], words->w[3], DECIDE_PORT(d));
}

/* Is there an entry, and what does it say? False: the next rule of decide_dest is asked. */
static __always_inline bool decide_allow(struct nej_ask *ask, struct nej_decision *ret)
{
	__u64 allow = decide_lookup_allow(&ask->dest);

	if (!allow)
		return false;
	if (!(allow & ALLOW_PASS))
		*ret = decide_deny(ask, NEJ_REASON_RULE);
	else if ((ask->facts & DEST_RANGE) == NEJ_RANGE_PRIVATE && !(allow & ALLOW_PRIVATE_OK))
		*ret = decide_deny(ask, NEJ_REASON_PRIVATE_ADDRESS);
	else
		*ret = (struct nej_decision){.verdict = NEJ_PASS, .reason = NEJ_REASON_RULE};
	ret->rule = allow;
	return true;
}

static __always_inline struct nej_decision decide_loopback(
	const struct nej_settings *s, struct nej_ask *ask)
{
	struct nej_dest *dest = &ask->dest;
	struct nej_decision d = {.verdict = NEJ_PASS};

	if (ask->facts & DEST_IS_LO) {
		if (dest->port_be == s->stub_port_be ||
			(dest->proto == IPPROTO_TCP && dest->port_be == s->proxy_port_be)) {
			d.is_remembered = dest->proto == IPPROTO_TCP;
			return d;
		}
		/* Without an origin the proxy would close it: nothing may come there by itself. */
		if (dest->proto == IPPROTO_TCP && dest->port_be == s->eager_port_be)
			return decide_deny(ask, NEJ_REASON_LOOPBACK);
	}
	if (dest->proto == IPPROTO_TCP && (decide_port_flags(DECIDE_PORT(dest)) & NEJ_PORT_HOST))
		return decide_to(s->flags & NEJ_F_OWN_NETNS ? NEJ_EAGER : NEJ_PASS);
	if (s->flags & NEJ_F_INBOUND_DENY)
		return decide_deny(ask, NEJ_REASON_LOOPBACK);
	if (!(s->flags & NEJ_F_OWN_NETNS))
		d.needs_owner = true;
	return d;
}

/* IPv6 link-local datagrams take their device from the scope before the hook can rewrite them. */
static __always_inline bool decide_is_dns(const struct nej_settings *s, struct nej_ask *ask)
{
	__u32 range = ask->facts & DEST_RANGE;

	if (ask->dest.port_be != bpf_htons(53) || range == NEJ_RANGE_MULTICAST)
		return false;
	return range != NEJ_RANGE_LINK_LOCAL || (s->flags & NEJ_F_OWN_NETNS) ||
		ask->dest.proto == IPPROTO_TCP || (ask->facts & DEST_IS_V4);
}

static __always_inline struct nej_decision decide_tcp(
	const struct nej_settings *s, struct nej_ask *ask)
{
	__u32 flags = decide_port_flags(DECIDE_PORT(&ask->dest));

	if (flags & NEJ_PORT_EAGER)
		return decide_to(NEJ_EAGER);
	if (flags & NEJ_PORT_PROXY)
		return decide_to(NEJ_PROXY);
	if (s->flags & NEJ_F_ANY_PORT)
		return decide_to(NEJ_EAGER);
	return decide_deny(ask, NEJ_REASON_NO_RULE);
}

static __always_inline struct nej_decision decide_dest(
	const struct nej_settings *s, struct nej_ask *ask)
{
	struct dest_words *words = dest_words(&ask->dest);
	bool is_udp = ask->dest.proto == IPPROTO_UDP;
	struct nej_decision d;
	__u8 gate = decide_gate(s);
	__u32 range;

	if (gate)
		return decide_deny(ask, gate);
	/* SO_BINDTODEVICE needs no privilege and would steer a redirected packet onto the wire. */
	if (ask->bound_if > 1)
		return decide_deny(ask, is_udp ? NEJ_REASON_UDP : NEJ_REASON_NO_RULE);
	ask->facts = dest_facts(words->w[0], words->w[1], words->w[2], words->w[3]);
	range = ask->facts & DEST_RANGE;
	if (decide_is_dns(s, ask))
		return decide_to(NEJ_STUB);
	if (range == NEJ_RANGE_MULTICAST)
		return decide_deny(ask, NEJ_REASON_MULTICAST);
	if (range == NEJ_RANGE_LINK_LOCAL)
		return decide_deny(ask, is_udp ? NEJ_REASON_UDP : NEJ_REASON_PRIVATE_ADDRESS);
	if (range == NEJ_RANGE_LOOPBACK && !(ask->facts & DEST_IS_LOOPBACK))
		return decide_deny(ask, NEJ_REASON_LOOPBACK);
	if (range == NEJ_RANGE_LOOPBACK ||
		((s->flags & NEJ_F_OWN_NETNS) && (ask->facts & DEST_IS_OWN)))
		return decide_loopback(s, ask);
	if (decide_allow(ask, &d))
		return d;
	return is_udp ? decide_deny(ask, NEJ_REASON_UDP) : decide_tcp(s, ask);
}

/* May this socket be made? Only TCP and UDP; others skip the connect hooks or the redirect. */
static __always_inline __u8 decide_socket(const struct nej_settings *s, __u32 type, __u32 protocol)
{
	__u8 gate = decide_gate(s);

	if (gate)
		return gate;
	if (type == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP))
		return NEJ_REASON_NONE;
	if (type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP))
		return NEJ_REASON_NONE;
	return NEJ_REASON_SOCKET_TYPE;
}

/* The ports where the proxy and the stub listen are theirs, on every address. */
static __always_inline __u8 decide_bind(const struct nej_settings *s, __u16 port_be)
{
	if (!s)
		return NEJ_REASON_INTERNAL;
	if (port_be &&
		(port_be == s->proxy_port_be || port_be == s->eager_port_be ||
			port_be == s->stub_port_be))
		return NEJ_REASON_LOOPBACK;
	return NEJ_REASON_NONE;
}

#endif
