/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A body's transformation on its way: bytes in, bytes out, in any pieces. What a sieve keeps back it
 * gives with a later piece or at the end. Header only; swap.c, scrub.c and inflate.c make them.
 */
#ifndef NEJ_WIRE_SIEVE_H
#define NEJ_WIRE_SIEVE_H

#include <errno.h>
#include <stddef.h>

#include "../base/buf.h"

struct sieve {
	/* Appends to out. 0; a negative errno cuts the message, nothing in out may be sent then. */
	int (*feed)(struct sieve *s, const char *data, size_t len_bytes, struct buf *out);
	int (*finish)(struct sieve *s, struct buf *out); /* at the body's end, once */
	/* Behind the end, the trailer lines (each with its CRLF): appends what becomes of them. NULL:
	 * they are none of its business. */
	int (*trailers)(struct sieve *s, const char *lines, size_t len_bytes, struct buf *out);
	void (*free)(struct sieve *s); /* without the next one */
	struct sieve *next;            /* applied after this one; owned */
};

/* The whole chain; NULL passes everything as it is. */
static inline int sieve_feed(struct sieve *s, const char *data, size_t len_bytes, struct buf *out)
{
	struct buf mine = {0};
	int r;

	if (!s) {
		buf_add(out, data, len_bytes);
		return out->is_failed ? -ENOMEM : 0;
	}
	if (!s->next)
		return s->feed(s, data, len_bytes, out);
	r = s->feed(s, data, len_bytes, &mine);
	if (r == 0 && mine.len)
		r = sieve_feed(s->next, mine.data, mine.len, out);
	buf_wipe(&mine);
	return r;
}

static inline int sieve_finish(struct sieve *s, struct buf *out)
{
	struct buf mine = {0};
	int r;

	if (!s)
		return 0;
	r = s->finish(s, s->next ? &mine : out);
	if (r == 0 && mine.len)
		r = sieve_feed(s->next, mine.data, mine.len, out);
	buf_wipe(&mine);
	return r < 0 ? r : sieve_finish(s->next, out);
}

/* Trailer lines through those of the chain that look at them. Where none does, none pass. */
static inline int sieve_trailers(
	struct sieve *s, const char *lines, size_t len_bytes, struct buf *out)
{
	struct buf mine = {0};
	int r;

	while (s && !s->trailers)
		s = s->next;
	if (!s || !len_bytes)
		return 0;
	r = s->trailers(s, lines, len_bytes, &mine);
	for (s = s->next; r == 0 && s; s = s->next) {
		struct buf more = {0};

		if (!s->trailers)
			continue;
		r = s->trailers(s, mine.data, mine.len, &more);
		buf_wipe(&mine);
		mine = more;
	}
	buf_add(out, mine.data, r == 0 ? mine.len : 0);
	buf_wipe(&mine);
	return r;
}

static inline void sieve_free(struct sieve *s)
{
	while (s) {
		struct sieve *next = s->next;

		s->free(s);
		s = next;
	}
}

#endif
