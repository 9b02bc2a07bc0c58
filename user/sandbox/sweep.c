/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation, see sweep.h: three looks, in this order.
 *   1. Descriptors: is there a socket that the cgroup's programs do not run for (made elsewhere and
 *      passed in)? Nothing could hold it, so the attach is off before anything is touched.
 *   2. Descriptors again: each socket gets its storage, the tag that loopback isolation asks for. A
 *      connection that a rule on addresses allows is marked as admitted.
 *   3. The tables of each network namespace: what is connected and was not admitted is ended. Twice,
 *      for what became connected while the first dump was read.
 * A connection over loopback stays when its other end is the sandbox's as well.
 *
 * At a reload look 2 asks the new policy about each socket that was admitted, and stamps those that may
 * go on with its generation, before the programs ask for it; look 3 ends the others. What leads to
 * loopback is the worker's to end. A halt is look 3 alone, before the worker
 * ends its part and after.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/htab.h"
#include "../kernel/allow.h"
#include "../kernel/sockdiag.h"

#define ROUNDS 2
#define MAX_NETNS 64
#define STATE_LISTEN 10 /* TCP_LISTEN of linux/tcp_states.h */
#define PROTO_MPTCP 262
#define MAX_HIDDEN 64
#define HIDDEN_TRIES 10 /* what is on its way arrives, as a rule */
#define HIDDEN_WAIT_MS 50

struct known {
	struct htab_node node;
	uint32_t inode;
	pid_t pid;
	bool is_admitted;
};

struct found {
	struct sockdiag_socket socket;
	const struct known *known; /* NULL: no process holds it */
	bool is_ours;
};

struct netns {
	ino_t inode;
	int fd;
};

/* A socket may be there that no descriptor leads to. */
struct hidden {
	pid_t pid;
	uint32_t inode; /* 0: not known */
	const char *what;
};

struct sweeper {
	const struct sweep_plan *plan;
	struct sweep_result *result;
	char *why;
	bool is_off, is_failed;
	uint64_t *cgroup_ids;
	size_t n_cgroups, cap_cgroups;
	struct htab known; /* by inode */
	struct netns netns[MAX_NETNS];
	size_t n_netns;
	struct found *found;
	size_t n_found, cap_found;
	int round;
	struct hidden hidden[MAX_HIDDEN];
	size_t n_hidden;
};

/* Room for one more of an array; false: no memory, and the sweep is a failure. */
static bool make_room(struct sweeper *s, void **items, size_t n, size_t *cap, size_t size)
{
	void *more;

	if (n < *cap)
		return true;
	more = reallocarray(*items, *cap ? 2 * *cap : 64, size);
	if (!more) {
		s->is_failed = true;
		return false;
	}
	*items = more;
	*cap = *cap ? 2 * *cap : 64;
	return true;
}

/* --- what belongs to it */

static void add_cgroup(void *arg, int dir_fd)
{
	struct sweeper *s = arg;
	struct stat st;

	if (fstat(dir_fd, &st) == 0 &&
		make_room(s, (void **)&s->cgroup_ids, s->n_cgroups, &s->cap_cgroups,
			sizeof(*s->cgroup_ids)))
		s->cgroup_ids[s->n_cgroups++] = st.st_ino;
}

static bool is_in_cgroup(const struct sweeper *s, uint64_t id)
{
	if (s->plan->is_everywhere)
		return true;
	for (size_t i = 0; i < s->n_cgroups && id; i++)
		if (s->cgroup_ids[i] == id)
			return true;
	return false;
}

static void add_netns(struct sweeper *s, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	for (size_t i = 0; i < s->n_netns; i++)
		if (s->netns[i].inode == st.st_ino)
			return;
	if (s->n_netns < MAX_NETNS)
		s->netns[s->n_netns++] = (struct netns){st.st_ino, fcntl(fd, F_DUPFD_CLOEXEC, 3)};
}

static void on_process(void *arg, pid_t pid)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	add_netns(arg, fd);
}

static struct known *find_known(const struct sweeper *s, uint32_t inode)
{
	uint64_t hash = hash_bytes(&inode, sizeof(inode));

