/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolution by c-ares on the worker's loop; see resolve.h. A and AAAA are asked at once, whoever
 * asks for the same name meanwhile waits for the same answer. Answers are read by wire/dnsmsg.c,
 * so that the aliases are known. /etc/hosts is read once, at the start.
 */
#include "resolve.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/htab.h"
#include "../wire/dnsmsg.h"

#define CLASS_IN 1
#define TRY_MS 1500
#define TRIES 2
#define SECOND_FAMILY_MS 200
#define MAX_TTL_S 300
#define NEGATIVE_TTL_S 5
#define MAX_HOSTS_BYTES (1u << 20)

/* A socket of c-ares. */
struct watch {
	struct loop_io io;
	struct watch *next;
	struct resolve *resolve;
};

/* What is known of a name: in flight (waiters), or cached until expiry. */
struct entry {
	struct htab_node node;
	struct entry *older, *newer; /* of the cached ones */
	struct resolve *resolve;
	struct host name;
	struct resolve_request *waiters;
	struct loop_timer patience; /* for the second family */
	struct resolve_answer answer;
	struct addr v6[RESOLVE_MAX_ADDRS], v4[RESOLVE_MAX_ADDRS];
	size_t n_v6, n_v4;
	uint64_t expiry_ms;
	int status;    /* worst of both families, 0 once one has an address */
	int n_pending; /* replies c-ares still owes */
	bool is_done, is_cached, is_static;
};

struct resolve {
	struct loop *loop;
	ares_channel channel;
	bool has_channel;
	struct watch *watches;
	struct loop_timer timer;
	struct htab entries;
	struct entry *oldest, *newest;
	size_t n_cached, n_flying;
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

static int open_channel(struct resolve *r, const struct endpoint *servers, size_t n)
{
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_NOCHECKRESP |
			ARES_FLAG_EDNS,
		.timeout = TRY_MS,
		.tries = TRIES,
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = r,
	};
	char text[ENDPOINT_TEXT_BYTES];
	struct buf list;
	int err;

	if (!n)
		return 0;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
		ares_init_options(&r->channel, &options,
			ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
				ARES_OPT_SOCK_STATE_CB) != ARES_SUCCESS)
		return -ENOMEM;
	r->has_channel = true;
	buf_init(&list);
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i ? "," : "", endpoint_print(&servers[i], text));
	err = list.is_failed ? ARES_ENOMEM : ares_set_servers_ports_csv(r->channel, list.data);
	buf_done(&list);
	return err == ARES_SUCCESS ? 0 : -EINVAL;
}

/* --- entries */

static struct entry *find(const struct resolve *r, const struct host *name)
{
	uint64_t hash = hash_bytes(name->name, name->len);

	for (struct htab_node *n = htab_find(&r->entries, hash); n; n = htab_next(n)) {
		struct entry *e = CONTAINER_OF(n, struct entry, node);

		if (host_equal(&e->name, name))
			return e;
	}
	return NULL;
}

static void uncache(struct entry *e)
{
	struct resolve *r = e->resolve;

	if (!e->is_cached)
		return;
	*(e->older ? &e->older->newer : &r->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &r->newest) = e->older;
	r->n_cached--;
	e->is_cached = false;
}

static void drop(struct entry *e)
{
	uncache(e);
	htab_del(&e->resolve->entries, &e->node);
	free(e);
}

static struct entry *entry_new(struct resolve *r, const struct host *name)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->resolve = r;
	e->name = *name;
	if (htab_add(&r->entries, &e->node, hash_bytes(name->name, name->len)) < 0) {
		free(e);
		return NULL;
	}
	return e;
}

static void cache(struct entry *e)
{
	struct resolve *r = e->resolve;

	if (r->n_cached >= NEJ_MAX_DNS_CACHE && r->oldest)
		drop(r->oldest);
	e->is_cached = true;
	e->older = r->newest;
	e->newer = NULL;
	*(r->newest ? &r->newest->newer : &r->oldest) = e;
	r->newest = e;
	r->n_cached++;
}

/* --- answers */

static void build_answer(struct entry *e)
{
	struct resolve_answer *a = &e->answer;

	a->n_addrs = 0;
	for (size_t i = 0; i < e->n_v6 && a->n_addrs < RESOLVE_MAX_ADDRS / 2; i++)
		a->addrs[a->n_addrs++] = e->v6[i];
	for (size_t i = 0; i < e->n_v4 && a->n_addrs < RESOLVE_MAX_ADDRS; i++)
		a->addrs[a->n_addrs++] = e->v4[i];
}

static void deliver(struct entry *e)
{
	struct resolve_request *w = e->waiters, *next;
	struct resolve_answer answer = e->answer;
	int status = e->status;

	/* A waiter's callback may ask again or drop other entries: nothing of e is used after. */
	e->waiters = NULL;
	for (; w; w = next) {
		next = w->next;
		w->query = NULL;
		w->on_answer(w, status, &answer);
	}
}

