/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ring buffer and folds of the BPF programs into audit events. Exact: the counts of all events plus
 * events_lost() are what `counters` says. Read bpf/event.bpf.h for the other side.
 */
#include "events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../include/unix_paths.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/htab.h"

/*
 * Theory of operation
 *
 * A fold's total only grows. For each key we keep the last total we told of, and an event's count
 * is the difference; so it does not matter whether the ring or a sweep brings a total first, or
 * that the ring lost one. `born_ns` tells a fold from its successor after LRU forgot it: a younger
 * one counts from zero, an older one's late record is skipped (it was counted, or is lost).
 * The ring wakes us when it was empty or is a quarter full. The first wake only starts a timer, so
 * that a flood is read in batches; a second one before it fires means a quarter: read now. A sweep
 * follows a second after the last news and stops when it finds none: idle costs nothing.
 */
#define DRAIN_MS 20
#define SWEEP_MS 1100
#define SWEEP_BATCH 256
#define MISSED_SWEEPS 2 /* a late record may still come after the first */

struct seen {
	struct htab_node node;
	struct nej_fold_key key;
	uint64_t born_ns;
	uint64_t total;
	uint32_t sweep;    /* the last one that found it */
	uint32_t n_missed; /* sweeps since that did not */
};

struct events {
	struct loop *loop;
	struct object *object;
	struct ring_buffer *ring;
	struct loop_io io;
	struct loop_timer drain_timer;
	struct loop_timer sweep_timer;
	struct htab seen;
	int folds_fd;
	uint32_t sweep;
	uint64_t n_told;      /* sum of the counts of all events */
	uint64_t n_lost_told; /* sum of what events_lost returned */
	void (*on_event)(void *arg, const struct audit_event *event);
	void *arg;
};

/* --- one key */

static struct seen *seen_find(struct events *e, const struct nej_fold_key *key)
{
	struct htab_node *node = htab_find(&e->seen, hash_bytes(key, sizeof(*key)));

	for (; node; node = htab_next(node)) {
		struct seen *s = CONTAINER_OF(node, struct seen, node);

		if (!memcmp(&s->key, key, sizeof(*key)))
			return s;
	}
	return NULL;
}

