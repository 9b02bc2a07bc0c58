/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds the host table; see table.h. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>

/* Records in flight between hashing and entering, so that the slots' cache misses overlap. */
#define IN_FLIGHT 16

struct pending {
	uint32_t at;
	uint32_t slot;
	uint8_t tag;
};

int table_init(struct table_builder *t, size_t n_records)
{
	size_t n = n_records + n_records / 2 + n_records / 4 + 8;

	*t = (struct table_builder){0};
	if (n > UINT32_MAX)
		return -ENOMEM;
	t->tags = calloc(n, sizeof(*t->tags));
	t->slots = calloc(n, sizeof(*t->slots));
	t->n_slots = (uint32_t)n;
	return t->tags && t->slots ? 0 : -ENOMEM;
}

void table_done(struct table_builder *t)
{
	free(t->tags);
	free(t->slots);
	*t = (struct table_builder){0};
}

static bool is_same(const char *names, uint32_t a, uint32_t b)
{
	return names[a] == names[b] && !memcmp(names + a + 1, names + b + 1, (uint8_t)names[a]);
}

/* from: where the stretch begins; only its own records count as repeats. */
static void enter(struct table_builder *t, const char *names, uint32_t from, struct pending p)
{
	while (t->tags[p.slot]) {
		uint32_t other = t->slots[p.slot];

		if (t->tags[p.slot] == p.tag && other >= from && is_same(names, other, p.at))
			return;
		p.slot = p.slot + 1 == t->n_slots ? 0 : p.slot + 1;
	}
	t->tags[p.slot] = p.tag;
	t->slots[p.slot] = p.at;
	t->n_used++;
}

void table_add(struct table_builder *t, const char *names, uint32_t from, uint32_t end, size_t tail,
	uint64_t point)
{
	struct pending ring[IN_FLIGHT];
	size_t n_in = 0, n_out = 0;

	for (uint32_t at = from; at < end || n_out < n_in;) {
		if (at >= end || n_in - n_out == IN_FLIGHT) {
			enter(t, names, from, ring[n_out++ % IN_FLIGHT]);
			continue;
		}
		size_t len = (uint8_t)names[at];
		uint64_t hash = key_hash(names + at + 1, len, point);
		struct pending p = {at, key_slot(hash, t->n_slots), key_tag(hash)};

		__builtin_prefetch(&t->tags[p.slot], 1);
		__builtin_prefetch(&t->slots[p.slot], 1);
		ring[n_in++ % IN_FLIGHT] = p;
		at += (uint32_t)(1 + len + tail);
	}
}
