/* SPDX-License-Identifier: GPL-2.0-only */
/* The HTTP exchange of one client connection. See http.h; request.c and response.c do the work. */
/*
 * Theory of operation. Two small machines, each moved by bytes of its side:
 *
 *   request   HEAD ──decided──> DIAL ──connected──> BODY ──> DONE ──response over──> HEAD
 *               └──refused: answered here──> HEAD (or the connection ends)
 *   response  NONE ──request sent──> HEAD (1xx pass) ──> BODY ──> NONE
 *
 * The client is read in HEAD only while the response is NONE: pipelined requests wait their turn,
 * in the kernel or in `in`, and each is decided when it comes. It is read in BODY only while the
 * server has taken what was read before; the server likewise. Sockets are edge-triggered, so
 * half.is_readable remembers what was left unread. A response that ends before its request's body
 * ends the connection. Nothing goes up but what hop.c printed and bodies framed by http1.c.
 */
#include "http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "filter.h"
#include "half.h"
#include "mux.h"
#include "pump.h"
#include "sniff.h"
#include "upstream.h"

#define TURNS 64 /* reads in a row before other connections have their turn */

/* --- the server's half */

void http_drop_server(struct conn *c)
{
	struct http *h = c->http;

	spare_withdraw(&h->idle);
	conn_drop_server(c);
	buf_clear(&h->server_in);
	h->is_broken = h->is_reused = h->is_bound = false;
}

/* --- running */

static int flush_up(struct conn *c)
{
	int r;

	if (c->server.io.fd < 0 || !half_is_blocked(&c->client, &c->server))
		return 0;
	r = half_flush(c, &c->client, &c->server);
	if (r >= 0)
		return 0;
	/* it may have answered before it stopped reading */
	half_drop_stash(c->proxy, &c->client);
	c->http->is_broken = true;
	c->server.is_readable = true;
	return 0;
}

/* Looks at what waits in `in`, which may grow again meanwhile. */
static int feed_kept(struct conn *c)
{
	struct http *h = c->http;
	struct buf in = h->in;
	int r;

	buf_init(&h->in);
	h->is_fresh = false;
	r = request_feed(c, in.data, in.len);
	buf_done(&in);
	return r < 0 ? r : 1;
}

/* Is the head that `in` begins with complete, now that n bytes were added? */
static bool is_head_complete(const struct http *h, size_t n)
{
	size_t from = h->in.len > n + 3 ? h->in.len - n - 3 : 0;

	return http1_head_end(h->in.data + from, h->in.len - from) ||
		h->in.len > NEJ_MAX_HEAD_BYTES;
}

/* One look at the client. As response_pull. */
static int request_pull(struct conn *c)
{
	struct http *h = c->http;
	ssize_t n;
	int r;

	if ((c->server.io.fd >= 0 && half_is_blocked(&c->client, &c->server)) ||
		(h->request != REQUEST_HEAD && h->request != REQUEST_BODY &&
			h->request != REQUEST_COLLECT) ||
		(h->request == REQUEST_HEAD && h->response != RESPONSE_NONE))
		return 0;
	if (h->is_fresh)
		return feed_kept(c);
	if (!c->client.is_readable)
		return 0;
	n = half_recv(&c->client, c->proxy->buf, PROXY_BUF_BYTES);
	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	if (n == 0)
		return h->request == REQUEST_HEAD ? CONN_CLOSE : CONN_RESET;
	if (!h->in.len) {
		r = request_feed(c, c->proxy->buf, (size_t)n);
		return r < 0 ? r : 1;
	}
	buf_add(&h->in, c->proxy->buf, (size_t)n);
	if (h->in.is_failed)
		return -ENOMEM;
	h->is_fresh = is_head_complete(h, (size_t)n);
	return 1;
}

/* What the session keeps is counted; too much over all connections ends this one. */
static int hold(struct conn *c)
{
	struct http *h = c->http;
	size_t held = h->in.cap + h->server_in.cap + h->head.cap + h->url.cap;

	if (h->filter)
		held += h->filter->raw.cap + h->filter->body.cap + h->filter->scratch.cap;
	c->proxy->held_bytes += held - h->held;
	h->held = held;
	if (c->proxy->held_bytes <= NEJ_MAX_HELD_BYTES)
		return 0;
	record_limit(c, "too much waits in unfinished requests");
	return CONN_RESET;
}

/* Others have their turn; what is left comes as an event. */
static int yield_turn(struct conn *c)
{
	int r = half_rearm(c, &c->client);

	return r == 0 && c->server.io.fd >= 0 ? half_rearm(c, &c->server) : r;
}