static struct seen *seen_add(struct events *e, const struct nej_fold_key *key)
{
	struct seen *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->key = *key;
	if (htab_add(&e->seen, &s->node, hash_bytes(key, sizeof(*key))) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

/* How many of `total` were not told yet. */
static uint64_t seen_news(
	struct events *e, const struct nej_fold_key *key, uint64_t born_ns, uint64_t total)
{
	struct seen *s = seen_find(e, key);
	uint64_t news;

	if (!s)
		s = seen_add(e, key);
	if (!s || born_ns < s->born_ns)
		return 0;
	if (born_ns > s->born_ns) {
		s->born_ns = born_ns;
		s->total = 0;
	}
	if (total <= s->total)
		return 0;
	news = total - s->total;
	s->total = total;
	return news;
}

/* --- what an event says */

static const char *type_word(uint8_t sock_type)
{
	return sock_type == 1    ? "stream"
		: sock_type == 2 ? "datagram"
		: sock_type == 3 ? "raw"
				 : "other";
}

static const char *unix_path(uint16_t row)
{
	static const char *const paths[] = {
#define X(path, service, is_quiet) path,
		NEJ_UNIX_PATHS(X)
#undef X
	};

	return row < ARRAY_SIZE(paths) ? paths[row] : "?";
}

static const char *hook_word(uint8_t hook)
{
	static const char *const words[NEJ_HOOK_COUNT] = {
		"connect", "datagram", "bind", "socket", "packet out", "packet in", "unix connect"};

	return hook < NEJ_HOOK_COUNT ? words[hook] : "?";
}

/* The text for people, and where the address of a hook means something else. */
static void fill_detail(struct audit_event *a, const struct nej_fold_key *key, char out[static 96])
{
	int n;

	if (key->hook == NEJ_HOOK_SOCKET) {
		n = snprintf(out, 96, "socket type %s, protocol %u", type_word(key->sock_type),
			ntohs(key->dest.port_be));
		a->has_addr = 0;
		a->port = 0;
	} else if (key->hook == NEJ_HOOK_UNIX) {
		n = snprintf(out, 96, "unix socket %s", unix_path(ntohs(key->dest.port_be)));
		a->has_addr = 0;
		a->port = 0;
	} else {
		n = snprintf(out, 96, "%s", hook_word(key->hook));
	}
	a->detail = (struct audit_text){out, n < 96 ? (uint32_t)n : 95};
}

struct news {
	struct nej_fold_key key;
	struct nej_process process;
	uint64_t time_ns;
	uint64_t count;
	uint32_t rule;
};

static void tell(struct events *e, const struct news *n)
{
	bool is_pass = n->key.verdict == NEJ_PASS;
	char detail[96];
	struct audit_event a = {
		.kind = is_pass ? AUDIT_NETWORK_ALLOWED : AUDIT_NETWORK_BLOCKED,
		.layer = AUDIT_LAYER_KERNEL,
		.reason = n->key.reason,
		.proto = n->key.dest.proto,
		.has_addr = 1,
		.port = ntohs(n->key.dest.port_be),
		.rule = n->key.reason == NEJ_REASON_RULE ? n->rule : AUDIT_NO_RULE,
		.generation = object_settings_now(e->object)->generation,
		.pid = n->process.pid,
		.uid = n->process.uid,
		.cgroup_id = n->process.cgroup_id,
		.count = n->count,
		.time_us = clock_real_us_of(n->time_ns),
	};

	memcpy(a.addr.b, n->key.dest.addr, sizeof(a.addr.b));
	memcpy(a.comm, n->process.comm, sizeof(a.comm));
	fill_detail(&a, &n->key, detail);
	e->n_told += n->count;
	e->on_event(e->arg, &a);
}

/* --- the ring */

static int on_record(void *arg, void *data, size_t size)
{
	struct events *e = arg;
	const struct nej_event *r = data;
	struct news n;

	if (size < sizeof(*r) || r->hook >= NEJ_HOOK_COUNT || r->reason >= NEJ_REASON_COUNT)
		return 0;
	n = (struct news){
		.key = {.dest = r->dest,
			.hook = r->hook,
			.reason = r->reason,
			.verdict = r->verdict,
			.sock_type = r->sock_type},
		.process = r->process,
		.time_ns = r->time_ns,
		.rule = r->rule,
	};
	n.count = seen_news(e, &n.key, r->born_ns, r->total);
	if (n.count)
		tell(e, &n);
	return 0;
}

static int drain_ring(struct events *e)
{
	return ring_buffer__consume(e->ring);
}

/* --- the folds */

static void forget_missed(struct events *e)
{
	struct htab_node *node, *tmp;

	htab_for_each (&e->seen, node, tmp) {
		struct seen *s = CONTAINER_OF(node, struct seen, node);
		struct nej_fold fold;

		if (s->sweep == e->sweep) {
			s->n_missed = 0;
			continue;
		}
		/* A batch walk may skip an entry that moves: ask for it by name. */
		if (!bpf_map_lookup_elem(e->folds_fd, &s->key, &fold)) {
			s->n_missed = 0;
		} else if (++s->n_missed >= MISSED_SWEEPS) {
			htab_del(&e->seen, &s->node);
			free(s);
		}
	}
}

static bool sweep_one(struct events *e, const struct nej_fold_key *key, const struct nej_fold *fold)
{
	struct news n = {.key = *key, .process = fold->process, .rule = fold->rule};
	struct seen *s;

	n.time_ns = clock_monotonic_ns();
	n.count = seen_news(e, key, fold->born_ns, fold->total);
	s = seen_find(e, key);
	if (s)
		s->sweep = e->sweep;
	if (n.count)
		tell(e, &n);
	return n.count != 0;
}

/* True if it found anything the ring had not told. */
static bool sweep_folds(struct events *e)
{
	struct nej_fold_key *keys = calloc(SWEEP_BATCH, sizeof(*keys));
	struct nej_fold *folds = calloc(SWEEP_BATCH, sizeof(*folds));
	bool has_news = false;
	uint64_t cursor = 0;
	void *at = NULL;
	int r = keys && folds ? 0 : -ENOMEM;

	e->sweep++;
	while (!r) {
		uint32_t n = SWEEP_BATCH;

		r = bpf_map_lookup_batch(e->folds_fd, at, &cursor, keys, folds, &n, NULL);
		if (r < 0 && r != -ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			has_news |= sweep_one(e, &keys[i], &folds[i]);
		at = &cursor;
	}
	if (r == -ENOENT)
		forget_missed(e);
	free(keys);
	free(folds);
	return has_news;
}

/* --- the loop */

static void drain_and_arm(struct events *e)
{
	if (drain_ring(e) > 0 && !e->sweep_timer.heap_slot)
		loop_timer_set(e->loop, &e->sweep_timer, SWEEP_MS);
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	struct events *e = CONTAINER_OF(io, struct events, io);

	(void)events;
	if (!e->drain_timer.heap_slot && loop_timer_set(e->loop, &e->drain_timer, DRAIN_MS) == 0)
		return;
	drain_and_arm(e);
}

static void on_drain(struct loop_timer *timer)
{
	drain_and_arm(CONTAINER_OF(timer, struct events, drain_timer));
}

static void on_sweep(struct loop_timer *timer)
{
	struct events *e = CONTAINER_OF(timer, struct events, sweep_timer);

	drain_ring(e);
	if (sweep_folds(e))
		loop_timer_set(e->loop, &e->sweep_timer, SWEEP_MS);
}

int events_new(struct loop *loop, struct object *o,
	void (*on_event)(void *arg, const struct audit_event *event), void *arg,
	struct events **ret)
{
	int ring_fd = object_map_fd(o, "events"), r;
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->loop = loop;
	e->object = o;
	e->on_event = on_event;
	e->arg = arg;
	e->folds_fd = object_map_fd(o, "folds");
	e->io.on_ready = on_ready;
	e->io.fd = -1;
	e->drain_timer.on_timeout = on_drain;
	e->sweep_timer.on_timeout = on_sweep;
	htab_init(&e->seen);
	e->ring = ring_buffer__new(ring_fd, on_record, e, NULL);
	r = e->ring ? loop_add(loop, &e->io, ring_fd, EPOLLIN | EPOLLET) : -errno;
	if (r < 0) {
		events_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void events_drain(struct events *e)
{
	drain_ring(e);
	sweep_folds(e);
}

/* Counters are read before the folds, and a program raises its fold before its counter: what the
 * counters have and the folds do not is gone for good. */
uint64_t events_lost(struct events *e)
{
	uint64_t counts[NEJ_COUNTER_COUNT], n = 0, lost;

	if (object_counters(e->object, counts) < 0)
		return 0;
	for (int i = 0; i < NEJ_REASON_COUNT; i++)
		n += counts[i];
	n += counts[NEJ_COUNTER_PASSED];
	events_drain(e);
	if (n <= e->n_told + e->n_lost_told)
		return 0;
	lost = n - e->n_told - e->n_lost_told;
	e->n_lost_told += lost;
	return lost;
}

void events_free(struct events *e)
{
	struct htab_node *node, *tmp;

	if (!e)
		return;
	if (e->io.fd >= 0)
		loop_del(e->loop, &e->io, true);
	loop_timer_del(e->loop, &e->drain_timer);
	loop_timer_del(e->loop, &e->sweep_timer);
	ring_buffer__free(e->ring);
	htab_for_each (&e->seen, node, tmp) {
		free(CONTAINER_OF(node, struct seen, node));
	}
	htab_done(&e->seen);
	free(e);
}