static void finish(struct entry *e)
{
	struct resolve *r = e->resolve;
	uint32_t ttl_s;

	loop_timer_del(r->loop, &e->patience);
	build_answer(e);
	if (e->answer.n_addrs)
		e->status = 0;
	else if (!e->status)
		e->status = -ENODATA;
	ttl_s = e->status == 0 ? e->answer.ttl_s : NEGATIVE_TTL_S;
	if (ttl_s < 1)
		ttl_s = 1;
	if (ttl_s > MAX_TTL_S)
		ttl_s = MAX_TTL_S;
	e->answer.ttl_s = ttl_s;
	e->expiry_ms = loop_now_ms(r->loop) + ttl_s * 1000ull;
	e->is_done = true;
	if (!e->n_pending)
		cache(e);
	deliver(e);
}

static void on_patience(struct loop_timer *timer)
{
	finish(CONTAINER_OF(timer, struct entry, patience));
}

static void take_record(struct entry *e, const uint8_t *msg, const struct dnsmsg_record *rec)
{
	if (rec->ttl_s < e->answer.ttl_s)
		e->answer.ttl_s = rec->ttl_s;
	if (rec->type == DNSMSG_A && rec->rdata_len == 4 && e->n_v4 < RESOLVE_MAX_ADDRS) {
		uint32_t be;

		memcpy(&be, msg + rec->rdata_at, 4);
		e->v4[e->n_v4++] = addr_from_v4(ntohl(be));
	}
	if (rec->type == DNSMSG_AAAA && rec->rdata_len == 16 && e->n_v6 < RESOLVE_MAX_ADDRS)
		memcpy(e->v6[e->n_v6++].b, msg + rec->rdata_at, 16);
}