static int run(struct conn *c)
{
	struct http *h = c->http;
	int up, down, turns = 0;

	h->last_ms = loop_now_ms(c->proxy->loop);
	do {
		int r = flush_up(c);

		if (r == 0 && turns++ == TURNS)
			return yield_turn(c);
		if (r == 0 && half_is_blocked(&c->server, &c->client))
			r = half_flush(c, &c->server, &c->client);
		if (r < 0)
			return r;
		down = response_pull(c);
		if (down < 0 || !http_is_on(c, h))
			return down < 0 ? down : 0;
		up = request_pull(c);
		if (up < 0 || !http_is_on(c, h))
			return up < 0 ? up : 0;
	} while (up || down);
	return hold(c);
}

static void http_on_client(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_client(io);
	int r = half_note(&c->client, events);

	/* a FIN alone may be a half-close; this is the client gone */
	if (events & (EPOLLERR | EPOLLHUP))
		r = CONN_RESET;
	conn_end(c, r < 0 ? r : run(c));
}

static void http_on_server(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_server(io);

	(void)half_note(&c->server, events);
	conn_end(c, run(c));
}

int http_watch_server(struct conn *c)
{
	return conn_watch(c, &c->server, http_on_server);
}

/* The bodies' sieves first: they belong to the filter. What holds credentials is wiped. */
static void drop_filter(struct http *h)
{
	body_done(&h->up);
	body_done(&h->down);
	if (!h->filter)
		return;
	buf_wipe(&h->head);
	filter_free(h->filter);
	h->filter = NULL;
}

int http_next_request(struct conn *c)
{
	struct http *h = c->http;

	h->request = REQUEST_HEAD;
	h->response = RESPONSE_NONE;
	h->is_fresh = h->in.len > 0;
	h->is_recorded = false;
	drop_filter(h);
	/* an idle client costs no more than it must */
	buf_done(&h->head);
	buf_done(&h->url);
	if (!h->in.len)
		buf_done(&h->in);
	if (!h->server_in.len)
		buf_done(&h->server_in);
	return 0;
}

/* --- the session */

static void http_on_timeout(struct loop_timer *timer)
{
	static const struct refusal silent = {
		.reason = NEJ_REASON_UPSTREAM_REFUSED,
		.rule = POLICY_NO_RULE,
		.error = -ETIMEDOUT,
		.detail = "the server was silent too long",
	};
	struct conn *c = CONTAINER_OF(timer, struct conn, timer);
	uint64_t idle_ms = loop_now_ms(c->proxy->loop) - c->http->last_ms;
	bool is_slow_head = c->http->request == REQUEST_HEAD && c->http->in.len &&
		c->http->response == RESPONSE_NONE;

	if (!is_slow_head && idle_ms < HTTP_IDLE_LIMIT_MS)
		conn_set_timer(c, HTTP_IDLE_LIMIT_MS - idle_ms, http_on_timeout);
	else if (c->http->response == RESPONSE_HEAD)
		conn_end(c, request_refuse(c, &silent));
	else
		conn_close(c, c->http->request == REQUEST_HEAD ? CONN_CLOSE : CONN_RESET);
}

void http_free(struct conn *c)
{
	struct http *h = c->http;

	mux_free(c->mux);
	if (!h)
		return;
	spare_keep(&h->idle);
	uplink_leave(&h->seat);
	c->proxy->held_bytes -= h->held;
	filter_record_end(c);
	drop_filter(h);
	buf_done(&h->in);
	buf_done(&h->server_in);
	buf_done(&h->head);
	buf_done(&h->url);
	free(h);
	c->http = NULL;
}

static struct http *http_new(struct conn *c)
{
	struct setup *s = c->setup;
	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->mode = HTTP_PROXY;
	/* a gateway's own TLS is around what is asked of it, not inside */
	h->is_tls =
		((c->client.tls && s->is_shaking) || c->client.stream) && s->kind != SETUP_EXPLICIT;
	if (s->kind != SETUP_EXPLICIT) {
		h->mode = s->is_fixed || h->is_tls ? HTTP_NAMED : HTTP_ADDRESS;
		h->name = s->host;
		h->port = s->port;
		/* CONNECT dialled it already */
		h->idle.origin = (struct origin){
			.host = s->host, .port = s->port, .route = upstream_route(c)};
	}
	c->http = h;
	return h;
}

int http_start(struct conn *c)
{
	struct http *h = http_new(c);
	struct buf kept;
	const char *view;
	size_t len;
	int r;

	if (!h)
		return -ENOMEM;
	kept = c->setup->head;
	view = c->setup->view;
	len = c->setup->view_len;
	buf_init(&c->setup->head);
	setup_free(c);
	r = request_feed(c, view, len);
	buf_done(&kept);
	if (r < 0 || !http_is_on(c, h))
		return r;
	conn_set_timer(c, h->in.len ? SNIFF_LIMIT_MS : HTTP_IDLE_LIMIT_MS, http_on_timeout);
	if (c->server.io.fd >= 0)
		r = http_watch_server(c);
	if (r == 0)
		r = conn_watch(c, &c->client, http_on_client);
	return r < 0 ? r : run(c);
}
