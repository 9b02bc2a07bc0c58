/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The canonical request: what an AWS Signature Version 4 covers, as one text. Signers do not agree
 * on every path and query, so there are several readings; the one that fits a signature made with
 * one key is the one to use with another. Source: see sigv4.h.
 */
#ifndef NEJ_WIRE_CANONICAL_H
#define NEJ_WIRE_CANONICAL_H

#include "sigv4.h"

struct canonical_request {
	struct http1_text method, path, host; /* path: with its query */
	const struct http1_head *head;
	const char *payload; /* what stands for the body */
	/* As the next hop gets it: without fields of one hop, the length as a plain number. */
	bool is_up;
};

enum canonical_path {
	CANONICAL_AS_SENT,
	CANONICAL_ENCODED,    /* decoded, then encoded once: S3 */
	CANONICAL_TWICE,      /* as sent, encoded once more */
	CANONICAL_NORMALISED, /* the same, dot segments and empty ones resolved first */
};

struct canonical_reading {
	uint8_t path; /* enum canonical_path */
	bool is_query_as_sent;
};

/* The readings to try, the likeliest first; false behind the last. */
bool canonical_reading(bool is_s3, size_t i, struct canonical_reading *ret);

/* Appends the canonical request of the fields s names. 0, or -ENOMEM. */
int canonical_print(const struct sigv4 *s, const struct canonical_request *c,
	struct canonical_reading reading, struct buf *out);

/* Takes the names of fields that do not go any further out of s->names. */
void canonical_drop_hop_names(const struct http1_head *h, struct sigv4 *s);

#endif
