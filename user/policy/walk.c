/* SPDX-License-Identifier: GPL-2.0-only */
/* Gathers what names a host, and merges it in the policy's order; see walk.h. */
#include "walk.h"

#include "../base/clock.h"

static void add_cursor(struct walk *w, const uint32_t *at, size_t n, bool is_whole)
{
	if (n && w->n < WALK_MAX)
		w->cursors[w->n++] = (struct walk_cursor){at, at + n, is_whole};
}

static void add_node(struct walk *w, uint32_t index, bool is_whole)
{
	const struct image_node *node;

	if (index >= w->policy->n_nodes)
		return;
	node = &w->policy->nodes[index];
	add_cursor(w, w->policy->refs + node->first, node->n, is_whole);
}

/* Which lists the record at this place belongs to; each counts once for a host. */
static void add_lists(struct walk *w, uint32_t at, bool is_whole)
{
	for (size_t i = 0; i < w->policy->n_lists; i++) {
		const struct image_list *list = &w->policy->lists[i];
		uint64_t bit = 1ull << (i % 64);

		if (at < list->at || at >= list->end || w->lists_seen[i / 64] & bit)
			continue;
		w->lists_seen[i / 64] |= bit;
		add_cursor(w, &list->target, 1, is_whole);
	}
}

static void add_key(struct walk *w, const char *key, size_t len, uint64_t hash, bool is_whole)
{
	const struct table *t = &w->policy->table;
	struct table_probe probe = table_begin(t, hash);
	uint32_t at, node;

	while (table_next(t, &probe, key, len, &at)) {
		if (at > t->lists_at) {
			add_lists(w, at - 1, is_whole);
		} else if (t->lists_at - at >= sizeof(node)) {
			memcpy(&node, t->names + at, sizeof(node));
			add_node(w, node, is_whole);
		}
	}
}

static void begin(const struct policy *p, struct walk *w)
{
	w->policy = p;
	w->n = w->n_granted = 0;
	w->has_secret = false;
	memset(w->lists_seen, 0, sizeof(w->lists_seen));
}

static bool covers(const struct image_target *t, bool is_whole)
{
	return is_whole ? t->kind != PATTERN_UNDER : t->kind != PATTERN_NAME;
}

/* The targets of secrets stand behind all others. found (may be NULL): a bit a secret. */
static void find_secrets(struct walk *w, uint64_t *found)
{
	for (size_t i = w->n_granted; i < w->n; i++) {
		const struct walk_cursor *c = &w->cursors[i];

		for (const uint32_t *at = c->end; at > c->at; at--) {
			const struct image_target *t = &w->policy->targets[at[-1]];

			if (!(t->flags & IMAGE_SECRET))
				break;
			if (!covers(t, c->is_whole))
				continue;
			w->has_secret = true;
			if (!found)
				break;
			found[t->secret / 64] |= 1ull << (t->secret % 64);
		}
	}
}

#define MAX_SUFFIXES 128

struct suffix {
	uint64_t hash;
	size_t at; /* in the name */
};

static struct suffix hash_suffix(
	const struct table *t, uint64_t right, const char *name, size_t at, size_t end)
{
	struct suffix s = {key_add_label(right, name + at, end - at, t->point), at};
	uint32_t slot = key_slot(s.hash, t->n_slots);

	__builtin_prefetch(&t->tags[slot]);
	__builtin_prefetch(&t->slots[slot]);
	return s;
}

/* From the right, so that the hash of each suffix is a step of the whole name's. The table is far
 * bigger than any cache: the slots of all are on their way before the first is looked at. */
static size_t hash_suffixes(
	const struct table *t, const char *name, size_t len, struct suffix out[static MAX_SUFFIXES])
{
	size_t n = 0, end = len;

	for (size_t i = len; i-- > 0 && n + 1 < MAX_SUFFIXES;) {
		if (name[i] != '.')
			continue;
		out[n] = hash_suffix(t, n ? out[n - 1].hash : 0, name, i + 1, end);
		n++;
		end = i;
	}
	out[n] = hash_suffix(t, n ? out[n - 1].hash : 0, name, 0, end);
	return n + 1;
}

