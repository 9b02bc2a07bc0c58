/* SPDX-License-Identifier: GPL-2.0-only */
/* An intrusive chained hash table and SipHash-2-4 (Aumasson, Bernstein 2012); see htab.h. */
#include "htab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MIN_BUCKETS 16

void htab_init(struct htab *t)
{
	memset(t, 0, sizeof(*t));
}

void htab_done(struct htab *t)
{
	free(t->buckets);
	htab_init(t);
}

static int grow(struct htab *t)
{
	size_t n = t->n_buckets ? t->n_buckets * 2 : MIN_BUCKETS;
	struct htab_node **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_buckets; i++) {
		struct htab_node *node = t->buckets[i], *next;

		for (; node; node = next) {
			struct htab_node **slot = &buckets[node->hash & (n - 1)];

			next = node->next;
			node->next = *slot;
			*slot = node;
		}
	}
	free(t->buckets);
	t->buckets = buckets;
	t->n_buckets = n;
	return 0;
}

int htab_add(struct htab *t, struct htab_node *n, uint64_t hash)
{
	struct htab_node **slot;

	if (t->n_nodes >= t->n_buckets && grow(t) < 0 && !t->n_buckets)
		return -ENOMEM;
	n->hash = hash;
	slot = &t->buckets[hash & (t->n_buckets - 1)];
	n->next = *slot;
	*slot = n;
	t->n_nodes++;
	return 0;
}

void htab_del(struct htab *t, struct htab_node *n)
{
	struct htab_node **at = &t->buckets[n->hash & (t->n_buckets - 1)];

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	t->n_nodes--;
}

struct htab_node *htab_find(const struct htab *t, uint64_t hash)
{
	struct htab_node *n;

	if (!t->n_buckets)
		return NULL;
	n = t->buckets[hash & (t->n_buckets - 1)];
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct htab_node *htab_next(const struct htab_node *n)
{
	uint64_t hash = n->hash;
	struct htab_node *next = n->next;

	while (next && next->hash != hash)
		next = next->next;
	return next;
}

static uint64_t rotl(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

uint64_t hash_bytes_keyed(const uint64_t key[static 2], const void *data, size_t len_bytes)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
	const unsigned char *p = data;
	uint64_t m, last = (uint64_t)len_bytes << 56;
	size_t rest = len_bytes & 7;

	for (; len_bytes >= 8; len_bytes -= 8, p += 8) {
		memcpy(&m, p, 8);
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
	}
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t process_key[2];

/* Before main, so that threads find it and a locked-in worker need not ask the kernel. */
__attribute__((constructor)) static void draw_key(void)
{
	if (getrandom(process_key, sizeof(process_key), 0) != sizeof(process_key))
		abort();
}

uint64_t hash_bytes(const void *data, size_t len_bytes)
{
	return hash_bytes_keyed(process_key, data, len_bytes);
}
