/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive chained hash table. Hashes of outside data are keyed (SipHash-2-4 with a key drawn
 * at start), so that nobody can choose collisions.
 */
#ifndef NEJ_BASE_HTAB_H
#define NEJ_BASE_HTAB_H

#include <stddef.h>
#include <stdint.h>

struct htab_node {
	struct htab_node *next;
	uint64_t hash;
};

struct htab {
	struct htab_node **buckets; /* NULL until the first add */
	size_t n_buckets;           /* power of two */
	size_t n_nodes;
};

void htab_init(struct htab *t);
void htab_done(struct htab *t); /* frees the buckets, not the nodes */
int htab_add(
	struct htab *t, struct htab_node *n, uint64_t hash); /* 0 or -ENOMEM; duplicates allowed */
void htab_del(struct htab *t, struct htab_node *n);
/* First node with this hash; continue with htab_next. NULL at the end. */
struct htab_node *htab_find(const struct htab *t, uint64_t hash);
struct htab_node *htab_next(const struct htab_node *n);

/* Every node; the current one may be deleted inside. */
#define htab_for_each(t, node, tmp)                                                                \
	for (size_t i_##node = 0; i_##node < (t)->n_buckets; i_##node++)                           \
		for ((node) = (t)->buckets[i_##node]; (node) && ((tmp) = (node)->next, 1);         \
			(node) = (tmp))

/* Keyed by a random key of this process. */
uint64_t hash_bytes(const void *data, size_t len_bytes);
uint64_t hash_bytes_keyed(const uint64_t key[static 2], const void *data, size_t len_bytes);

#endif