static void add_suffixes(struct walk *w, const char *name, size_t len)
{
	struct suffix suffixes[MAX_SUFFIXES];
	size_t n = hash_suffixes(&w->policy->table, name, len, suffixes);

	for (size_t i = 0; i < n; i++)
		add_key(w, name + suffixes[i].at, len - suffixes[i].at, suffixes[i].hash,
			!suffixes[i].at);
}

static void add_ranges(struct walk *w, const struct addr *a)
{
	const struct image_header *h = w->policy->header;
	char key[KEY_PREFIX_BYTES];
	bool has_single = memchr(h->prefix_bits, 128, h->n_prefix_bits) || w->policy->n_lists;

	for (size_t i = 0; i < h->n_prefix_bits + (size_t)has_single; i++) {
		uint8_t bits = i < h->n_prefix_bits ? h->prefix_bits[i] : 128;
		struct addr net = *a;

		if (bits == 128 && i < h->n_prefix_bits)
			continue;
		for (unsigned int b = bits / 8u; b < sizeof(net.b); b++)
			net.b[b] &= b == bits / 8u ? (uint8_t) ~(0xffu >> bits % 8) : 0;
		key_of_prefix(&net, bits, key);
		add_key(w, key, sizeof(key), key_hash(key, sizeof(key), h->point), true);
	}
}

/* What adds the cursors of a policy adds first those of the grants that lie over it. */
static void add_granted(
	struct walk *w, void (*add)(struct walk *w, const void *arg), const void *arg)
{
	const struct policy *p = w->policy;

	if (!p->overlay)
		return;
	w->policy = p->overlay;
	add(w, arg);
	w->policy = p;
	w->n_granted = w->n;
	if (w->n_granted)
		w->now_ns = clock_boot_ns();
}

static void add_addr(struct walk *w, const void *addr)
{
	add_ranges(w, addr);
}

void walk_addr(const struct policy *p, const struct addr *a, struct walk *ret)
{
	begin(p, ret);
	add_granted(ret, add_addr, a);
	add_ranges(ret, a);
}

static void add_name(struct walk *w, const void *arg)
{
	const struct host *name = arg;

	add_node(w, 0, true);
	add_suffixes(w, name->name, name->len);
}

void walk_host(const struct policy *p, const struct host *host, struct walk *ret)
{
	if (host->kind == HOST_ADDR) {
		walk_addr(p, &host->addr, ret);
		return;
	}
	begin(p, ret);
	add_granted(ret, add_name, host);
	add_name(ret, host);
	find_secrets(ret, NULL);
}

void walk_secrets(const struct policy *p, const struct host *name,
	uint64_t found[static POLICY_MAX_SECRETS / 64])
{
	struct walk w;

	begin(p, &w);
	add_suffixes(&w, name->name, name->len);
	find_secrets(&w, found);
}

/* Of the cursors from one to before another, which are of this policy. */
static const struct image_target *next_among(
	struct walk *w, size_t from, size_t end, const struct policy *p)
{
	for (;;) {
		struct walk_cursor *first = NULL;
		const struct image_target *t;

		for (size_t i = from; i < end; i++) {
			struct walk_cursor *c = &w->cursors[i];

			if (c->at < c->end && (!first || *c->at < *first->at))
				first = c;
		}
		if (!first)
			return NULL;
		t = &p->targets[*first->at++];
		if (!(t->flags & IMAGE_SECRET) && covers(t, first->is_whole))
			return t;
	}
}

const struct image_target *walk_next(struct walk *w)
{
	const struct policy *grants = w->policy->overlay;
	const struct image_target *t;

	while (w->n_granted && (t = next_among(w, 0, w->n_granted, grants)))
		if (grants->rules[t->rule].expiry_ns > w->now_ns)
			return t;
	return next_among(w, w->n_granted, w->n, w->policy);
}
