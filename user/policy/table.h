/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host table of a compiled policy: open addressing with one tag byte and one offset a slot, the
 * offset leading to the name itself, which is compared whole. Explicit names carry the number of a
 * node (rules that name them); names of lists are known by the stretch they lie in.
 */
#ifndef NEJ_POLICY_TABLE_H
#define NEJ_POLICY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "key.h"

struct table {
	const uint8_t *tags;
	const uint32_t *slots; /* offsets of records in names */
	uint32_t n_slots;
	const char *names; /* records: length byte, key, and before lists_at a node number */
	uint32_t names_len;
	uint32_t lists_at; /* where the lists' stretches begin */
	uint64_t point;    /* key.h */
};

struct table_builder {
	uint8_t *tags; /* malloc'd */
	uint32_t *slots;
	uint32_t n_slots;
	uint32_t n_used;
};

/* For n records, with room to spare. 0 or -ENOMEM. */
int table_init(struct table_builder *t, size_t n_records);
void table_done(struct table_builder *t);

/* Enters the records from `from` to `end`, each followed by tail bytes. An equal record of the same
 * stretch is passed over. */
void table_add(struct table_builder *t, const char *names, uint32_t from, uint32_t end, size_t tail,
	uint64_t point);

/* Walks the records equal to a key. Start with the key's slot; false at the end. */
struct table_probe {
	uint32_t slot, n_left;
	uint8_t tag;
};

static inline struct table_probe table_begin(const struct table *t, uint64_t hash)
{
	return (struct table_probe){key_slot(hash, t->n_slots), t->n_slots, key_tag(hash)};
}

/* *ret_at is where the key's bytes end in names. Every access is checked against names_len: an
 * image comes from another process. */
static inline bool table_next(
	const struct table *t, struct table_probe *p, const char *key, size_t len, uint32_t *ret_at)
{
	for (; p->n_left; p->n_left--) {
		uint32_t slot = p->slot, at;

		if (!t->tags[slot])
			return false;
		p->slot = slot + 1 == t->n_slots ? 0 : slot + 1;
		at = t->slots[slot];
		if (t->tags[slot] != p->tag || at >= t->names_len || t->names_len - at <= len)
			continue;
		if ((uint8_t)t->names[at] != len || memcmp(t->names + at + 1, key, len) != 0)
			continue;
		p->n_left--;
		*ret_at = at + 1 + (uint32_t)len;
		return true;
	}
	return false;
}

#endif
