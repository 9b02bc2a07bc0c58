/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A dial's way through a forward proxy: what is asked of it, and its answer. The addresses of both
 * and the sockets are dial.c's. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_UPSTREAM_H
#define NEJ_PROXY_UPSTREAM_H

#include "conn.h"
#include "record.h"

struct upstream;

/* What the dialler wants to know in the end. */
struct upstream_told {
	int fd;                    /* the tunnel's socket, unwatched; -1 */
	struct session *tls;       /* with the proxy, under the tunnel; NULL: plain */
	const struct refusal *why; /* why there is none */
	bool is_next;              /* the proxy could not reach that address, another is left */
};

struct upstream_owner {
	void (*on_told)(struct upstream_owner *owner, const struct upstream_told *told);
};

/* The way of a connection that a rule allows; *ret NULL: it goes straight. Copies what it needs.
 * 0 or -ENOMEM. */
int upstream_new(struct conn *c, uint32_t rule, const struct host *host, uint16_t port,
	struct upstream_owner *owner, struct upstream **ret);
void upstream_free(struct upstream *u);

/* Where the proxy is. */
const struct host *upstream_host(const struct upstream *u);
uint16_t upstream_port(const struct upstream *u);
/* The proxy is asked for the name itself: no address of it need be known here. */
bool upstream_is_by_name(const struct upstream *u);
/* The checked addresses of the host, one of which is asked for. */
void upstream_set_targets(struct upstream *u, const struct addr *addrs, size_t n);

/* Asks over a socket just connected, which is taken over. 0: on_told comes, or -errno. */
int upstream_ask(struct upstream *u, int fd);
bool upstream_is_asking(const struct upstream *u);

/* The refusal's detail for a failure on the way to the proxy. In proxy->note. */
const char *upstream_note(const struct upstream *u, const char *what);

/* Does the server's half already go the way this rule asks for? */
bool upstream_is_way_of(const struct conn *c, uint32_t rule);
/* The dialler has connected it. NULL: straight. */
void upstream_mark(struct conn *c, const struct upstream *u);

/* The same as one number, 0 straight: of a rule, and of the server's half. A number of an earlier
 * policy equals none of the present one. */
uint64_t upstream_route_of(const struct conn *c, uint32_t rule);
uint64_t upstream_route(const struct conn *c);
void upstream_set_route(struct conn *c, uint64_t route);

#endif
