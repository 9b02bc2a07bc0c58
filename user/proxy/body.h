/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A body on its way from one side to the other: taken out of its framing, sieved where credentials
 * or tools are looked for, framed anew. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_BODY_H
#define NEJ_PROXY_BODY_H

#include "../wire/sieve.h"
#include "conn.h"

/* What is left of a body in one direction. */
struct body {
	enum http1_body kind;
	uint64_t left;
	struct http1_chunks chunks;
	struct sieve *sieve; /* owned; NULL: nothing is looked at */
	/* With a sieve: sent in chunks, since nobody knows its length. Else as long as it came, or to
	 * the connection's end. */
	bool is_rechunked;
	int error; /* the sieve's: the message is cut */
};

/* is_plain: no framing on the other side (an HTTP/1.0 client). */
void body_init(struct body *b, const struct http1_head *head, bool is_plain);
void body_done(struct body *b);

/* Takes the part of data that is body out of its framing and appends it to out. *ret_used bytes of
 * data. 1: the body is complete; 0; -EBADMSG. */
int body_read(
	struct body *b, const char *data, size_t len_bytes, struct buf *out, size_t *ret_used);

/* Sends the part of data that is body. *ret_used bytes of it. 1: the body is complete; negative: as
 * half_send, -EBADMSG, or what the sieve says. */
int body_move(struct conn *c, struct body *b, struct half *from, struct half *to, const char *data,
	size_t len_bytes, size_t *ret_used);

/* The connection ended, and the body with it: what the sieve kept back is sent. */
int body_end(struct conn *c, struct body *b, struct half *from, struct half *to);

#endif
