/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request whose body must be seen before anything of it goes up: kept whole, within a bound.
 * Internal to user/proxy; between request.c and filter.c.
 */
#ifndef NEJ_PROXY_COLLECT_H
#define NEJ_PROXY_COLLECT_H

#include "conn.h"

/* The head came, c->http->filter wants its body. raw: the head's text, copied. Returns a value for
 * conn_end. */
int collect_begin(struct conn *c, const struct http1_head *head, const char *raw, size_t raw_len);

/* Bytes of the body. How many were used, or a negative value for conn_end; request_collected is
 * called behind the last. */
ssize_t collect_feed(struct conn *c, const char *data, size_t len_bytes);

#endif
