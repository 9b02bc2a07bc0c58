/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a policy to the maps `ports`, `allow4` and `allow6`. New entries go in first, then those of
 * the policy before go out, so that what both allow is never refused. Read bpf/decide.bpf.h for
 * what the maps mean.
 */
#include "apply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <bpf/bpf.h>

#include "../../include/unix_paths.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "allow.h"
#include "learn.h"
#include "learned.h"
#include "../policy/overlay.h"
#include "ranges.h"

#define N_PORTS 65536
#define MAX_TTL_S 3600u
/* A client may use an address until the very end of its TTL, and connect a little later. */
#define GRACE_NS 30000000000ull

/* --- ports */

static void mark_open(const struct policy *p, uint8_t flags[static N_PORTS])
{
	const struct policy_port *ports;
	size_t n = policy_ports(p, &ports);

	for (size_t i = 0; i < n; i++) {
		if (ports[i].proto != IPPROTO_TCP)
			continue;
		for (unsigned int port = ports[i].first; port <= ports[i].last; port++)
			flags[port] |= NEJ_PORT_PROXY | (ports[i].is_eager ? NEJ_PORT_EAGER : 0);
	}
}

static void mark_ports(const struct policy *p, uint8_t flags[static N_PORTS])
{
	const struct policy *grants = overlay_of(p);
	const uint16_t *host_ports;
	size_t n = policy_host_ports(p, &host_ports);

	mark_open(p, flags);
	if (grants)
		mark_open(grants, flags);
	for (size_t i = 0; i < n; i++)
		flags[host_ports[i]] |= NEJ_PORT_HOST;
}

static bool has_every_port(const uint8_t flags[static N_PORTS])
{
	for (unsigned int port = 1; port < N_PORTS; port++)
		if (!(flags[port] & NEJ_PORT_PROXY))
			return false;
	return true;
}

/* With NEJ_F_ANY_PORT what stands for itself is left out: a port without entry is eager. */
static bool is_needed(uint8_t flags, bool has_any)
{
	return flags && !(has_any && flags == (NEJ_PORT_PROXY | NEJ_PORT_EAGER));
}

static int add_ports(int fd, const uint8_t flags[static N_PORTS], bool has_any)
{
	for (unsigned int port = 1; port < N_PORTS; port++) {
		struct nej_port_key key = {.proto = IPPROTO_TCP, .port_be = htons((uint16_t)port)};
		struct nej_port value = {.flags = flags[port]};

		if (is_needed(flags[port], has_any) &&
			bpf_map_update_elem(fd, &key, &value, BPF_ANY) < 0)
			return errno == E2BIG ? -ENOSPC : -errno;
	}
	return 0;
}

static int del_ports(int fd, const uint8_t flags[static N_PORTS], bool has_any)
{
	struct nej_port_key key, next;
	void *at = NULL;

	while (!bpf_map_get_next_key(fd, at, &next)) {
		/* The key before is deleted only now: its successor is known. */
		if (at && !is_needed(flags[ntohs(key.port_be)], has_any))
			bpf_map_delete_elem(fd, &key);
		key = next;
		at = &key;
	}
	if (at && !is_needed(flags[ntohs(key.port_be)], has_any))
		bpf_map_delete_elem(fd, &key);
	return 0;
}

static int apply_ports(struct object *o, const struct policy *p, uint32_t *flags_out)
{
	_cleanup_free_ uint8_t *flags = calloc(N_PORTS, 1);
	int fd = object_map_fd(o, "ports"), r;
	bool has_any;

	if (!flags)
		return -ENOMEM;
	mark_ports(p, flags);
	has_any = has_every_port(flags);
	r = add_ports(fd, flags, has_any);
	if (r < 0)
		return r;
	if (has_any)
		*flags_out |= NEJ_F_ANY_PORT;
	return del_ports(fd, flags, has_any);
}

/* --- Unix-domain sockets */

