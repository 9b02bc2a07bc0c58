/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives names their synthetic pairs; see synth.h. A name's slot is where its keyed hash points, so
 * that a worker started anew gives the same names the same addresses.
 */
#include "synth.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"
#include "../base/htab.h"

#define ADDRS (1u << (32 - NEJ_SYNTH4_BITS))

struct pair {
	struct htab_node by_name;
	struct pair *older, *newer; /* by their last use; a held one is in no list */
	uint32_t slot;
	uint32_t n_holds;
	uint8_t len;
	char name[];
};

struct synth {
	pthread_mutex_t lock;
	uint8_t net6[8];
	uint64_t key[2];
	struct htab names;
	struct pair **slots; /* ADDRS of them; calloc'd, so untouched pages cost nothing */
	struct pair *oldest, *newest;
	size_t n_pairs;
	void (*on_given)(
		void *arg, const struct host *name, const struct addr *v4, const struct addr *v6);
	void *arg;
};

int synth_new(const uint8_t net6[static 8], struct synth **ret)
{
	struct synth *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->slots = calloc(ADDRS, sizeof(struct pair *));
	if (!s->slots) {
		free(s);
		return -ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	memcpy(s->net6, net6, 8);
	memcpy(&s->key[0], net6, 8);
	htab_init(&s->names);
	*ret = s;
	return 0;
}

void synth_free(struct synth *s)
{
	if (!s)
		return;
	for (uint32_t slot = 0; slot < ADDRS; slot++)
		free(s->slots[slot]);
	htab_done(&s->names);
	free(s->slots);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void unlink_pair(struct synth *s, struct pair *p)
{
	*(p->older ? &p->older->newer : &s->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &s->newest) = p->older;
}

static void link_newest(struct synth *s, struct pair *p)
{
	p->older = s->newest;
	p->newer = NULL;
	*(s->newest ? &s->newest->newer : &s->oldest) = p;
	s->newest = p;
}

/* .0 and .255 look like networks and broadcasts to some programs. */
static bool is_usable(uint32_t slot)
{
	return (slot & 0xff) != 0 && (slot & 0xff) != 0xff;
}

/* Held pairs are not in the list, so that the oldest in it may always go. */
static bool give_up_oldest(struct synth *s)
{
	struct pair *p = s->oldest;

	if (!p)
		return false;
	unlink_pair(s, p);
	htab_del(&s->names, &p->by_name);
	s->slots[p->slot] = NULL;
	s->n_pairs--;
	free(p);
	return true;
}

static struct pair *add(struct synth *s, const struct host *name, uint64_t hash)
{
	uint32_t slot = (uint32_t)(hash % ADDRS);
	struct pair *p;

	if (s->n_pairs >= NEJ_MAX_SYNTH && !give_up_oldest(s))
		return NULL;
	while (s->slots[slot] || !is_usable(slot))
		slot = (slot + 1) % ADDRS;
	p = calloc(1, sizeof(*p) + name->len);
	if (!p || htab_add(&s->names, &p->by_name, hash) < 0) {
		free(p);
		return NULL;
	}
	p->slot = slot;
	p->len = name->len;
	memcpy(p->name, name->name, name->len);
	s->slots[slot] = p;
	s->n_pairs++;
	link_newest(s, p);
	return p;
}

static struct pair *find(const struct synth *s, const struct host *name, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&s->names, hash); n; n = htab_next(n)) {
		struct pair *p = CONTAINER_OF(n, struct pair, by_name);

		if (p->len == name->len && !memcmp(p->name, name->name, p->len))
			return p;
	}
	return NULL;
}

void synth_on_given(struct synth *s,
	void (*on_given)(
		void *arg, const struct host *name, const struct addr *v4, const struct addr *v6),
	void *arg)
{
	s->on_given = on_given;
	s->arg = arg;
}

static void addrs_of(
	const struct synth *s, const struct pair *p, struct addr *ret4, struct addr *ret6)
{
	uint32_t be = htonl(p->slot);

	*ret4 = addr_from_v4(NEJ_SYNTH4_NET + p->slot);
	memset(ret6, 0, sizeof(*ret6));
	memcpy(ret6->b, s->net6, 8);
	memcpy(ret6->b + 12, &be, 4);
}

int synth_assign(struct synth *s, const struct host *name, struct addr *ret4, struct addr *ret6)
{
	uint64_t hash = hash_bytes_keyed(s->key, name->name, name->len);
	struct pair *p;

	pthread_mutex_lock(&s->lock);
	p = find(s, name, hash);
	if (!p) {
		p = add(s, name, hash);
		if (p)
			addrs_of(s, p, ret4, ret6);
		if (p && s->on_given)
			s->on_given(s->arg, name, ret4, ret6);
	} else {
		if (!p->n_holds && p != s->newest) {
			unlink_pair(s, p);
			link_newest(s, p);
		}
		addrs_of(s, p, ret4, ret6);
	}
	pthread_mutex_unlock(&s->lock);
	return p ? 0 : -ENOSPC;
}

/* The slot of an address, or ADDRS. */
static uint32_t slot_of(const struct synth *s, const struct addr *addr)
{
	static const uint8_t zeros[4];
	uint32_t v4;

	if (addr_is_v4(addr)) {
		v4 = addr_to_v4(addr);
		return v4 >> (32 - NEJ_SYNTH4_BITS) == NEJ_SYNTH4_NET >> (32 - NEJ_SYNTH4_BITS)
			? v4 & (ADDRS - 1)
			: ADDRS;
	}
	v4 = addr_to_v4(addr);
	return !memcmp(addr->b, s->net6, 8) && !memcmp(addr->b + 8, zeros, 4) && v4 < ADDRS ? v4
											    : ADDRS;
}

bool synth_covers(const struct synth *s, const struct addr *addr)
{
	if (addr_is_v4(addr))
		return slot_of(s, addr) != ADDRS;
	return !memcmp(addr->b, s->net6, 8);
}

int synth_hold(struct synth *s, const struct addr *addr, struct host *ret)
{
	uint32_t slot = slot_of(s, addr);
	struct pair *p;
	int r = -ENOENT;

	if (slot == ADDRS)
		return r;
	pthread_mutex_lock(&s->lock);
	p = s->slots[slot];
	if (p)
		r = host_parse(p->name, p->len, ret);
	if (r == 0 && !p->n_holds++)
		unlink_pair(s, p);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void synth_release(struct synth *s, const struct addr *addr)
{
	uint32_t slot = slot_of(s, addr);
	struct pair *p;

	if (slot == ADDRS)
		return;
	pthread_mutex_lock(&s->lock);
	p = s->slots[slot];
	if (p && p->n_holds && !--p->n_holds)
		link_newest(s, p);
	pthread_mutex_unlock(&s->lock);
}
