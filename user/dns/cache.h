/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers of the resolver kept by name until they expire, each only as large as it is; when full
 * the oldest goes. Not shared between threads. The only user is resolve.c.
 */
#ifndef NEJ_DNS_CACHE_H
#define NEJ_DNS_CACHE_H

#include "resolve.h"

struct cache;

#define CACHE_FOREVER UINT64_MAX

int cache_new(size_t max_names, struct cache **ret);
void cache_free(struct cache *c);

/* Replaces what is known of the name. A lack of memory only forgets. */
void cache_put(struct cache *c, const struct host *name, int status,
	const struct resolve_answer *answer, uint64_t expiry_ms);

/* False: not known, or expired. ret's TTL is what is left of it, at least a second. */
bool cache_get(struct cache *c, const struct host *name, uint64_t now_ms, int *ret_status,
	struct resolve_answer *ret);
bool cache_has(struct cache *c, const struct host *name, uint64_t now_ms);

#endif
