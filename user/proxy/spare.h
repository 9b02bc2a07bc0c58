/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections to origins that wait for the next request. One that answered stays with its client
 * but may be taken by another request to the same origin; when the client goes it is nobody's, and
 * kept for a while. Shared only where host, port, TLS, route and credentials are all the same, and
 * never between threads. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_SPARE_H
#define NEJ_PROXY_SPARE_H

#include "conn.h"

/* Where a request goes. All of it must agree for a connection to be shared. */
struct origin {
	struct host host;
	uint16_t port;
	bool is_tls;
	bool is_host_port;
	uint64_t route;    /* by which forward proxy, see upstream.h; 0: straight */
	uint64_t identity; /* the credentials nej put in; 0: none */
};

bool origin_equal(const struct origin *a, const struct origin *b);

struct spare {
	struct spare *older, *newer;
	struct proxy *proxy;
	struct conn *conn; /* whose server it is; NULL: nobody's, then half is the connection */
	struct half half;
	struct origin origin;
	uint64_t since_ms;
	bool is_listed;
};

/* c's server has answered, and its connection goes on: others may take it. */
void spare_offer(struct conn *c, struct spare *s);
/* It is c's alone again, or gone. */
void spare_withdraw(struct spare *s);
/* c ends: a connection on offer becomes nobody's. */
void spare_keep(struct spare *s);
/* Sets c->server to a connection to the origin. False: there is none. */
bool spare_take(struct conn *c, const struct origin *want);
/* Closes the oldest: descriptors ran out. False: there is none. */
bool spare_drop_oldest(struct proxy *p);
void spare_done(struct proxy *p);

#endif
