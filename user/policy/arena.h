/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of one policy while it is read: taken piece by piece, given back at once. */
#ifndef NEJ_POLICY_ARENA_H
#define NEJ_POLICY_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	bool is_failed; /* an allocation failed; checked once at the end */
};

void arena_init(struct arena *a);
void arena_done(struct arena *a);

/* Zeroed and aligned for any object. NULL (and is_failed) without memory. */
void *arena_alloc(struct arena *a, size_t bytes);
/* A copy with a NUL behind. */
char *arena_copy(struct arena *a, const char *s, size_t len_bytes);

#endif
