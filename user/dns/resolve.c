/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolution by c-ares on the worker's loop; see resolve.h. A and AAAA are asked at once, whoever
 * asks for the same name meanwhile waits for the same answer. Replies are read by wire/dnsmsg.c, so
 * that the aliases are known. No file is read after resolve_new. Read cache.h next.
 */
#include "resolve.h"

/* c-ares 1.28 and newer mark what 1.18 has only as deprecated. */
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/htab.h"
#include "../wire/dnsmsg.h"
#include "cache.h"
#include "hosts.h"

#define CLASS_IN 1
#define TRIES 2
#define ROUND_MS 2400    /* shared by the servers: all are tried in it once */
#define DEADLINE_MS 4000 /* nobody waits longer, whatever c-ares still tries */
#define SECOND_FAMILY_MS 200
#define MAX_TTL_S 300
#define NEGATIVE_TTL_S 5
#define FAILURE_TTL_S 1
#define PARTIAL_TTL_S 5 /* one family came, the other is late */

/* A socket of c-ares. */
struct watch {
	struct loop_io io;
	struct watch *next;
	struct resolve *resolve;
};

enum family {
	V6,
	V4,
	FAMILIES,
};

/* A name that is being asked for. Outlives its answer until c-ares has given both replies up. */
struct flight {
	struct htab_node node; /* in flights while is_open */
	struct resolve *resolve;
	struct host name;
	struct resolve_request *waiters;
	struct loop_timer timer; /* the deadline, or the patience for the second family */
	bool is_open;
	int n_pending; /* replies c-ares still owes */
	int status[FAMILIES];
	size_t n_addrs[FAMILIES];
	struct addr addrs[FAMILIES][RESOLVE_MAX_ADDRS];
	struct resolve_answer answer; /* TTL and aliases as they come, the rest by close_flight */
};

struct resolve {
	struct loop *loop;
	ares_channel channel;
	bool has_channel;
	struct watch *watches;
	struct loop_timer timer;
	struct cache *cache, *hosts;
	struct htab flights;
	size_t n_flying;
};

/* --- c-ares on our loop */

static void set_timer(struct resolve *r)
{
	struct timeval tv;

	if (ares_timeout(r->channel, NULL, &tv))
		loop_timer_set(r->loop, &r->timer,
			(uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000 + 1);
	else
		loop_timer_del(r->loop, &r->timer);
}

static void on_timer(struct loop_timer *timer)
{
	struct resolve *r = CONTAINER_OF(timer, struct resolve, timer);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(r);
}

static void on_socket(struct loop_io *io, uint32_t events)
{
	struct watch *w = CONTAINER_OF(io, struct watch, io);
	struct resolve *r = w->resolve;
	bool is_in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);

	ares_process_fd(r->channel, is_in ? io->fd : ARES_SOCKET_BAD,
		events & EPOLLOUT ? io->fd : ARES_SOCKET_BAD);
	set_timer(r);
}

static void on_socket_state(void *arg, ares_socket_t fd, int is_readable, int is_writable)
{
	struct resolve *r = arg;
	uint32_t events = (is_readable ? EPOLLIN : 0) | (is_writable ? EPOLLOUT : 0);
	struct watch **at = &r->watches, *w;

	while (*at && (*at)->io.fd != fd)
		at = &(*at)->next;
	w = *at;
	if (!events) {
		if (!w)
			return;
		*at = w->next;
		loop_del(r->loop, &w->io, true);
		free(w);
		return;
	}
	if (w) {
		loop_mod(r->loop, &w->io, events);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return; /* the query times out */
	w->resolve = r;
	w->io.on_ready = on_socket;
	if (loop_add(r->loop, &w->io, fd, events) < 0) {
		free(w);
		return;
	}
	w->next = r->watches;
	r->watches = w;
}

static int set_servers(struct resolve *r, const struct endpoint *servers, size_t n)
{
	char text[ENDPOINT_TEXT_BYTES];
	struct buf list;
	int err;

	buf_init(&list);
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i ? "," : "", endpoint_print(&servers[i], text));
	err = list.is_failed ? ARES_ENOMEM : ares_set_servers_ports_csv(r->channel, list.data);
	buf_done(&list);
	return err == ARES_SUCCESS ? 0 : err == ARES_ENOMEM ? -ENOMEM : -EINVAL;
}

static int open_channel(struct resolve *r, const struct endpoint *servers, size_t n)
{
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = n ? ROUND_MS / (int)(n + 1) : 0,
		.tries = TRIES,
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = r,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;

#ifdef ARES_OPT_QUERY_CACHE /* since 1.31: one cache is enough, and ours has the bounds */
	options.qcache_max_ttl = 0;
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	if (!n)
		return 0;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
		ares_init_options(&r->channel, &options, mask) != ARES_SUCCESS)
		return -ENOMEM;
	r->has_channel = true;
	return set_servers(r, servers, n);
}

