/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunks of memory, freed together; see arena.h. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536
#define ALIGN sizeof(max_align_t)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	max_align_t data[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena){0};
}

void arena_done(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
}

static struct arena_chunk *add_chunk(struct arena *a, size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct arena_chunk *c = calloc(1, sizeof(*c) + size);

	if (!c)
		return NULL;
	c->size = size;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	struct arena_chunk *c = a->chunks;
	void *p;

	if (bytes > PTRDIFF_MAX - ALIGN) {
		a->is_failed = true;
		return NULL;
	}
	bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->size - c->used < bytes)
		c = add_chunk(a, bytes);
	if (!c) {
		a->is_failed = true;
		return NULL;
	}
	p = (char *)c->data + c->used;
	c->used += bytes;
	return p;
}

char *arena_copy(struct arena *a, const char *s, size_t len_bytes)
{
	char *copy = arena_alloc(a, len_bytes + 1);

	if (copy && len_bytes)
		memcpy(copy, s, len_bytes);
	return copy;
}
