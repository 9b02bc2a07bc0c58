/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One HTTP/2 field list (RFC 9113 section 8) becomes the HTTP/1 text that request.c and response.c
 * read: checked field by field, pseudo fields into the first line and Host. Pure, knows no frames
 * and no HPACK. Read h2_list.h for the way back, proxy/mux.c for who feeds it.
 */
#ifndef NEJ_WIRE_H2_H
#define NEJ_WIRE_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/buf.h"

#define H2_MAX_FIELDS 120 /* leaves room for our own among HTTP1_MAX_FIELDS */
#define H2_KEY_BYTES 16   /* of randomness in a Sec-WebSocket-Key */

enum h2_kind {
	H2_REQUEST,
	H2_RESPONSE,
	H2_TRAILERS,
};

enum h2_pseudo {
	H2_METHOD,
	H2_SCHEME,
	H2_PATH,
	H2_AUTHORITY,
	H2_PROTOCOL, /* RFC 8441 */
	H2_STATUS,
	H2_N_PSEUDO,
};

/* How the body of a message is told apart from what follows. */
enum h2_framing {
	H2_NO_BODY,
	H2_LENGTH,  /* `length` bytes */
	H2_CHUNKED, /* any number; trailers may follow */
	H2_EOF,     /* until the sender's end */
	H2_RAW,     /* no message any more: a websocket's bytes */
};

struct h2_text {
	const char *ptr; /* not NUL-terminated */
	size_t len;
};

struct h2_span {
	uint32_t off, len;
	bool is_set;
};

/* A list being read. The owner may use it again and again; the memory stays. */
struct h2_fields {
	enum h2_kind kind;
	struct buf pseudo; /* values of pseudo fields and of Host, back to back */
	struct buf lines;  /* regular fields as HTTP/1 lines */
	struct buf cookie; /* all of them, joined (RFC 9113 section 8.2.3) */
	struct h2_span value[H2_N_PSEUDO], host;
	uint64_t length;
	size_t size_bytes; /* as RFC 9113 section 6.5.2 counts it */
	uint16_t n_fields;
	bool has_length, has_te, is_past_pseudo;
	const char *fault; /* why the list is refused; it stays so */
};

/* What the text that was printed says, for who frames the body. */
struct h2_shape {
	enum h2_framing framing;
	uint64_t length;
	uint16_t status; /* of a response */
	bool is_head, is_websocket;
};

void h2_fields_init(struct h2_fields *f);
void h2_fields_done(struct h2_fields *f);
void h2_fields_begin(struct h2_fields *f, enum h2_kind kind);

/* Takes one field as it was decoded. After the first one that is refused (`fault`) only
 * size_bytes is counted on. */
void h2_fields_add(struct h2_fields *f, struct h2_text name, struct h2_text value);

/* Appends the request's head in HTTP/1. is_end: no body follows. key: fresh randomness, used by an
 * extended CONNECT, which becomes GET with Upgrade. 0; -EBADMSG with `fault` set; -ENOMEM. */
int h2_print_request(struct h2_fields *f, bool is_end, const uint8_t key[H2_KEY_BYTES],
	struct buf *out, struct h2_shape *ret);

/* Likewise a response's. is_head: its request was HEAD. A status under 200 has the shape of no
 * body, and another head follows it. */
int h2_print_response(
	struct h2_fields *f, bool is_end, bool is_head, struct buf *out, struct h2_shape *ret);

/* Likewise trailers: lines only, without the blank one behind them. */
int h2_print_trailers(struct h2_fields *f, struct buf *out);

#endif