	for (struct htab_node *n = htab_find(&s->known, hash); n; n = htab_next(n)) {
		struct known *k = CONTAINER_OF(n, struct known, node);

		if (k->inode == inode)
			return k;
	}
	return NULL;
}

static struct known *add_known(struct sweeper *s, const struct held_socket *held)
{
	struct known *k = find_known(s, held->inode);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k || htab_add(&s->known, &k->node, hash_bytes(&held->inode, sizeof(k->inode))) < 0) {
		free(k);
		s->is_failed = true;
		return NULL;
	}
	k->inode = held->inode;
	k->pid = held->pid;
	return k;
}

static bool is_transport(const struct held_socket *h)
{
	return (h->domain == AF_INET || h->domain == AF_INET6) &&
		(h->protocol == IPPROTO_TCP || h->protocol == IPPROTO_UDP);
}

static bool is_mptcp(const struct held_socket *h)
{
	return h->protocol == PROTO_MPTCP;
}

/* --- the policy's word */

/* May a connection to this address go on as it is, past proxy and kernel tables? */
static bool is_allowed(const struct sweeper *s, uint8_t proto, const struct endpoint *to,
	enum nej_reason *ret_reason)
{
	struct policy_decision d;
	struct host host;
	struct policy_ask ask = {
		.scheme = proto == IPPROTO_UDP ? POLICY_SCHEME_UDP : POLICY_SCHEME_ANY,
		.host = &host,
		.port = to->port,
	};

	host_from_addr(&to->addr, &host);
	policy_decide(s->plan->policy, &ask, &d);
	*ret_reason = d.reason;
	if (d.verdict != POLICY_ALLOW) {
		if (d.verdict == POLICY_NEED_URL)
			*ret_reason = NEJ_REASON_NO_RULE;
		return false;
	}
	/* What is looked into, or carried by a forward proxy, cannot be judged any more. */
	*ret_reason = NEJ_REASON_NO_RULE;
	return !d.is_inspect && d.transport != POLICY_TRANSPORT_UPSTREAM &&
		(proto == IPPROTO_TCP || d.transport == POLICY_TRANSPORT_KERNEL);
}

/* --- 1 and 2: descriptors */

static void on_unreadable(void *arg, pid_t pid)
{
	struct sweeper *s = arg;

	(void)pid;
	s->result->n_unreadable++;
}

static void call_off(struct sweeper *s, pid_t pid, const char *what)
{
	if (!s->is_off)
		snprintf(s->why, SWEEP_WHY_BYTES,
			"process %d holds %s: end it, or that process, and try again", pid, what);
	s->is_off = true;
}

static void on_hidden(void *arg, pid_t pid, uint32_t inode, const char *what)
{
	struct sweeper *s = arg;

	if (s->n_hidden < MAX_HIDDEN)
		s->hidden[s->n_hidden++] = (struct hidden){pid, inode, what};
}

/* Processes may have left where their sockets are. */
static void add_netns_of(struct sweeper *s, const struct held_socket *h)
{
	_cleanup_close_ int fd = ioctl(h->fd, SIOCGSKNS);

	add_netns(s, fd);
}

static void on_check(void *arg, const struct held_socket *h)
{
	struct sweeper *s = arg;
	const struct sweep_plan *plan = s->plan;

	if (is_transport(h))
		add_known(s, h);
	if (h->domain == AF_PACKET)
		call_off(s, h->pid, "a packet socket, which passes every hook");
	else if ((is_transport(h) || is_mptcp(h)) &&
		!held_is_covered(h, plan->port_be, plan->has_uid ? plan->uid : (uid_t)-1))
		call_off(s, h->pid,
			"a network socket that was made outside of the cgroup, which no hook "
			"covers");
}

