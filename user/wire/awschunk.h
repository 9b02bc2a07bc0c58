/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The aws-chunked body of a signed upload: `SIZE;chunk-signature=HEX`, the bytes, and so on, an
 * empty chunk at the end, then signed trailers. Gathers one chunk at a time, since its signature
 * stands before it. Pure. Source: Amazon S3 API reference, chunked uploads.
 */
#ifndef NEJ_WIRE_AWSCHUNK_H
#define NEJ_WIRE_AWSCHUNK_H

#include "../base/buf.h"
#include "sigv4.h"

#define AWSCHUNK_MAX_BYTES (1u << 20) /* of one chunk; clients send 64 or 128 KiB */

enum awschunk_state {
	AWSCHUNK_LINE,
	AWSCHUNK_DATA,
	AWSCHUNK_WHOLE,    /* held is one chunk */
	AWSCHUNK_TRAILERS, /* held is what came of them */
	AWSCHUNK_END,
};

struct awschunk {
	enum awschunk_state state;
	bool has_trailers;
	struct buf held;
	size_t data_at, data_len; /* in held, once the line is read */
	size_t signature_at;      /* 64 digits */
};

void awschunk_init(struct awschunk *a, bool has_trailers);
void awschunk_done(struct awschunk *a);

/* Takes bytes up to the end of a chunk; *ret_used says how many. 1: a chunk stands in held, and
 * awschunk_next must follow; 0: more must come; -EBADMSG malformed; -E2BIG; -ENOMEM. */
int awschunk_feed(struct awschunk *a, const char *data, size_t len_bytes, size_t *ret_used);
/* Forgets the chunk in held. */
void awschunk_next(struct awschunk *a);

/* At the body's end. 0: it was complete; 1: trailers stand in held, canonical (what is signed of
 * them) is appended to out and signature_at set; -EBADMSG it was cut or malformed. */
int awschunk_finish(struct awschunk *a, struct buf *out);

#endif