/* --- flights */

static struct flight *find(const struct resolve *r, const struct host *name, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&r->flights, hash); n; n = htab_next(n)) {
		struct flight *f = CONTAINER_OF(n, struct flight, node);

		if (host_equal(&f->name, name))
			return f;
	}
	return NULL;
}

/* One truth of two replies: an address, else a failure, else that the name exists at all. */
static int merge_status(const struct flight *f)
{
	int v6 = f->status[V6], v4 = f->status[V4];

	if (f->n_addrs[V6] + f->n_addrs[V4])
		return 0;
	if (v4 < 0 && v4 != -ENOENT)
		return v4;
	if (v6 < 0 && v6 != -ENOENT)
		return v6;
	return v4 == -ENOENT && v6 == -ENOENT ? -ENOENT : -ENODATA;
}

/* Fills f->answer and remembers it. Returns the status. */
static int settle(struct flight *f)
{
	struct resolve_answer *a = &f->answer;
	int status = merge_status(f);
	uint32_t ttl_s = a->ttl_s;
	size_t max_v6 = RESOLVE_MAX_ADDRS - f->n_addrs[V4], n_v6 = f->n_addrs[V6];

	/* IPv6 gives way down to half: a flood of one family must not hide the other */
	if (max_v6 < RESOLVE_MAX_ADDRS / 2)
		max_v6 = RESOLVE_MAX_ADDRS / 2;
	a->n_addrs = n_v6 < max_v6 ? n_v6 : max_v6;
	memcpy(a->addrs, f->addrs[V6], a->n_addrs * sizeof(a->addrs[0]));
	for (size_t i = 0; i < f->n_addrs[V4] && a->n_addrs < RESOLVE_MAX_ADDRS; i++)
		a->addrs[a->n_addrs++] = f->addrs[V4][i];
	if (status == -ENOENT || status == -ENODATA)
		ttl_s = NEGATIVE_TTL_S;
	else if (status < 0)
		ttl_s = FAILURE_TTL_S;
	else if (f->status[V6] < 0 || f->status[V4] < 0)
		ttl_s = ttl_s < PARTIAL_TTL_S ? ttl_s : PARTIAL_TTL_S;
	ttl_s = ttl_s < 1 ? 1 : ttl_s > MAX_TTL_S ? MAX_TTL_S : ttl_s;
	a->ttl_s = ttl_s;
	cache_put(f->resolve->cache, &f->name, status, a,
		loop_now_ms(f->resolve->loop) + ttl_s * 1000ull);
	return status;
}

/* Gives the answer to all who wait. A callback may ask anew or cancel others that wait here. */
static void close_flight(struct flight *f)
{
	uint32_t ttl_s = f->answer.ttl_s;
	int status = settle(f);

	loop_timer_del(f->resolve->loop, &f->timer);
	htab_del(&f->resolve->flights, &f->node);
	f->is_open = false;
	f->n_pending++; /* not freed by what a callback starts */
	while (f->waiters) {
		struct resolve_request *w = f->waiters;

		f->waiters = w->next;
		w->query = NULL;
		w->on_answer(w, status, &f->answer);
	}
	f->n_pending--;
	f->answer.ttl_s = ttl_s;
}

static void on_flight_timeout(struct loop_timer *timer)
{
	struct flight *f = CONTAINER_OF(timer, struct flight, timer);

	close_flight(f);
	if (!f->n_pending)
		free(f);
}

static void take_record(
	struct flight *f, enum family family, const uint8_t *msg, const struct dnsmsg_record *rec)
{
	struct addr *to = &f->addrs[family][f->n_addrs[family]];
	const uint8_t *data = msg + rec->rdata_at;

