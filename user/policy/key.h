/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of the compiled host table: a name's bytes, or an address range as 18 bytes that no name
 * can be. Hashed label by label from the right, so that all suffixes of a name cost one pass.
 */
#ifndef NEJ_POLICY_KEY_H
#define NEJ_POLICY_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"

#define KEY_PREFIX_BYTES 18

static inline void key_of_prefix(const struct addr *a, uint8_t bits, char out[KEY_PREFIX_BYTES])
{
	out[0] = 0;
	memcpy(out + 1, a->b, sizeof(a->b));
	out[KEY_PREFIX_BYTES - 1] = (char)bits;
}

/*
 * A polynomial over the prime 2^61 - 1 at a secret point, so that nobody without the point can
 * choose colliding names: two names of n chunks collide with probability n / 2^61. A chunk is up to
 * seven bytes of one label, their number and whether the label ends with them.
 */
#define KEY_PRIME ((1ull << 61) - 1)

static inline uint64_t key_load(const char *p, size_t n)
{
	uint32_t low, high;
	uint64_t wide = 0;

	if (n >= 4) {
		memcpy(&low, p, 4);
		memcpy(&high, p + n - 4, 4);
		return low | (uint64_t)high << (8 * (n - 4));
	}
	for (size_t i = 0; i < n; i++)
		wide |= (uint64_t)(uint8_t)p[i] << (8 * i);
	return wide;
}

static inline uint64_t key_step(uint64_t hash, uint64_t chunk, uint64_t point)
{
	uint64_t sum = hash + chunk;
	unsigned __int128 product;

	product = (unsigned __int128)(sum >= KEY_PRIME ? sum - KEY_PRIME : sum) * point;
	sum = (uint64_t)(product & KEY_PRIME) + (uint64_t)(product >> 61);

	return sum >= KEY_PRIME ? sum - KEY_PRIME : sum;
}

/* Adds one label (of n > 0 bytes) to the hash of what stands to its right (0: nothing). */
static inline uint64_t key_add_label(uint64_t hash, const char *label, size_t n, uint64_t point)
{
	for (; n > 7; n -= 7, label += 7)
		hash = key_step(hash, key_load(label, 7) | 7ull << 56, point);
	return key_step(hash, key_load(label, n) | (uint64_t)n << 56 | 1ull << 59, point);
}

/* Hash of a whole name. */
static inline uint64_t key_hash_name(const char *name, size_t len, uint64_t point)
{
	uint64_t hash = 0;
	size_t end = len;

	for (size_t i = len; i-- > 0;) {
		if (name[i] != '.')
			continue;
		hash = key_add_label(hash, name + i + 1, end - i - 1, point);
		end = i;
	}
	return key_add_label(hash, name, end, point);
}

static inline uint64_t key_hash(const char *key, size_t len, uint64_t point)
{
	return len && !key[0] ? key_add_label(0, key, len, point) : key_hash_name(key, len, point);
}

/* Place among n slots, and a tag that is never 0. */
static inline uint32_t key_slot(uint64_t hash, uint32_t n_slots)
{
	return (uint32_t)(((hash >> 21 & 0xffffffff) * n_slots) >> 32);
}

static inline uint8_t key_tag(uint64_t hash)
{
	uint8_t tag = (uint8_t)hash;

	return tag ? tag : 1;
}

#endif
