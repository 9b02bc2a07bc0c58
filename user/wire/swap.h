/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces found texts (needle.h), in one piece or in a stream that is cut anywhere. What stands in
 * for a found text, and whether it may be there at all, its caller says.
 */
#ifndef NEJ_WIRE_SWAP_H
#define NEJ_WIRE_SWAP_H

#include "needle.h"
#include "sieve.h"

/* What a context escapes in a text put there. */
enum swap_context {
	SWAP_PLAIN,
	SWAP_URL,  /* percent-encoding, all but unreserved characters (RFC 3986 section 2.3) */
	SWAP_JSON, /* inside a JSON string */
};

void swap_print(enum swap_context context, const char *text, size_t len_bytes, struct buf *out);

/* In place of old as it was found (start, form), its substitute in the same form; masked where the
 * form cannot hold it. */
void swap_print_like(const struct needle_hit *hit, size_t old_len, const char *text,
	size_t len_bytes, struct buf *out);

struct swap_rule {
	const struct needles *needles;
	/* The shortest beginning of an occurrence that a stream keeps back at the end of a piece, so
	 * that it can still be replaced; 0: nothing is ever kept back. A shorter beginning is gone
	 * when the rest of its occurrence is replaced or refused. */
	size_t hold_bytes;
	/* Appends what stands in place of an occurrence to out. A negative errno ends it all. */
	int (*on_hit)(void *arg, const struct needle_hit *hit, struct buf *out);
	/* May be NULL: the body is over, what is found from now on stands in its trailers. */
	void (*on_trailers)(void *arg);
	void *arg;
};

/* A whole text. How many were replaced, or a negative errno of on_hit, or -ENOMEM. */
int swap_text(const struct swap_rule *rule, const char *text, size_t len_bytes, struct buf *out);

/* A stream. on_free (may be NULL) gets arg at the end. */
int swap_sieve_new(const struct swap_rule *rule, void (*on_free)(void *arg), struct sieve **ret);

#endif
