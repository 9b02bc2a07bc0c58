/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints an HTTP/1 head for the next hop: Host and framing from what was parsed and decided, fields
 * of one hop left out, everything else as it came. Source: RFC 9110 section 7.6.
 */
#ifndef NEJ_WIRE_HOP_H
#define NEJ_WIRE_HOP_H

#include "host.h"
#include "http1.h"

/* `name`, `1.2.3.4` or `[::1]`, with `:port` unless port is default_port. */
void hop_print_authority(
	const struct host *host, uint16_t port, uint16_t default_port, struct buf *out);

/* default_port: of the scheme, which Host leaves out. path: what stands in the request line, never
 * empty. */
void hop_print_request(const struct http1_head *h, const struct host *host, uint16_t port,
	uint16_t default_port, struct http1_text path, struct buf *out);

struct hop_reply {
	bool is_old;   /* the client speaks HTTP/1.0: no chunks */
	bool is_close; /* the client's connection ends with this response */
};

void hop_print_response(const struct http1_head *h, const struct hop_reply *how, struct buf *out);

#endif