/* Does a path end in these components, or an abstract name begin so? */
static bool is_unix_row(const char *path, const char *row)
{
	size_t len = strlen(path), row_len = strlen(row);

	if (row[0] == '@')
		return !strncmp(path, row, row_len);
	return len >= row_len && !strcmp(path + len - row_len, row) &&
		(len == row_len || path[len - row_len - 1] == '/');
}

/* The rows of unix_paths.h that the policy's `unix` opens. */
static uint32_t open_unix_rows(const struct policy *p)
{
	static const char *const rows[] = {
#define X(path, service, is_quiet) path,
		NEJ_UNIX_PATHS(X)
#undef X
	};
	uint32_t open = 0;
	const char *path;

	for (size_t i = 0; (path = policy_unix_path(p, i)); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			if (is_unix_row(path, rows[k]))
				open |= 1u << k;
	return open;
}

static bool is_expired(const struct nej_allow *value, uint64_t now_ns)
{
	return value->expiry_ns && value->expiry_ns < now_ns;
}

/* --- learned addresses */

/* Is the name let straight out on this port? Without a proxy the protocol cannot be seen, so every
 * one must be. */
static bool is_kernel_port(const struct policy *p, const struct host *name, uint8_t proto,
	uint16_t port, uint32_t *ret_rule)
{
	static const enum policy_scheme tcp[] = {
		POLICY_SCHEME_HTTPS, POLICY_SCHEME_HTTP, POLICY_SCHEME_TCP};
	static const enum policy_scheme udp[] = {POLICY_SCHEME_UDP};
	const enum policy_scheme *schemes = proto == IPPROTO_UDP ? udp : tcp;
	size_t n = proto == IPPROTO_UDP ? ARRAY_SIZE(udp) : ARRAY_SIZE(tcp);
	struct policy_decision d = {0};

	for (size_t i = 0; i < n; i++) {
		struct policy_ask ask = {.scheme = schemes[i], .host = name, .port = port};

		policy_decide(p, &ask, &d);
		if (d.verdict != POLICY_ALLOW || d.transport != POLICY_TRANSPORT_KERNEL)
			return false;
	}
	*ret_rule = d.rule;
	return true;
}

struct learning {
	struct object *o;
	const struct policy *policy;
	const struct host *name;
	const struct addr *addrs;
	size_t n_addrs;
	uint64_t expiry_ns;
	size_t n_added;
};

static int learn_port(struct learning *l, uint8_t proto, uint16_t port)
{
	struct allow_entry e = {.proto = proto, .port = port};

	if (!is_kernel_port(l->policy, l->name, proto, port, &e.value.rule))
		return 0;
	e.value.verdict = NEJ_PASS;
	e.value.round = object_round(l->o);
	e.value.expiry_ns = l->expiry_ns;
	/* policy_check_resolved has said so for each of them. */
	e.value.is_private_ok = true;
	for (size_t i = 0; i < l->n_addrs; i++) {
		int r;

		e.prefix = (struct prefix){.addr = l->addrs[i], .bits = 128};
		r = allow_add(l->o, &e);
		if (r == -ENOSPC) {
			allow_del(l->o, is_expired, clock_boot_ns());
			r = allow_add(l->o, &e);
		}
		if (r < 0)
			return r;
		l->n_added++;
	}
	return 0;
}

/* On the ports that rules of `of` open, a policy or the grants over it. */
static int learn_ports(struct learning *l, const struct policy *of)
{
	const struct policy_port *ports;
	size_t n = policy_ports(of, &ports);

	for (size_t i = 0; i < n; i++)
		for (unsigned int port = ports[i].first; port <= ports[i].last; port++) {
			int r = port ? learn_port(l, ports[i].proto, (uint16_t)port) : 0;

			if (r < 0)
				return r;
		}
	return 0;
}

static int learn_checked(struct learning *l)
{
	const struct policy *grants = overlay_of(l->policy);
	struct policy_decision d;
	int r;

	policy_decide_dns(l->policy, l->name, &d);
	if (d.verdict == POLICY_DENY)
		return -EACCES;
	for (size_t i = 0; i < l->n_addrs; i++)
		if (policy_check_resolved(l->policy, &l->addrs[i]) != NEJ_REASON_NONE)
			return -EACCES;
	r = learn_ports(l, l->policy);
	if (r >= 0 && grants)
		r = learn_ports(l, grants);
	return r < 0 ? r : l->n_added ? 0 : -EACCES;
}

/* The worker may be in the hands of an attacker: everything is checked again. */
static int learn_message(struct object *o, const struct policy *p, const struct learn_message *m)
{
	struct host name;
	struct learning l = {
		.o = o, .policy = p, .name = &name, .addrs = m->addrs, .n_addrs = m->n_addrs};
	uint32_t ttl_s = m->ttl_s < MAX_TTL_S ? m->ttl_s : MAX_TTL_S;
	int r;

	if (host_parse(m->name, m->name_len, &name) < 0 || name.kind != HOST_NAME)
		return -EINVAL;
	l.expiry_ns = clock_boot_ns() + ttl_s * 1000000000ull + GRACE_NS;
	r = learn_checked(&l);
	for (size_t i = 0; i < l.n_addrs && r >= 0; i++)
		r = learned_add(object_learned(o), &name, &l.addrs[i], l.expiry_ns);
	return r;
}

struct relearning {
	struct object *o;
	const struct policy *policy;
};

/* What a client was told before the reload, and what is open since then, is the new policy's matter. */
static bool learn_again(void *arg, const struct learned_row *row)
{
	const struct relearning *r = arg;
	struct host name;
	struct learning l = {.o = r->o,
		.policy = r->policy,
		.name = &name,
		.addrs = &row->addr,
		.n_addrs = 1,
		.expiry_ns = row->expiry_ns};

	return host_parse(row->name, row->len, &name) == 0 && learn_checked(&l) == 0;
}

/* --- grants */

int apply_grants(struct object *o, const struct policy *p)
{
	struct nej_grant rows[NEJ_MAX_GRANTS] = {0};
	const struct policy *grants = overlay_of(p);
	int fd = object_map_fd(o, "grants");
	uint64_t expiry_ns;
	uint32_t id;

	for (size_t i = 0; grants && overlay_grant(grants, i, &id, &expiry_ns); i++)
		rows[id % NEJ_MAX_GRANTS] = (struct nej_grant){.expiry_ns = expiry_ns, .id = id};
	for (uint32_t i = 0; i < NEJ_MAX_GRANTS; i++)
		if (bpf_map_update_elem(fd, &i, &rows[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

/* --- all of it */

static bool is_of_other_round(const struct nej_allow *value, uint64_t round)
{
	return value->round != round;
}

int apply_policy(struct object *o, const struct policy *p, struct nej_settings *settings)
{
	uint32_t flags = settings->flags & ~(uint32_t)(NEJ_F_ANY_PORT | NEJ_F_INBOUND_DENY);
	uint8_t round = object_begin_round(o);
	struct relearning again = {o, p};
	int r;

	r = apply_ports(o, p, &flags);
	if (r < 0)
		return r;
	r = ranges_apply(o, p, round);
	if (r < 0)
		return r;
	learned_filter(object_learned(o), learn_again, &again);
	r = allow_del(o, is_of_other_round, round);
	if (r < 0)
		return r;
	if (policy_denies_inbound(p))
		flags |= NEJ_F_INBOUND_DENY;
	settings->flags = flags;
	settings->unix_open = open_unix_rows(p);
	return 0;
}

int apply_learn(struct object *o, const struct policy *p, int fd)
{
	struct learn_message m;
	struct learn_reply reply;
	ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!n)
		return -EPIPE;
	if (n != sizeof(m) || !m.n_addrs || m.n_addrs > LEARN_MAX_ADDRS ||
		m.name_len > HOST_MAX_BYTES)
		return -EBADMSG;
	reply.id = m.id;
	reply.status = learn_message(o, p, &m);
	if (send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == EPIPE ? -EPIPE
				      : 0; /* a full socket: the worker's query times out */
	return 0;
}
