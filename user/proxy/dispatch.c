/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a request that may go up to its server: a connection that served before, or a new one, and
 * the head on it. See http.h; request.c is before, response.c behind.
 */
#include <errno.h>
#include <sys/socket.h>

#include "../tls/session.h"
#include "dial.h"
#include "filter.h"
#include "half.h"
#include "http.h"
#include "upstream.h"

/* The record, then the head. */
static int send_head(struct conn *c)
{
	struct http *h = c->http;
	struct ask ask = request_ask(h);
	bool has_body = h->up.kind != HTTP1_BODY_NONE;
	struct refusal why;
	int r;

	r = h->is_recorded ? 0 : record_allowed(c, &ask, h->rule, &why);
	if (r < 0)
		return request_refuse(c, &why);
	h->is_recorded = true;
	filter_record(c);
	if (record_bytes(c, h->head.len, 0) < 0)
		return request_limit(c);
	r = half_send(c, &c->client, &c->server, h->head.data, h->head.len,
		has_body && h->in.len ? MSG_MORE : 0);
	if (r < 0)
		h->is_broken = true;
	h->request = has_body ? REQUEST_BODY : REQUEST_DONE;
	h->response = RESPONSE_HEAD;
	if (r < 0)
		c->server.is_readable = true;
	h->is_fresh = h->in.len > 0;
	return c->server.is_watched ? 0 : http_watch_server(c);
}

/* The dial is over. */
static int settle(struct conn *c, const struct refusal *why)
{
	struct http *h = c->http;
	struct refusal changed;
	int r = uplink_dialled(c, why);

	h->request = h->up.kind == HTTP1_BODY_NONE ? REQUEST_DONE : REQUEST_DIAL;
	if (why && why->error == -EPROTONOSUPPORT && !h->wants_h2 && !h->is_websocket) {
		h->wants_h2 = true;
		return request_dispatch(c);
	}
	if (why)
		return request_refuse(c, why);
	/* another policy came into force meanwhile */
	if (h->generation != *c->proxy->o.generation && !request_is_allowed(c, &changed))
		return request_refuse(c, &changed);
	return r < 0 ? r : send_head(c);
}

/* The callback of either half runs the exchange; none may come, so do it here. */
static void run_on(struct conn *c, struct http *h, int r)
{
	if (r == 0 && http_is_on(c, h))
		c->client.io.on_ready(&c->client.io, 0);
	else
		conn_end(c, r);
}

static void on_dialled(struct conn *c, const struct refusal *why)
{
	struct http *h = c->http;

	run_on(c, h, settle(c, why));
}

void request_go_on(struct conn *c, const struct refusal *why)
{
	struct http *h = c->http;

	h->request = h->up.kind == HTTP1_BODY_NONE ? REQUEST_DONE : REQUEST_DIAL;
	run_on(c, h, why ? request_refuse(c, why) : request_dispatch(c));
}

static struct origin origin_of(const struct conn *c)
{
	const struct http *h = c->http;

	return (struct origin){
		.host = h->host,
		.port = h->host_port,
		.route = upstream_route_of(c, h->rule),
		.is_tls = h->is_tls,
		.is_host_port = h->is_host_port,
		.identity = filter_identity(c),
	};
}

/* Has the origin closed it in this very round? Only asked where the request could not be sent a
 * second time. */
static bool is_alive(struct conn *c)
{
	/* under TLS there may be tickets to read, and close_notify */
	return half_recv(&c->server, c->proxy->buf, PROXY_BUF_BYTES) == -EAGAIN;
}

/* A connection that served before: this client's own, or one on offer. */
static bool find_connected(struct conn *c, const struct origin *want)
{
	struct http *h = c->http;
	bool is_own = c->server.io.fd >= 0 && !c->server.is_eof && !c->server.is_hup &&
		!h->is_broken && origin_equal(&h->idle.origin, want);

	spare_withdraw(&h->idle);
	if (!is_own) {
		http_drop_server(c);
		if (!spare_take(c, want))
			return false;
		h->idle.origin = *want;
		upstream_set_route(c, want->route);
	}
	if ((h->up.kind == HTTP1_BODY_NONE && !filter_has_body(h->filter)) || is_alive(c)) {
		h->is_reused = true;
		return true;
	}
	http_drop_server(c);
	return false;
}

int request_dispatch(struct conn *c)
{
	struct http *h = c->http;
	struct origin want = origin_of(c);
	struct dial_target target = {
		.host = &h->host,
		.port = h->host_port,
		.rule = h->rule,
		.is_host_port = h->is_host_port,
		.is_tls = h->is_tls,
		.alpn = SESSION_ALPN_HTTP1,
	};
	struct refusal why;
	int r;

	if (!h->is_recorded && record_admit(c, h->rule, &why) < 0)
		return request_refuse(c, &why);
	if (find_connected(c, &want))
		return send_head(c);
	h->idle.origin = want;
	/* a websocket is HTTP/1 towards its origin, as most of them know it */
	if ((c->client.stream || h->wants_h2) && h->is_tls && !h->is_websocket) {
		r = uplink_join(c, &want);
		if (r > 0) {
			h->is_reused = true;
			return send_head(c);
		}
		if (r == 0) {
			h->request = REQUEST_DIAL;
			return 0;
		}
		target.alpn |= h->seat.is_dialler ? SESSION_ALPN_H2 : 0;
	}
	h->request = REQUEST_DIAL;
	r = dial_start(c, &target, on_dialled, &why);
	return r == 0 ? 0 : settle(c, r < 0 ? &why : NULL);
}
