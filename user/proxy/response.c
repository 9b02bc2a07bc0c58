/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way down: the server's heads are parsed and printed anew, bodies framed for the client, 1xx
 * passed on, 101 only where a websocket was asked for. Everything is sent on as it comes. Read
 * request.c for the way up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../tls/session.h"
#include "../wire/hop.h"
#include "filter.h"
#include "half.h"
#include "http.h"
#include "pump.h"

#define MAX_UNSEEN 3      /* how often a request is sent again that no origin looked at */
#define SIEVE_BYTES 16384 /* read at once of what may be compressed a thousandfold */
#define JOIN_BYTES 4096   /* of a body, sent in one piece with its head */

/* The answer cannot be used and nothing of it was passed on: 502. */
static int refuse_answer(struct conn *c, int error, const char *detail)
{
	const struct refusal why = {
		.reason = NEJ_REASON_UPSTREAM_REFUSED,
		.rule = POLICY_NO_RULE,
		.error = error,
		.detail = detail,
	};

	http_drop_server(c);
	return request_refuse(c, &why);
}

static int refuse_filtered(struct conn *c, int error)
{
	return error == -ENOMEM ? error
				: refuse_answer(c, 0,
					  "the server's answer cannot be looked through for "
					  "what the policy keeps back: its encoding is "
					  "unknown or broken");
}

/* The response is over, the client has it or will have. */
static int end_response(struct conn *c)
{
	struct http *h = c->http;
	bool is_settled;

	filter_record_end(c);
	record_end(c);
	if (!h->is_server_keep || h->request != REQUEST_DONE ||
		half_is_blocked(&c->client, &c->server))
		http_drop_server(c);
	else if (!h->is_bound)
		spare_offer(c, &h->idle);
	if (!h->is_last)
		return http_next_request(c);
	is_settled = h->request == REQUEST_DONE && !c->client.is_readable && !h->in.len;
	return conn_finish(c, is_settled);
}

/* That the server misses a client certificate is told after the handshake in TLS 1.3. */
static const char *why_no_answer(const struct conn *c)
{
	if (c->server.tls && session_failure(c->server.tls) == SESSION_FAILURE_CLIENT_CERT)
		return session_problem(c->server.tls);
	return "the server closed the connection without an answer";
}

/* The rest does not come: the client must not take what it has for whole. Where a sieve says so it is
 * nej's own doing, which is on record then. */
static int cut_response(struct conn *c)
{
	struct http *h = c->http;
	bool is_full = h->down.error == -ENOMEM || h->down.error == -ENOBUFS;
	const struct refusal why = {
		.reason = is_full ? NEJ_REASON_LIMIT : NEJ_REASON_FRAMING,
		.rule = h->rule,
		.detail = is_full ? "too much of the server's answer waits to be looked through"
				  : "the server's answer can be read in more than one way",
	};
	const struct ask ask = request_ask(h);

	if (h->down.error)
		record_refused(c, &ask, &why, 0);
	return CONN_RESET;
}

/* The server's connection ended, or failed, where the protocol allows or not. */
static int server_ended(struct conn *c, int error)
{
	struct http *h = c->http;

	if (h->response == RESPONSE_BODY) {
		if (h->down.kind == HTTP1_BODY_EOF && !error &&
			body_end(c, &h->down, &c->server, &c->client) == 0)
			return end_response(c);
		return cut_response(c);
	}
	/* HTTP/2 tells what was never looked at (RFC 9113 section 8.7): that may be sent again */
	if (error == -ESTALE && !h->server_in.len && h->up.kind == HTTP1_BODY_NONE &&
		h->n_unseen++ < MAX_UNSEEN) {
		http_drop_server(c);
		return request_dispatch(c);
	}
	/* an idle connection may be closed at any time; a request that met it is sent again once */
	if (h->is_reused && !h->server_in.len && h->request == REQUEST_DONE &&
		h->up.kind == HTTP1_BODY_NONE && !filter_has_body(h->filter)) {
		http_drop_server(c);
		return request_dispatch(c);
	}
	return refuse_answer(c, error, why_no_answer(c));
}

/* --- heads */

/* What the client is told of its own connection. */
static struct hop_reply reply_of(const struct http *h, const struct http1_head *head)
{
	bool is_endless =
		head->body == HTTP1_BODY_EOF || (head->body == HTTP1_BODY_CHUNKED && h->is_old);

