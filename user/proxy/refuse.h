/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Saying no in the client's own protocol: an HTTP response an agent can act on, a TLS alert, a
 * SOCKS5 reply, or RST; and the audit event that goes with it. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_REFUSE_H
#define NEJ_PROXY_REFUSE_H

#include "record.h"

/* HTTP status for a refusal (403, 400, 407, 421, 429, 500, 502, 503 or 504). */
uint16_t refuse_status(const struct refusal *why);
uint8_t refuse_alert(enum nej_reason reason); /* TLS alert description, RFC 8446 section 6 */

/* The whole response. */
struct refuse_shape {
	bool is_close; /* the connection ends with it */
	bool is_head;  /* the request was HEAD: no body */
};
void refuse_print(const struct policy *policy, const struct ask *ask, const struct refusal *why,
	const struct refuse_shape *shape, struct buf *out);

/* Ends a connection that is being set up: answers by ask->app and the set-up's kind, records.
 * Returns a value for conn_end. */
int refuse_connection(struct conn *c, const struct ask *ask, const struct refusal *why);

#endif
