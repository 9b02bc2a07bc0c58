/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads HTTP/1 message heads and chunked bodies, strictly: what two readers could understand
 * differently is an error. Pure, no I/O. Field lists point into the caller's bytes. The only user of
 * llhttp. Read hop.h next for what is sent on.
 */
#ifndef NEJ_WIRE_HTTP1_H
#define NEJ_WIRE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/buf.h"

#define HTTP1_MAX_FIELDS 128
#define HTTP1_MAX_TRAILER_BYTES 16384

struct http1_text {
	const char *ptr; /* not NUL-terminated */
	size_t len;
};

/* Fields this proxy must know. X(id, name in lower case, belongs to one hop only) */
#define HTTP1_NAMES(X)                                                                             \
	X(HOST, "host", false)                                                                     \
	X(CONTENT_LENGTH, "content-length", false)                                                 \
	X(TRANSFER_ENCODING, "transfer-encoding", true)                                            \
	X(CONNECTION, "connection", true)                                                          \
	X(KEEP_ALIVE, "keep-alive", true)                                                          \
	X(PROXY_CONNECTION, "proxy-connection", true)                                              \
	X(PROXY_AUTHORIZATION, "proxy-authorization", true)                                        \
	X(PROXY_AUTHENTICATE, "proxy-authenticate", true)                                          \
	X(TE, "te", true)                                                                          \
	X(UPGRADE, "upgrade", true)                                                                \
	X(HTTP2_SETTINGS, "http2-settings", true)                                                  \
	X(TRAILER, "trailer", false)                                                               \
	X(EXPECT, "expect", false)                                                                 \
	X(ACCEPT, "accept", false)

enum http1_name {
	HTTP1_NAME_OTHER,
#define X(id, name, is_hop) HTTP1_NAME_##id,
	HTTP1_NAMES(X)
#undef X
};

struct http1_field {
	struct http1_text name, value; /* value without surrounding blanks */
	enum http1_name id;
	bool is_hop; /* not for the next hop: by its kind, or named in Connection */
};

enum http1_body {
	HTTP1_BODY_NONE,
	HTTP1_BODY_LENGTH, /* `length` bytes */
	HTTP1_BODY_CHUNKED,
	HTTP1_BODY_EOF, /* a response that ends with its connection */
};

struct http1_head {
	uint8_t minor; /* HTTP/1.0 or HTTP/1.1 */
	enum http1_body body;
	uint64_t length;
	bool has_length;    /* Content-Length stands there, 0 and where no body follows too */
	bool is_keep_alive; /* by version, Connection and body */
	bool is_websocket;  /* request: asks for the upgrade; response: 101 that grants it */
	bool has_te_trailers;
	bool has_expect;                  /* Expect: 100-continue */
	bool wants_json;                  /* Accept names application/json */
	struct http1_text method, target; /* request */
	uint16_t status;                  /* response */
	struct http1_text phrase;
	struct http1_text host; /* ptr NULL: no Host field */
	size_t n_fields;
	struct http1_field fields[HTTP1_MAX_FIELDS];
};

/* Length of the head at the front of data, its blank line included; 0 while that is not there. */
size_t http1_head_end(const char *data, size_t len_bytes);

/* Parses one whole head. 0; -EBADMSG malformed or ambiguous (RFC 9112 sections 2.2, 5, 6);
 * -E2BIG too many fields; -EPROTONOSUPPORT not HTTP/1.0 or 1.1. ret is scratch on failure. */
int http1_parse_request(const char *data, size_t len_bytes, struct http1_head *ret);
/* is_head: the request was HEAD, so no body follows whatever the fields say. */
int http1_parse_response(const char *data, size_t len_bytes, bool is_head, struct http1_head *ret);

/* A chunked body, read from one side and framed anew for the other. */
struct http1_chunks {
	uint64_t state[16]; /* llhttp's parser */
	struct buf trailers;
	struct buf *out;
	size_t line;         /* where the trailer line being read begins */
	uint64_t body_bytes; /* without framing, so far */
	bool is_primed, is_value, is_bad, is_done;
	bool is_plain; /* no framing on the other side (an HTTP/1.0 client): body bytes only */
};

void http1_chunks_init(struct http1_chunks *c, bool is_plain);
void http1_chunks_done(struct http1_chunks *c);
/* Appends to out what goes on. *ret_used: bytes that belonged to the body. 1 at the body's end, 0
 * when more must come, -EBADMSG. */
int http1_chunks_feed(struct http1_chunks *c, const char *data, size_t len_bytes, struct buf *out,
	size_t *ret_used);

/* The message goes on with another body than it came with. */
void http1_set_body(struct http1_head *h, enum http1_body body, uint64_t length);

bool http1_text_is(struct http1_text t, const char *lower); /* case-blind */

#endif