static void give_storage(struct sweeper *s, const struct held_socket *h, bool is_admitted)
{
	struct nej_socket value = {
		.origin.process = {.pid = (uint32_t)h->pid,
			.uid = h->uid,
			.cgroup_id = s->plan->cgroup->id},
		.is_admitted = is_admitted,
		.generation = s->plan->generation,
	};

	if (is_admitted) {
		value.verdict = NEJ_PASS;
		memcpy(value.origin.dest.addr, h->peer.addr.b, sizeof(value.origin.dest.addr));
		value.origin.dest.port_be = htons(h->peer.port);
		value.origin.dest.proto = (uint8_t)h->protocol;
		value.origin.dest.family = (uint8_t)h->domain;
	}
	s->is_failed |= object_tag(s->plan->object, h->fd, &value) == -ENOMEM;
}

/* A reload: is it one that went straight out, and may it go on? */
static bool may_go_on(struct sweeper *s, const struct held_socket *h)
{
	struct nej_socket value;
	enum nej_reason reason;

	if (object_tag_read(s->plan->object, h->fd, &value) < 0 || !value.is_admitted)
		return false;
	if (!allow_has(s->plan->object, &h->peer, (uint8_t)h->protocol) &&
		!is_allowed(s, (uint8_t)h->protocol, &h->peer, &reason))
		return false;
	value.generation = s->plan->generation;
	return object_retag(s->plan->object, h->fd, &value) == 0;
}

static void on_again(void *arg, const struct held_socket *h)
{
	struct sweeper *s = arg;
	struct known *k = is_transport(h) ? add_known(s, h) : NULL;

	if (!k || k->is_admitted)
		return;
	add_netns_of(s, h);
	k->is_admitted = h->is_connected && !addr_is_loopback(&h->peer.addr) && may_go_on(s, h);
	s->result->n_kept += k->is_admitted;
}

static void on_tag(void *arg, const struct held_socket *h)
{
	struct sweeper *s = arg;
	struct known *k = is_transport(h) ? add_known(s, h) : NULL;
	enum nej_reason reason;

	if (!k || k->is_admitted)
		return;
	add_netns_of(s, h);
	k->is_admitted = h->is_connected && !addr_is_loopback(&h->peer.addr) &&
		is_allowed(s, (uint8_t)h->protocol, &h->peer, &reason);
	s->result->n_kept += k->is_admitted;
	give_storage(s, h, k->is_admitted);
}

static void look_at_descriptors(
	struct sweeper *s, void (*on_socket)(void *arg, const struct held_socket *socket))
{
	struct held_plan plan = {
		.cgroup = s->plan->cgroup,
		.has_uid = s->plan->has_uid,
		.uid = s->plan->uid,
		.on_process = on_process,
		.on_socket = on_socket,
		.on_hidden = s->plan->occasion == SWEEP_ATTACH ? on_hidden : NULL,
		.on_closed = on_unreadable,
		.arg = s,
	};

	s->result->n_unreadable = 0;
	s->n_hidden = 0;
	held_each(&plan);
}

/* --- 3: tables */

static int on_table_row(void *arg, const struct sockdiag_socket *socket)
{
	struct sweeper *s = arg;
	struct found *f;

	if (!make_room(s, (void **)&s->found, s->n_found, &s->cap_found, sizeof(*s->found)))
		return -ENOMEM;
	f = &s->found[s->n_found++];
	*f = (struct found){.socket = *socket};
	f->known = socket->inode ? find_known(s, socket->inode) : NULL;
	f->is_ours = (f->known || is_in_cgroup(s, socket->cgroup_id)) &&
		(!s->plan->has_uid || socket->uid == s->plan->uid);
	return 0;
}

/* Is the other end of a connection over loopback the sandbox's? */
static bool has_own_peer(const struct sweeper *s, const struct sockdiag_socket *of)
{
	for (size_t i = 0; i < s->n_found; i++) {
		const struct sockdiag_socket *p = &s->found[i].socket;

		if (!s->found[i].is_ours || p->proto != of->proto ||
			p->local.port != of->remote.port)
			continue;
		if (of->proto == IPPROTO_TCP ? p->remote.port == of->local.port
					     : !p->remote.port &&
					(addr_is_unset(&p->local.addr) ||
						addr_equal(&p->local.addr, &of->remote.addr)))
			return true;
	}
	return false;
}