	return (struct hop_reply){
		.is_old = h->is_old,
		.is_close = is_endless || !h->is_keep_alive || h->request != REQUEST_DONE,
	};
}

static int send_down(struct conn *c, struct buf *out, int flags)
{
	if (out->is_failed)
		return -ENOMEM;
	if (record_bytes(c, 0, out->len) < 0)
		return -EDQUOT;
	return half_send(c, &c->server, &c->client, out->data, out->len, flags);
}

/* 100, 102, 103: on to a client that knows them. */
static int pass_interim(struct conn *c, struct http1_head *head)
{
	const struct hop_reply how = {0};
	struct buf *out = &c->proxy->out;
	int r;

	if (c->http->is_old)
		return 0;
	r = filter_response(c, head);
	if (r < 0)
		return refuse_filtered(c, r);
	buf_clear(out);
	hop_print_response(head, &how, out);
	r = send_down(c, out, 0);
	return r == -EDQUOT ? request_limit(c) : r;
}

/* 101: the connection becomes a tunnel. rest: server bytes behind the head. */
static int switch_protocols(
	struct conn *c, struct http1_head *head, const char *rest, size_t rest_len)
{
	const struct hop_reply how = {0};
	struct buf *out = &c->proxy->out;
	struct http *h = c->http;
	int r;

	if (!h->is_websocket || !head->is_websocket)
		return refuse_answer(c, 0, "the server switched protocols unasked");
	r = filter_response(c, head);
	if (r < 0)
		return refuse_filtered(c, r);
	buf_clear(out);
	hop_print_response(head, &how, out);
	buf_add(out, rest, rest_len);
	r = send_down(c, out, 0);
	if (r == -EDQUOT)
		return request_limit(c);
	/* what a policy that comes later is asked about */
	if (r == 0 &&
		asprintf(&c->attempt.url, "%.*s %.*s", (int)h->method_len, h->head.data,
			(int)(h->url.len - h->path_at), h->url.data + h->path_at) < 0)
		c->attempt.url = NULL;
	return r < 0 ? r : pump_start(c, h->in.data, h->in.len);
}

/* Body bytes; when the body ends the response does. Negative or the bytes used. */
static ssize_t move_body(struct conn *c, const char *data, size_t len)
{
	struct http *h = c->http;
	size_t n, room = record_room(c, false, len);
	int r;

	if (!room)
		return request_limit(c);
	r = body_move(c, &h->down, &c->server, &c->client, data, room, &n);
	if (r < 0)
		return cut_response(c);
	/* more of the body is there than may pass */
	if (record_bytes(c, 0, n) < 0 || (r == 0 && room < len))
		return request_limit(c);
	if (r == 0)
		return (ssize_t)n;
	if (n < len)
		h->is_server_keep = false; /* bytes nobody asked for */
	r = end_response(c);
	return r < 0 ? r : (ssize_t)len;
}

/* What the filter makes of a final head and its body. */
static int sieve_response(struct conn *c, struct http1_head *head)
{
	struct http *h = c->http;
	int r = filter_response(c, head);
	bool is_as_long = true;

	if (r == 0)
		r = filter_response_body(c, head, &h->down.sieve, &is_as_long);
	if (r < 0 || !h->down.sieve || (is_as_long && head->body == HTTP1_BODY_LENGTH))
		return r;
	/* nobody knows how long it will be: in chunks, or to the connection's end */
	h->down.is_rechunked = !h->is_old;
	http1_set_body(head, h->is_old ? HTTP1_BODY_EOF : HTTP1_BODY_CHUNKED, 0);
	return 0;
}

/* The final head, with as much of the body as came along. Negative or the bytes used of rest. */
static ssize_t pass_final(
	struct conn *c, struct http1_head *head, const char *rest, size_t rest_len)
{
	struct http *h = c->http;
	struct buf *out = &c->proxy->out;
	bool has_body = head->body != HTTP1_BODY_NONE;
	struct hop_reply how;
	size_t joined = 0;
	ssize_t r;

