/* SPDX-License-Identifier: GPL-2.0-only */
/* The resolver's memory: a hash table and a list by age; see cache.h. */
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/htab.h"

/* One block: addresses, aliases, name stand behind it in this order. */
struct entry {
	struct htab_node node;
	struct entry *older, *newer;
	uint64_t expiry_ms;
	int status;
	uint32_t ttl_s;
	uint16_t n_addrs, aliases_len;
	uint8_t name_len;
	struct addr addrs[];
};

struct cache {
	struct htab names;
	struct entry *oldest, *newest;
	size_t n, max;
};

int cache_new(size_t max_names, struct cache **ret)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	htab_init(&c->names);
	c->max = max_names;
	*ret = c;
	return 0;
}

static char *aliases_of(struct entry *e)
{
	return (char *)&e->addrs[e->n_addrs];
}

static char *name_of(struct entry *e)
{
	return aliases_of(e) + e->aliases_len;
}

static void drop(struct cache *c, struct entry *e)
{
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	htab_del(&c->names, &e->node);
	c->n--;
	free(e);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	while (c->oldest)
		drop(c, c->oldest);
	htab_done(&c->names);
	free(c);
}

static struct entry *find(const struct cache *c, const struct host *name, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&c->names, hash); n; n = htab_next(n)) {
		struct entry *e = CONTAINER_OF(n, struct entry, node);

		if (e->name_len == name->len && !memcmp(name_of(e), name->name, name->len))
			return e;
	}
	return NULL;
}

static struct entry *entry_new(
	const struct host *name, int status, const struct resolve_answer *answer)
{
	size_t addrs_len = answer->n_addrs * sizeof(answer->addrs[0]);
	struct entry *e = malloc(sizeof(*e) + addrs_len + answer->aliases_len + name->len);

	if (!e)
		return NULL;
	e->status = status;
	e->ttl_s = answer->ttl_s;
	e->n_addrs = (uint16_t)answer->n_addrs;
	e->aliases_len = (uint16_t)answer->aliases_len;
	e->name_len = name->len;
	memcpy(e->addrs, answer->addrs, addrs_len);
	memcpy(aliases_of(e), answer->aliases, answer->aliases_len);
	memcpy(name_of(e), name->name, name->len);
	return e;
}

void cache_put(struct cache *c, const struct host *name, int status,
	const struct resolve_answer *answer, uint64_t expiry_ms)
{
	uint64_t hash = hash_bytes(name->name, name->len);
	struct entry *e = find(c, name, hash);

	if (e)
		drop(c, e);
	if (c->n >= c->max && c->oldest)
		drop(c, c->oldest);
	e = entry_new(name, status, answer);
	if (!e || htab_add(&c->names, &e->node, hash) < 0) {
		free(e);
		return;
	}
	e->expiry_ms = expiry_ms;
	e->older = c->newest;
	e->newer = NULL;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
	c->n++;
}

static struct entry *find_fresh(struct cache *c, const struct host *name, uint64_t now_ms)
{
	struct entry *e = find(c, name, hash_bytes(name->name, name->len));

	if (e && e->expiry_ms <= now_ms) {
		drop(c, e);
		return NULL;
	}
	return e;
}

bool cache_has(struct cache *c, const struct host *name, uint64_t now_ms)
{
	return find_fresh(c, name, now_ms) != NULL;
}

bool cache_get(struct cache *c, const struct host *name, uint64_t now_ms, int *ret_status,
	struct resolve_answer *ret)
{
	struct entry *e = find_fresh(c, name, now_ms);
	uint64_t left_s;

	if (!e)
		return false;
	left_s = (e->expiry_ms - now_ms) / 1000;
	ret->ttl_s = left_s < e->ttl_s ? (uint32_t)left_s : e->ttl_s;
	if (!ret->ttl_s)
		ret->ttl_s = 1;
	ret->n_addrs = e->n_addrs;
	memcpy(ret->addrs, e->addrs, e->n_addrs * sizeof(e->addrs[0]));
	ret->aliases_len = e->aliases_len;
	memcpy(ret->aliases, aliases_of(e), e->aliases_len);
	*ret_status = e->status;
	return true;
}
