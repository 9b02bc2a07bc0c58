/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP/1, in clear or inside TLS: every request is decided, rewritten and relayed on its own, one at
 * a time. Internal to user/proxy. http.c runs the exchange, request.c and dispatch.c are the way up,
 * response.c the way down.
 */
#ifndef NEJ_PROXY_HTTP_H
#define NEJ_PROXY_HTTP_H

#include "../wire/host.h"
#include "body.h"
#include "conn.h"
#include "record.h"
#include "spare.h"
#include "uplink.h"

#define HTTP_IDLE_LIMIT_MS (20 * 60 * 1000) /* nothing moves in either direction */

struct filter;

enum http_mode {
	HTTP_PROXY,   /* absolute-form requests to the proxy itself */
	HTTP_NAMED,   /* the connection stands for one name and port */
	HTTP_ADDRESS, /* a real address: Host says which name */
};

enum http_request {
	REQUEST_HEAD,    /* to be read */
	REQUEST_COLLECT, /* allowed; its body must be seen before anything goes up */
	REQUEST_DIAL,    /* decided, its server is being connected */
	REQUEST_BODY,
	REQUEST_DONE, /* all of it went up */
};

enum http_response {
	RESPONSE_NONE,
	RESPONSE_HEAD,
	RESPONSE_BODY,
};

struct http {
	enum http_mode mode;
	enum http_request request;
	enum http_response response;
	struct host name; /* HTTP_NAMED, HTTP_ADDRESS: where the connection goes */
	uint16_t port;
	struct host host; /* of the request */
	uint16_t host_port;
	struct spare idle; /* the connected server's origin; on offer between requests */
	struct uplink_seat seat;
	struct buf in;        /* from the client, not looked at yet or an unfinished head */
	struct buf server_in; /* likewise from the server */
	struct buf head;      /* of the request, as sent up; kept until the answer begins */
	struct buf url;       /* of the request, for its records */
	size_t path_at;       /* where in url the path begins */
	size_t method_len;    /* head begins with the method */
	struct body up, down;
	struct filter *filter;     /* of the request; NULL: it passes none */
	size_t held;               /* of the buffers, as counted in proxy->held_bytes */
	uint64_t last_ms;          /* something moved */
	uint32_t rule, generation; /* of the policy that decided */
	bool is_tls;               /* https: TLS on both sides */
	bool is_fresh;             /* `in` holds bytes that were not looked at */
	bool is_head;              /* HEAD: no body comes back */
	bool is_old;               /* HTTP/1.0 client */
	bool is_keep_alive;        /* the client would send another */
	bool is_websocket;         /* the upgrade was asked for */
	bool wants_json;
	bool is_host_port;
	bool is_reused;   /* the server's connection served before: it may have gone */
	bool is_bound;    /* somebody logged in on the server's connection: nobody else's */
	bool is_recorded; /* the request has its record: a retry makes none */
	bool is_broken;   /* the server takes no more; its answer may still come */
	bool is_server_keep;
	bool wants_h2;    /* the origin has nothing else */
	uint8_t n_unseen; /* how often the origin said that it never looked at the request */
	bool is_last;     /* the client's connection ends with this response */
};

/* Takes over a connection that is being set up; its view is the first request's beginning.
 * Returns a value for conn_end. */
int http_start(struct conn *c);
void http_free(struct conn *c);

/* --- between http.c, request.c and response.c */

/* Client bytes, from wherever. What belongs to a later time is kept in h->in. */
int request_feed(struct conn *c, const char *data, size_t len_bytes);
/* What the request at hand asks for, for its records. */
struct ask request_ask(const struct http *h);
/* Dials for the request, or sends it when connected. */
int request_dispatch(struct conn *c);
/* Who waited for another's dial: asks once more, or is refused. */
void request_go_on(struct conn *c, const struct refusal *why);
/* The bytes that limits allow are used up: says so if nothing was answered, else cuts. */
int request_limit(struct conn *c);
/* Refuses the request at hand; the connection goes on where that is safe. */
int request_refuse(struct conn *c, const struct refusal *why);

int request_refuse_plainly(struct conn *c, enum nej_reason reason, const char *detail);
/* Does the policy in force allow the request at hand too? Then h->rule is its rule. */
bool request_is_allowed(struct conn *c, struct refusal *ret_why);
/* review.c: may what goes on now go on? */
bool http_is_allowed_still(struct conn *c, struct refusal *ret_why);
/* The body is whole in the filter: prints the head and goes on. */
int request_collected(struct conn *c);

/* Reads once from the server. 1: something was done; 0: nothing to do; negative: for conn_end. */
int response_pull(struct conn *c);

/* Is the connection (still) one with a session? After a call that may end it. */
static inline bool http_is_on(const struct conn *c, const struct http *h)
{
	return c->http == h;
}

void http_drop_server(struct conn *c);
int http_watch_server(struct conn *c);
int http_next_request(struct conn *c); /* after a response */

#endif