/* Loopback, and the two addresses that link_set_up_lo gives a namespace of its own. */
static bool is_inside(const struct addr *a)
{
	const uint32_t own6[4] = {htonl(NEJ_OWN_ADDR6_HEAD), 0, 0, htonl(NEJ_OWN_ADDR6_TAIL)};

	return addr_is_loopback(a) ||
		(addr_is_v4(a) ? addr_to_v4(a) == NEJ_OWN_ADDR4 : memcmp(a->b, own6, 16) == 0);
}

static bool is_own_port(const struct sweeper *s, uint16_t number)
{
	for (const uint16_t *port = s->plan->own_ports; *port; port++)
		if (*port == number)
			return true;
	return false;
}

/* The policy of now is in the kernel's tables; what led to loopback is not ours to end. */
static bool may_stay_open(
	const struct sweeper *s, const struct sockdiag_socket *socket, enum nej_reason *ret_reason)
{
	*ret_reason = NEJ_REASON_HALTED;
	if (s->plan->occasion == SWEEP_CUT)
		return !is_inside(&socket->remote.addr) || !is_own_port(s, socket->remote.port);
	if (!socket->remote.port || is_inside(&socket->remote.addr))
		return true;
	if (s->plan->occasion == SWEEP_HALT)
		return false;
	return is_allowed(s, socket->proto, &socket->remote, ret_reason) ||
		allow_has(s->plan->object, &socket->remote, socket->proto);
}

static bool may_stay(const struct sweeper *s, const struct found *f, enum nej_reason *ret_reason)
{
	const struct sockdiag_socket *socket = &f->socket;

	if (s->plan->occasion != SWEEP_ATTACH)
		return may_stay_open(s, socket, ret_reason);
	if (!socket->remote.port || (f->known && f->known->is_admitted))
		return true;
	if (!addr_is_loopback(&socket->remote.addr)) {
		/* one that is allowed, but that nobody holds, was not admitted: it ends too */
		is_allowed(s, socket->proto, &socket->remote, ret_reason);
		return false;
	}
	*ret_reason = NEJ_REASON_LOOPBACK;
	return has_own_peer(s, socket) ||
		(socket->proto == IPPROTO_TCP &&
			policy_has_host_port(s->plan->policy, socket->remote.port));
}

static void tell_cut(const struct sweeper *s, const struct found *f, enum nej_reason reason)
{
	static const char *const details[] = {
		[SWEEP_ATTACH] = "a connection from before the attach: ended",
		[SWEEP_RELOAD] = "a connection that the new policy forbids: ended",
		[SWEEP_CUT] = "halted: ended",
		[SWEEP_HALT] = "halted: ended",
	};
	const char *detail = details[s->plan->occasion];
	const struct audit_event event = {
		.kind = AUDIT_NETWORK_BLOCKED,
		.layer = AUDIT_LAYER_SUPERVISOR,
		.reason = (uint8_t)reason,
		.proto = f->socket.proto,
		.has_addr = true,
		.addr = f->socket.remote.addr,
		.port = f->socket.remote.port,
		.rule = AUDIT_NO_RULE,
		.pid = f->known ? (uint32_t)f->known->pid : 0,
		.uid = f->socket.uid,
		.cgroup_id = s->plan->cgroup->id,
		.count = 1,
		.time_us = clock_real_us(),
		.detail = {detail, strlen(detail)},
	};

	s->plan->on_cut(s->plan->arg, &event);
}

static void cut(struct sweeper *s, int diag_fd, const struct found *f, enum nej_reason reason)
{
	bool is_cut = sockdiag_destroy(diag_fd, &f->socket) == 0;

	if (!is_cut && s->round > 0)
		return; /* the first round has told */
	s->result->n_cut += is_cut;
	s->result->n_silenced += !is_cut;
	if (s->plan->on_cut)
		tell_cut(s, f, reason);
}

static bool is_listening(const struct sockdiag_socket *socket)
{
	return socket->proto == IPPROTO_TCP ? socket->state == STATE_LISTEN : !socket->remote.port;
}

static bool is_strange(const struct sweeper *s, const struct found *f)
{
	if (f->is_ours || !is_listening(&f->socket))
		return false;
	return !is_own_port(s, f->socket.local.port);
}