	if (rec->ttl_s < f->answer.ttl_s)
		f->answer.ttl_s = rec->ttl_s;
	if (f->n_addrs[family] == RESOLVE_MAX_ADDRS || rec->rdata_len != (family == V4 ? 4 : 16))
		return;
	if (family == V4)
		*to = addr_from_v4((uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
			(uint32_t)data[2] << 8 | data[3]);
	else
		memcpy(to->b, data, 16);
	f->n_addrs[family]++;
}

/* Both replies may lead over the same aliases. */
static bool has_alias(const struct resolve_answer *a, const char *name)
{
	for (const char *s = a->aliases; s < a->aliases + a->aliases_len; s += strlen(s) + 1)
		if (!strcmp(s, name))
			return true;
	return false;
}

/* 0, or -EIO when they do not fit: an alias nobody sees is one nobody can refuse. */
static int take_aliases(struct flight *f, const struct dnsmsg_chain *chain)
{
	struct resolve_answer *a = &f->answer;

	if (chain->ttl_s < a->ttl_s)
		a->ttl_s = chain->ttl_s;
	for (const char *s = chain->names; s < chain->names + chain->len; s += strlen(s) + 1) {
		size_t n = strlen(s) + 1;

		if (has_alias(a, s))
			continue;
		if (n > sizeof(a->aliases) - a->aliases_len)
			return -EIO;
		memcpy(a->aliases + a->aliases_len, s, n);
		a->aliases_len += n;
	}
	return 0;
}

/* Only addresses of the name or of its aliases' end: an answer may carry anything beside them. */
static int take_reply(struct flight *f, enum family family, const uint8_t *msg, size_t len)
{
	struct dnsmsg_chain chain;
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;
	int r = dnsmsg_read_start(&reader, msg, len);

	if (r < 0 || dnsmsg_read_chain(msg, len, f->name.name, &chain) < 0)
		return -EIO;
	if (reader.rcode == DNSMSG_NXDOMAIN)
		return -ENOENT;
	if (reader.rcode != DNSMSG_NOERROR || take_aliases(f, &chain) < 0)
		return -EIO;
	while ((r = dnsmsg_read_next(&reader, &rec)) > 0)
		if (rec.type == (family == V4 ? DNSMSG_A : DNSMSG_AAAA) &&
			!strcmp(rec.owner, chain.last))
			take_record(f, family, msg, &rec);
	return r < 0 ? -EIO : 0;
}

static int status_of(int ares_status)
{
	switch (ares_status) {
	case ARES_ENOTFOUND:
		return -ENOENT;
	case ARES_ENODATA:
		return -ENODATA;
	case ARES_ETIMEOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

static void on_reply(struct flight *f, enum family family, int status, const uint8_t *msg, int len)
{
	struct resolve *r = f->resolve;

	f->status[family] =
		msg && len > 0 ? take_reply(f, family, msg, (size_t)len) : status_of(status);
	f->n_pending--;
	r->n_flying--;
	if (f->is_open && !f->n_pending)
		close_flight(f);
	else if (f->is_open && f->n_addrs[family])
		loop_timer_set(r->loop, &f->timer, SECOND_FAMILY_MS);
	else if (!f->n_pending && merge_status(f) == 0)
		settle(f); /* too late for those who waited, in time for the next */
	if (!f->n_pending)
		free(f);
}

/* The channel goes: nobody is told, whoever waits is going too. */
static void drop_reply(struct flight *f)
{
	if (--f->n_pending)
		return;
	loop_timer_del(f->resolve->loop, &f->timer);
	free(f);
}

static void on_a(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	(void)timeouts;
	if (status == ARES_EDESTRUCTION)
		drop_reply(arg);
	else
		on_reply(arg, V4, status, msg, len);
}

static void on_aaaa(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	(void)timeouts;
	if (status == ARES_EDESTRUCTION)
		drop_reply(arg);
	else
		on_reply(arg, V6, status, msg, len);
}

static struct flight *flight_new(struct resolve *r, const struct host *name, uint64_t hash)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->resolve = r;
	f->name = *name;
	f->timer.on_timeout = on_flight_timeout;
	f->answer.ttl_s = UINT32_MAX;
	f->status[V6] = f->status[V4] = -ETIMEDOUT;
	if (loop_timer_set(r->loop, &f->timer, DEADLINE_MS) < 0 ||
		htab_add(&r->flights, &f->node, hash) < 0) {
		loop_timer_del(r->loop, &f->timer);
		free(f);
		return NULL;
	}
	f->is_open = true;
	f->n_pending = FAMILIES;
	r->n_flying += FAMILIES;
	return f;
}

static void wait_for(struct flight *f, struct resolve_request *req)
{
	req->next = f->waiters;
	req->query = f;
	f->waiters = req;
}

bool resolve_would_ask(const struct resolve *r, const struct host *name)
{
	return !cache_has(r->hosts, name, 0) && !cache_has(r->cache, name, loop_now_ms(r->loop)) &&
		!find(r, name, hash_bytes(name->name, name->len));
}

int resolve_addrs(struct resolve *r, const struct host *name, struct resolve_request *req)
{
	uint64_t now_ms = loop_now_ms(r->loop), hash;
	struct resolve_answer answer;
	struct flight *f;
	int status;

	req->query = NULL;
	if (cache_get(r->hosts, name, 0, &status, &answer) ||
		cache_get(r->cache, name, now_ms, &status, &answer)) {
		req->on_answer(req, status, &answer);
		return 0;
	}
	hash = hash_bytes(name->name, name->len);
	f = find(r, name, hash);
	if (f) {
		wait_for(f, req);
		return 0;
	}
	if (!r->has_channel)
		return -EIO;
	if (r->n_flying + FAMILIES > NEJ_MAX_QUERIES)
		return -ENOBUFS;
	f = flight_new(r, name, hash);
	if (!f)
		return -ENOMEM;
	wait_for(f, req);
	ares_query(r->channel, f->name.name, CLASS_IN, DNSMSG_A, on_a, f);
	/* f may be answered and gone only when both replies came */
	ares_query(r->channel, name->name, CLASS_IN, DNSMSG_AAAA, on_aaaa, f);
	set_timer(r);
	return 0;
}

void resolve_cancel(struct resolve *r, struct resolve_request *req)
{
	struct flight *f = req->query;
	struct resolve_request **at;

	(void)r;
	if (!f)
		return;
	for (at = &f->waiters; *at && *at != req; at = &(*at)->next)
		;
	if (*at)
		*at = req->next;
	req->query = NULL;
}

/* --- other types */

struct raw_query {
	struct resolve *resolve;
	struct resolve_raw *owner; /* NULL: answered, or cancelled */
	struct loop_timer timer;
};

static void answer_raw(struct raw_query *q, int status, const uint8_t *msg, size_t len)
{
	struct resolve_raw *owner = q->owner;

	loop_timer_del(q->resolve->loop, &q->timer);
	q->owner = NULL;
	if (!owner)
		return;
	owner->query = NULL;
	owner->on_answer(owner, status, msg, len);
}

static void on_raw_timeout(struct loop_timer *timer)
{
	answer_raw(CONTAINER_OF(timer, struct raw_query, timer), -ETIMEDOUT, NULL, 0);
}

static int raw_status(int ares_status, const uint8_t *msg, size_t len)
{
	struct dnsmsg_reader reader;

	if (!msg || !len)
		return status_of(ares_status);
	if (dnsmsg_read_start(&reader, msg, len) < 0)
		return -EIO;
	if (reader.rcode == DNSMSG_NXDOMAIN)
		return -ENOENT;
	return reader.rcode == DNSMSG_NOERROR ? 0 : -EIO;
}

static void on_raw(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	struct raw_query *q = arg;
	size_t len_bytes = msg && len > 0 ? (size_t)len : 0;

	(void)timeouts;
	q->resolve->n_flying--;
	if (status == ARES_EDESTRUCTION)
		q->owner = NULL;
	status = raw_status(status, msg, len_bytes);
	answer_raw(q, status, msg, status < 0 ? 0 : len_bytes);
	free(q);
}

int resolve_type(struct resolve *r, const struct host *name, uint16_t type, struct resolve_raw *raw)
{
	struct raw_query *q;

	raw->query = NULL;
	if (!r->has_channel)
		return -EIO;
	if (r->n_flying + 1 > NEJ_MAX_QUERIES)
		return -ENOBUFS;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->resolve = r;
	q->owner = raw;
	q->timer.on_timeout = on_raw_timeout;
	if (loop_timer_set(r->loop, &q->timer, DEADLINE_MS) < 0) {
		free(q);
		return -ENOMEM;
	}
	raw->query = q;
	r->n_flying++;
	ares_query(r->channel, name->name, CLASS_IN, type, on_raw, q);
	set_timer(r);
	return 0;
}

void resolve_type_cancel(struct resolve *r, struct resolve_raw *raw)
{
	(void)r;
	if (raw->query)
		((struct raw_query *)raw->query)->owner = NULL;
	raw->query = NULL;
}

/* --- the resolver */

int resolve_new(
	struct loop *loop, const struct endpoint *servers, size_t n_servers, struct resolve **ret)
{
	struct resolve *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->loop = loop;
	r->timer.on_timeout = on_timer;
	htab_init(&r->flights);
	err = cache_new(NEJ_MAX_DNS_CACHE, &r->cache);
	if (err == 0)
		err = cache_new(SIZE_MAX, &r->hosts);
	if (err == 0)
		err = open_channel(r, servers, n_servers);
	if (err < 0) {
		resolve_free(r);
		return err;
	}
	hosts_read("/etc/hosts", r->hosts);
	*ret = r;
	return 0;
}

void resolve_free(struct resolve *r)
{
	if (!r)
		return;
	if (r->has_channel)
		ares_destroy(r->channel); /* ends every flight and watch */
	loop_timer_del(r->loop, &r->timer);
	htab_done(&r->flights);
	cache_free(r->cache);
	cache_free(r->hosts);
	free(r);
}