/* Only addresses of the name or of its aliases' end: an answer may carry anything beside them. */
static int take_reply(struct entry *e, const uint8_t *msg, size_t len, uint16_t type)
{
	struct dnsmsg_chain chain;
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;
	int r = dnsmsg_read_start(&reader, msg, len);

	if (r < 0 || dnsmsg_read_chain(msg, len, e->name.name, &chain) < 0)
		return -EIO;
	if (reader.rcode == DNSMSG_NXDOMAIN)
		return -ENOENT;
	if (reader.rcode != DNSMSG_NOERROR)
		return -EIO;
	if (chain.ttl_s < e->answer.ttl_s)
		e->answer.ttl_s = chain.ttl_s;
	while ((r = dnsmsg_read_next(&reader, &rec)) > 0)
		if (rec.type == type && !strcmp(rec.owner, chain.last))
			take_record(e, msg, &rec);
	if (r < 0)
		return -EIO;
	for (const char *name = chain.names; name < chain.names + chain.len;
		name += strlen(name) + 1) {
		size_t n = strlen(name) + 1;

		if (e->answer.aliases_len + n > sizeof(e->answer.aliases))
			return -EIO;
		memcpy(e->answer.aliases + e->answer.aliases_len, name, n);
		e->answer.aliases_len += n;
	}
	return 0;
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

static void on_reply(struct entry *e, uint16_t type, int status, const uint8_t *msg, int len)
{
	int r = msg && len > 0 ? take_reply(e, msg, (size_t)len, type) : status_of(status);

	e->n_pending--;
	e->resolve->n_flying--;
	/* A failure says more than an empty answer; that the name does not exist, less than either. */
	if (r < 0 && (!e->status || e->status == -ENODATA || e->status == -ENOENT))
		e->status = r;
	if (e->is_done) {
		if (!e->n_pending)
			cache(e);
		return;
	}
	if (!e->n_pending)
		finish(e);
	else if (e->n_v4 + e->n_v6)
		loop_timer_set(e->resolve->loop, &e->patience, SECOND_FAMILY_MS);
}

static void on_a(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	(void)timeouts;
	if (status != ARES_EDESTRUCTION)
		on_reply(arg, DNSMSG_A, status, msg, len);
}

static void on_aaaa(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	(void)timeouts;
	if (status != ARES_EDESTRUCTION)
		on_reply(arg, DNSMSG_AAAA, status, msg, len);
}

int resolve_addrs(struct resolve *r, const struct host *name, struct resolve_request *req)
{
	struct entry *e = find(r, name);

	if (e && e->is_done && !e->is_static && !e->n_pending &&
		e->expiry_ms <= loop_now_ms(r->loop)) {
		drop(e);
		e = NULL;
	}
	req->query = NULL;
	if (e && e->is_done) {
		struct resolve_answer answer = e->answer;

		req->on_answer(req, e->status, &answer);
		return 0;
	}
	if (!e && (!r->has_channel || r->n_flying + 2 > NEJ_MAX_QUERIES))
		return r->has_channel ? -ENOBUFS : -EIO;
	if (e) {
		req->next = e->waiters;
		e->waiters = req;
		req->query = e;
		return 0;
	}
	e = entry_new(r, name);
	if (!e)
		return -ENOMEM;
	e->patience.on_timeout = on_patience;
	e->answer.ttl_s = UINT32_MAX;
	e->n_pending = 2;
	r->n_flying += 2;
	req->next = NULL;
	req->query = e;
	e->waiters = req;
	ares_query(r->channel, name->name, CLASS_IN, DNSMSG_A, on_a, e);
	ares_query(r->channel, name->name, CLASS_IN, DNSMSG_AAAA, on_aaaa, e);
	set_timer(r);
	return 0;
}

void resolve_cancel(struct resolve *r, struct resolve_request *req)
{
	struct entry *e = req->query;
	struct resolve_request **at;

	(void)r;
	if (!e)
		return;
	for (at = &e->waiters; *at && *at != req; at = &(*at)->next)
		;
	if (*at)
		*at = req->next;
	req->query = NULL;
}

/* --- other types */

struct raw_query {
	struct resolve *resolve;
	struct resolve_raw *owner; /* NULL: cancelled */
};

static void on_raw(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
	struct raw_query *q = arg;
	struct resolve_raw *owner = q->owner;

	(void)timeouts;
	if (status != ARES_EDESTRUCTION) {
		q->resolve->n_flying--;
		if (owner) {
			owner->query = NULL;
			owner->on_answer(owner, msg ? 0 : status_of(status), msg,
				msg && len > 0 ? (size_t)len : 0);
		}
	}
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

/* --- the host's files */

static void add_static(struct resolve *r, const struct addr *addr, const char *text)
{
	struct host name;
	struct entry *e;

	if (host_parse(text, strlen(text), &name) < 0 || name.kind != HOST_NAME || name.is_local)
		return;
	e = find(r, &name);
	if (!e)
		e = entry_new(r, &name);
	if (!e)
		return;
	e->is_done = e->is_static = true;
	e->answer.ttl_s = NEGATIVE_TTL_S;
	if (addr_is_v4(addr) ? e->n_v4 == RESOLVE_MAX_ADDRS : e->n_v6 == RESOLVE_MAX_ADDRS)
		return;
	if (addr_is_v4(addr))
		e->v4[e->n_v4++] = *addr;
	else
		e->v6[e->n_v6++] = *addr;
	build_answer(e);
}

static void read_hosts(struct resolve *r)
{
	_cleanup_free_ char *text = NULL;
	char *line, *lines;
	size_t len;

	if (file_read("/etc/hosts", MAX_HOSTS_BYTES, &text, &len) < 0)
		return;
	for (line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		char *words, *word;
		struct addr addr;

		line[strcspn(line, "#")] = 0;
		word = strtok_r(line, " \t\r", &words);
		if (!word || addr_parse(word, strlen(word), &addr) < 0)
			continue;
		while ((word = strtok_r(NULL, " \t\r", &words)))
			add_static(r, &addr, word);
	}
}

size_t resolve_host_servers(struct endpoint *ret, size_t max)
{
	_cleanup_free_ char *text = NULL;
	char *line, *lines;
	size_t len, n = 0;

	if (file_read("/etc/resolv.conf", MAX_HOSTS_BYTES, &text, &len) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &lines); line && n < max;
		line = strtok_r(NULL, "\n", &lines)) {
		char *words, *word = strtok_r(line, " \t\r", &words);

		if (!word || strcmp(word, "nameserver"))
			continue;
		word = strtok_r(NULL, " \t\r", &words);
		if (word && endpoint_parse(word, 53, &ret[n]) == 0)
			n++;
	}
	return n;
}

int resolve_new(
	struct loop *loop, const struct endpoint *servers, size_t n_servers, struct resolve **ret)
{
	struct resolve *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->loop = loop;
	r->timer.on_timeout = on_timer;
	htab_init(&r->entries);
	err = open_channel(r, servers, n_servers);
	if (err < 0) {
		resolve_free(r);
		return err;
	}
	read_hosts(r);
	*ret = r;
	return 0;
}

void resolve_free(struct resolve *r)
{
	struct htab_node *node, *tmp;

	if (!r)
		return;
	if (r->has_channel)
		ares_destroy(r->channel);
	loop_timer_del(r->loop, &r->timer);
	htab_for_each (&r->entries, node, tmp) {
		struct entry *e = CONTAINER_OF(node, struct entry, node);

		loop_timer_del(r->loop, &e->patience);
		free(e);
	}
	htab_done(&r->entries);
	free(r);
}