static int look_at_tables(struct sweeper *s, bool is_target)
{
	_cleanup_close_ int diag = sockdiag_open();
	int r;

	if (diag < 0)
		return diag;
	s->n_found = 0;
	r = sockdiag_each(diag, on_table_row, s);
	/* Without inet_diag nothing can be ended; without storage no packet passes either. */
	if (r == -ENOENT) {
		s->result->n_silenced++;
		s->result->has_strangers = true;
		return 0;
	}
	for (size_t i = 0; i < s->n_found && r >= 0; i++) {
		enum nej_reason reason = NEJ_REASON_NO_RULE;

		s->result->has_strangers |= is_target && is_strange(s, &s->found[i]);
		if (s->found[i].is_ours && !may_stay(s, &s->found[i], &reason))
			cut(s, diag, &s->found[i], reason);
	}
	return r;
}

static int look_at_namespaces(struct sweeper *s)
{
	_cleanup_close_ int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int r = own < 0 ? -errno : 0;

	for (size_t i = 0; i < s->n_netns && r >= 0; i++) {
		if (setns(s->netns[i].fd, CLONE_NEWNET) < 0)
			r = -errno;
		else
			r = look_at_tables(s, i == 0);
	}
	if (own >= 0 && setns(own, CLONE_NEWNET) < 0)
		abort(); /* somebody else's network from here on: nothing would be right */
	return r;
}

/* --- all of it */

/* One that a descriptor leads to as well is judged by that. */
static const struct hidden *find_hidden(const struct sweeper *s)
{
	for (size_t i = 0; i < s->n_hidden; i++)
		if (!s->hidden[i].inode || !find_known(s, s->hidden[i].inode))
			return &s->hidden[i];
	return NULL;
}

static void check_descriptors(struct sweeper *s)
{
	const struct timespec a_moment = {.tv_nsec = HIDDEN_WAIT_MS * 1000000l};
	const struct hidden *hidden;

	look_at_descriptors(s, on_check);
	for (int i = 1; i < HIDDEN_TRIES && !s->is_off && find_hidden(s); i++) {
		nanosleep(&a_moment, NULL);
		look_at_descriptors(s, on_check);
	}
	hidden = find_hidden(s);
	if (hidden)
		call_off(s, hidden->pid, hidden->what);
}

static int run(struct sweeper *s)
{
	/* Halted, nothing becomes connected any more; and a dump walks the whole host's hash. */
	int n_rounds = s->plan->occasion == SWEEP_CUT ? 1 : ROUNDS, r = 0;

	if (!s->plan->is_everywhere)
		cgroup_each(s->plan->cgroup, add_cgroup, s);
	add_netns(s, s->plan->netns_fd);
	if (s->plan->occasion == SWEEP_ATTACH)
		check_descriptors(s);
	if (s->is_off)
		return -EPERM;
	if (s->plan->occasion < SWEEP_CUT)
		look_at_descriptors(s, s->plan->occasion == SWEEP_RELOAD ? on_again : on_tag);
	/* on loopback there others may listen */
	s->result->n_elsewhere = (unsigned int)(s->n_netns ? s->n_netns - 1 : 0);
	s->result->has_strangers |= s->n_netns > 1;
	for (; s->round < n_rounds && r >= 0 && !s->is_failed; s->round++)
		r = look_at_namespaces(s);
	return s->is_failed ? -ENOMEM : r;
}

int sweep(const struct sweep_plan *plan, struct sweep_result *ret, char why[static SWEEP_WHY_BYTES])
{
	struct sweeper s = {.plan = plan, .result = ret, .why = why};
	struct htab_node *node, *next;
	int r;

	*ret = (struct sweep_result){0};
	htab_init(&s.known);
	r = run(&s);
	htab_for_each (&s.known, node, next)
		free(CONTAINER_OF(node, struct known, node));
	htab_done(&s.known);
	for (size_t i = 0; i < s.n_netns; i++)
		close(s.netns[i].fd);
	free(s.cgroup_ids);
	free(s.found);
	return r;
}
