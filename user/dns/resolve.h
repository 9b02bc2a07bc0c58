/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolution outside the sandbox, by c-ares on the worker's loop, with a cache. Used by the stub
 * (`dns: resolve` and the other record types) and by the proxy's dialler: one lookup a dial, never
 * a second one.
 */
#ifndef NEJ_DNS_RESOLVE_H
#define NEJ_DNS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"
#include "../base/loop.h"
#include "../wire/host.h"

struct resolve;

#define RESOLVE_MAX_ADDRS 64

struct resolve_answer {
	struct addr addrs[RESOLVE_MAX_ADDRS];
	size_t n_addrs;     /* both families, IPv6 first, each in the server's order */
	uint32_t ttl_s;     /* smallest, capped */
	char aliases[1024]; /* the names a chain of CNAMEs led over, each NUL-terminated */
	size_t aliases_len;
};

/* A request in flight, embedded in its owner; cancel before the owner goes. */
struct resolve_request {
	/* status: 0, -ENOENT (no such name), -ENODATA (the name has no address), -ETIMEDOUT, -EIO.
	 * answer is valid for the call. May be called before resolve_addrs returns (cache). */
	void (*on_answer)(
		struct resolve_request *req, int status, const struct resolve_answer *answer);
	struct resolve_request *next; /* of those waiting for the same name */
	void *query;                  /* NULL: not in flight */
};

/* servers: where to ask (n_servers 0: none is reachable, everything fails at once). Reads
 * /etc/hosts of the host once, before the worker locks itself in: its names resolve too. */
int resolve_new(
	struct loop *loop, const struct endpoint *servers, size_t n_servers, struct resolve **ret);
void resolve_free(struct resolve *r);

/* The host's resolvers, from /etc/resolv.conf; returns how many. */
size_t resolve_host_servers(struct endpoint *ret, size_t max);

/* 0: on_answer comes, within four seconds. -EIO no server, -ENOBUFS too many in flight, -ENOMEM:
 * on_answer does not come. */
int resolve_addrs(struct resolve *r, const struct host *name, struct resolve_request *req);
/* Would resolve_addrs ask a server now (neither known nor being asked)? */
bool resolve_would_ask(const struct resolve *r, const struct host *name);
void resolve_cancel(struct resolve *r, struct resolve_request *req);

/* Any other record type: the raw answer message. status as above; len 0 on failure. */
struct resolve_raw {
	void (*on_answer)(
		struct resolve_raw *raw, int status, const uint8_t *msg, size_t len_bytes);
	void *query;
};
int resolve_type(
	struct resolve *r, const struct host *name, uint16_t type, struct resolve_raw *raw);
void resolve_type_cancel(struct resolve *r, struct resolve_raw *raw);

#endif
