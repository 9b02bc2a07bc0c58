/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client's side of CONNECT, RFC 9110 section 9.3.6: the request to a forward proxy, and its
 * answer. Pure. The server's side is proxy/explicit.c.
 */
#ifndef NEJ_WIRE_TUNNEL_H
#define NEJ_WIRE_TUNNEL_H

#include "host.h"
#include "http1.h"

#define TUNNEL_MAX_ANSWER_BYTES 16384 /* all heads of it */

/* Tells a gateway of nej for which name an address was found; other proxies ignore the field. */
#define TUNNEL_NAME_FIELD "X-Nej-Name"

struct tunnel_request {
	const struct host *to;   /* the request target: an address or a name */
	const struct host *name; /* what the address was found for; NULL: nothing */
	uint16_t port;
	const char *username, *password; /* NULL: none */
};

void tunnel_print(const struct tunnel_request *t, struct buf *out);

struct tunnel_answer {
	uint16_t status;          /* 2xx: what follows the head is the tunnel's */
	size_t head_bytes;        /* up to there it is the proxy's own */
	struct http1_text phrase; /* points into the data */
	struct http1_text reason; /* X-Nej-Reason: why a gateway of nej refused; len 0 without */
};

/* Looks at what came so far; heads of 1xx before the answer are passed over. head is scratch. 1
 * there it is; 0 more must come; -EBADMSG not an answer; -E2BIG too long. */
int tunnel_parse(
	const char *data, size_t len_bytes, struct http1_head *head, struct tunnel_answer *ret);

#endif