	h->is_server_keep = head->is_keep_alive;
	body_init(&h->down, head, h->is_old);
	r = sieve_response(c, head);
	if (r < 0)
		return refuse_filtered(c, (int)r);
	how = reply_of(h, head);
	h->is_last = how.is_close;
	h->response = RESPONSE_BODY;
	buf_clear(out);
	hop_print_response(head, &how, out);
	if (h->down.kind == HTTP1_BODY_LENGTH && !h->down.sieve && rest_len <= JOIN_BYTES) {
		joined = rest_len < h->down.left ? rest_len : h->down.left;
		buf_add(out, rest, joined);
		h->down.left -= joined;
		if (!h->down.left)
			has_body = false;
	}
	r = send_down(c, out, has_body && rest_len > joined ? MSG_MORE : 0);
	if (r == -EDQUOT) {
		h->response = RESPONSE_HEAD;
		r = request_limit(c);
		return r < 0 ? r : (ssize_t)rest_len;
	}
	if (r < 0)
		return CONN_RESET;
	if (!has_body) {
		if (joined < rest_len)
			h->is_server_keep = false;
		r = end_response(c);
		return r < 0 ? r : (ssize_t)rest_len;
	}
	if (rest_len == joined)
		return (ssize_t)joined;
	/* one move takes all there is, or the body ends with it */
	r = move_body(c, rest + joined, rest_len - joined);
	return r < 0 ? r : (ssize_t)rest_len;
}

/* --- reading */

/* One head at the front of data. Negative, 0 (it is not complete), or the bytes used. */
static ssize_t take_head(struct conn *c, const char *data, size_t len)
{
	struct http1_head *head = &c->proxy->head;
	size_t n = http1_head_end(data, len);
	ssize_t r;

	if (!n)
		return len < NEJ_MAX_HEAD_BYTES
			? 0
			: refuse_answer(c, 0, "the server's head is too large");
	if (http1_parse_response(data, n, c->http->is_head, head) < 0)
		return refuse_answer(c, 0, "the server's answer is malformed");
	if (head->status == 101) {
		r = switch_protocols(c, head, data + n, len - n);
		return r < 0 ? r : (ssize_t)len;
	}
	if (head->status < 200) {
		r = pass_interim(c, head);
		return r < 0 ? r : (ssize_t)n;
	}
	r = pass_final(c, head, data + n, len - n);
	return r < 0 ? r : (ssize_t)n + r;
}

static int feed(struct conn *c, const char *data, size_t len)
{
	struct http *h = c->http;

	while (len) {
		ssize_t n = h->response == RESPONSE_HEAD ? take_head(c, data, len)
							 : move_body(c, data, len);

		if (n < 0 || !http_is_on(c, h) || h->response == RESPONSE_NONE)
			return n < 0 ? (int)n : 0;
		if (n == 0)
			break;
		data += n;
		len -= (size_t)n;
	}
	if (len)
		buf_add(&h->server_in, data, len);
	return h->server_in.is_failed ? -ENOMEM : 0;
}

/* A head that began in an earlier read. */
static int feed_joined(struct conn *c, const char *data, size_t len)
{
	struct buf in = c->http->server_in;
	int r = 0;

	buf_init(&c->http->server_in);
	buf_add(&in, data, len);
	if (in.is_failed)
		r = -ENOMEM;
	else
		r = feed(c, in.data, in.len);
	buf_done(&in);
	return r;
}

int response_pull(struct conn *c)
{
	struct proxy *p = c->proxy;
	struct http *h = c->http;
	bool may_be_secret = h->filter;
	ssize_t n;
	int r;

	if (c->server.io.fd < 0 || !c->server.is_readable ||
		half_is_blocked(&c->server, &c->client))
		return 0;
	n = half_recv(&c->server, c->proxy->buf, h->down.sieve ? SIEVE_BYTES : PROXY_BUF_BYTES);
	if (n == -EAGAIN)
		return 0;
	if (h->response == RESPONSE_NONE) {
		/* between requests: its end, or bytes nobody asked for */
		http_drop_server(c);
		return 1;
	}
	if (n <= 0)
		r = server_ended(c, n == 0 && half_is_cut(&c->server) ? -ECONNRESET : (int)n);
	else if (h->server_in.len)
		r = feed_joined(c, c->proxy->buf, (size_t)n);
	else
		r = feed(c, c->proxy->buf, (size_t)n);
	if (n > 0 && may_be_secret)
		explicit_bzero(p->buf, (size_t)n);
	return r < 0 ? r : 1;
}
