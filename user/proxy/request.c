/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way up: a request's head is parsed, its target and Host checked against what the connection
 * stands for, decided with method and path, printed anew and sent. Read response.c for the way back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../wire/hop.h"
#include "../wire/target.h"
#include "collect.h"
#include "explicit.h"
#include "filter.h"
#include "gate.h"
#include "half.h"
#include "http.h"
#include "refuse.h"
#include "stream.h"

/* --- refusals */

struct ask request_ask(const struct http *h)
{
	return (struct ask){
		.host = h->host.len ? &h->host : NULL,
		.port = h->host_port,
		.app = h->is_tls ? AUDIT_APP_TLS : AUDIT_APP_HTTP,
		.layer = AUDIT_LAYER_HTTP,
		.method = {h->head.data, h->method_len},
		.url = {h->url.data, h->url.len},
		.wants_json = h->wants_json,
	};
}

int request_refuse(struct conn *c, const struct refusal *why)
{
	struct http *h = c->http;
	struct ask ask = request_ask(h);
	struct buf *out = &c->proxy->out;
	/* a body nobody read, or a connection that would end anyway, ends here */
	const struct refuse_shape shape = {
		.is_close = !h->is_keep_alive || h->up.kind != HTTP1_BODY_NONE ||
			h->request != REQUEST_DONE,
		.is_head = h->is_head,
	};
	int r;

	record_end(c);
	record_refused(c, &ask, why, refuse_status(why));
	buf_clear(out);
	refuse_print(*c->proxy->o.policy, &ask, why, &shape, out);
	if (out->is_failed)
		return -ENOMEM;
	r = half_send(c, &c->server, &c->client, out->data, out->len, 0);
	if (r < 0)
		return r;
	if (!shape.is_close)
		return http_next_request(c);
	return conn_finish(c, h->request == REQUEST_DONE && !c->client.is_readable && !h->in.len);
}

int request_refuse_plainly(struct conn *c, enum nej_reason reason, const char *detail)
{
	const struct refusal why = {.reason = reason, .rule = POLICY_NO_RULE, .detail = detail};

	return request_refuse(c, &why);
}

int request_limit(struct conn *c)
{
	const struct refusal why = record_spent(c);
	struct http *h = c->http;

	if (h->response == RESPONSE_BODY) {
		const struct ask ask = request_ask(h);

		record_refused(c, &ask, &why, 0);
		return CONN_RESET;
	}
	http_drop_server(c);
	h->is_keep_alive = false;
	return request_refuse(c, &why);
}

/* Refused before it was understood: only what the client sent can be told, and the connection ends,
 * since nobody knows where the next request would begin. */
static int refuse_early(
	struct conn *c, enum nej_reason reason, const struct http1_head *head, const char *detail)
{
	struct http *h = c->http;

	h->is_keep_alive = false;
	h->host = h->name; /* empty when the proxy itself was asked */
	h->host_port = h->port;
	buf_clear(&h->head);
	buf_clear(&h->url);
	h->method_len = 0;
	if (head) {
		buf_add(&h->head, head->method.ptr, head->method.len);
		buf_add(&h->url, head->target.ptr, head->target.len);
		h->method_len = head->method.len;
	}
	return request_refuse_plainly(c, reason, detail);
}

/* --- whom the request is for */

/* The proxy itself was asked: the target says it all, Host is printed anew. */
static enum nej_reason find_host_as_proxy(
	struct conn *c, const struct target *t, const char **ret_detail)
{
	struct http *h = c->http;

	if (t->form != TARGET_ABSOLUTE) {
		*ret_detail = "this is a proxy: send `GET http://HOST/PATH` or CONNECT";
		return NEJ_REASON_FRAMING;
	}
	h->host = t->host;
	h->host_port = t->port;
	explicit_resolve_synthetic(c, &h->host);
	h->is_host_port = explicit_is_loopback(c, &h->host);
	return NEJ_REASON_NONE;
}

/* The connection already goes somewhere: target and Host must say the same. On a connection to a
 * real address a name decides, and it is that name's own address that is dialled. */
static enum nej_reason find_host_inside(
	struct conn *c, const struct http1_head *head, const struct target *t)
{
	struct http *h = c->http;
	struct host said;
	uint16_t said_port;

	if (!head->host.ptr || !head->host.len)
		return NEJ_REASON_FRAMING;
	if (target_parse_host(head->host, &said, &said_port) < 0)
		return NEJ_REASON_MALFORMED_HOST;
	if (t->form == TARGET_ABSOLUTE) {
		said = t->host;
		said_port = t->port;
	}
	h->host = said;
	h->host_port = h->port;
	if (said_port && said_port != h->port)
		return NEJ_REASON_HOST_MISMATCH;
	if (host_equal(&said, &h->name))
		return NEJ_REASON_NONE;
	/* to a real address, another one in Host is decided and dialled as what it is */
	return h->mode == HTTP_NAMED ? NEJ_REASON_HOST_MISMATCH : NEJ_REASON_NONE;
}

/* The URL for the record; its path is what goes up. */
static void print_url(struct http *h, const struct target *t)
{
	struct buf *url = &h->url;

	buf_clear(url);
	buf_add_str(url, h->is_tls ? "https://" : "http://");
	hop_print_authority(&h->host, h->host_port, h->is_tls ? 443 : 80, url);
	h->path_at = url->len;
	if (t->is_rooted)
		buf_add_char(url, '/');
	buf_add(url, t->path.ptr, t->path.len);
}

/* --- reading */

/* CONNECT on a connection that carried other requests before. */
static int turn_to_connect(struct conn *c, const char *data, size_t len)
{
	struct setup *s = setup_new(c);

	if (!s)
		return -ENOMEM;
	buf_add(&s->head, data, len);
	if (s->head.is_failed)
		return -ENOMEM;
	http_drop_server(c);
	http_free(c);
	s->kind = SETUP_EXPLICIT;
	s->step = explicit_step;
	s->view = s->head.data;
	s->view_len = s->head.len;
	return setup_resume(c);
}

static void begin_request(struct conn *c, const struct http1_head *head)
{
	struct http *h = c->http;

	record_start(c);
	h->is_head = head->method.len == 4 && !memcmp(head->method.ptr, "HEAD", 4);
	h->is_old = !head->minor;
	h->is_keep_alive = head->is_keep_alive;
	h->is_websocket = head->is_websocket;
	h->wants_json = head->wants_json;
	h->is_host_port = false;
	h->is_last = false;
	h->method_len = head->method.len;
	body_init(&h->up, head, false);
	/* without a body there is nothing more to come */
	h->request = h->up.kind == HTTP1_BODY_NONE ? REQUEST_DONE : REQUEST_DIAL;
}

/* Prints the head for the next hop and goes on; with the body where it was collected. */
static int prepare(struct conn *c, struct http1_head *head, struct buf *body)
{
	struct http *h = c->http;
	struct http1_text path = {h->url.data + h->path_at, h->url.len - h->path_at};
	struct refusal why;
	int r = filter_request(c, head, &path, body, &why);

	if (r == 0 && !body)
		r = filter_request_body(c, head, &h->up.sieve, &h->up.is_rechunked, &why);
	if (r < 0)
		return request_refuse(c, &why);
	/* what came in chunks goes on in chunks: a sieve sees it without them */
	h->up.is_rechunked |= h->up.sieve && head->body == HTTP1_BODY_CHUNKED;
	if (body)
		http1_set_body(head, HTTP1_BODY_LENGTH, body->len);
	else if (h->up.is_rechunked)
		http1_set_body(head, HTTP1_BODY_CHUNKED, 0);
	buf_clear(&h->head);
	hop_print_request(head, &h->host, h->host_port, h->is_tls ? 443 : 80, path, &h->head);
	if (body) {
		h->filter->is_collected = body->len > 0;
		buf_add(&h->head, body->data, body->len);
		buf_wipe(body);
	}
	return h->head.is_failed ? -ENOMEM : request_dispatch(c);
}

/* h->head begins with the method, h->url says the rest. */
bool request_is_allowed(struct conn *c, struct refusal *ret_why)
{
	enum policy_scheme scheme = c->http->is_tls ? POLICY_SCHEME_HTTPS : POLICY_SCHEME_HTTP;
	struct http *h = c->http;
	const struct http1_text method = {h->head.data, h->method_len};
	struct http1_text path = {h->url.data + h->path_at, h->url.len - h->path_at};

	h->generation = *c->proxy->o.generation;
	if (path.len == 1 && *path.ptr == '*')
		path.ptr = "/"; /* OPTIONS of the whole server */
	if (h->is_host_port)
		return gate_host_port(c->proxy, h->host_port, ret_why);
	return gate_request(
		c->proxy, scheme, &h->host, h->host_port, method, path, &h->rule, ret_why);
}

bool http_is_allowed_still(struct conn *c, struct refusal *ret_why)
{
	struct http *h = c->http;

	/* what waits is decided when it comes, or goes up */
	if (h->response == RESPONSE_NONE)
		return true;
	if (!request_is_allowed(c, ret_why))
		return false;
	record_readmit(c, h->rule);
	return true;
}

/* raw: the head as it came, for the time after its body is known. */
static int decide(struct conn *c, struct http1_head *head, const struct target *t, const char *raw,
	size_t raw_len)
{
	struct http *h = c->http;
	struct refusal why;
	int r;

	print_url(h, t);
	/* what a refusal says of the request */
	buf_clear(&h->head);
	buf_add(&h->head, head->method.ptr, head->method.len);
	if (h->head.is_failed || h->url.is_failed)
		return -ENOMEM;
	if (!request_is_allowed(c, &why))
		return request_refuse(c, &why);
	r = filter_begin(c, head, &why);
	if (r < 0)
		return request_refuse(c, &why);
	return r > 0 ? collect_begin(c, head, raw, raw_len) : prepare(c, head, NULL);
}

int request_collected(struct conn *c)
{
	struct http1_head *head = &c->proxy->head;
	struct filter *f = c->http->filter;

	if (c->http->generation != *c->proxy->o.generation)
		return request_refuse_plainly(c, NEJ_REASON_POLICY_UNAVAILABLE,
			"the policy changed while the request came in: send it again");
	if (http1_parse_request(f->raw.data, f->raw.len, head) < 0)
		return -EBADMSG;
	/* the client's framing is over, and it has been told to go on */
	for (size_t i = 0; i < head->n_fields; i++)
		if (head->fields[i].id == HTTP1_NAME_EXPECT)
			head->fields[i].is_hop = true;
	return prepare(c, head, &f->body);
}

/* One whole head. */
static int take_head(struct conn *c, const char *data, size_t len)
{
	struct http1_head *head = &c->proxy->head;
	struct http *h = c->http;
	const char *detail = NULL;
	enum nej_reason reason;
	struct target target;
	struct refusal why;
	int r;

	h->request = REQUEST_DONE;
	h->is_head = false;
	r = http1_parse_request(data, len, head);
	if (r < 0) {
		record_start(c);
		if (c->client.stream && c->client.stream->fault)
			detail = c->client.stream->fault;
		return refuse_early(c, NEJ_REASON_FRAMING, NULL,
			detail ? detail : "the request's head is malformed or ambiguous");
	}
	begin_request(c, head);
	if (h->mode == HTTP_PROXY && !gate_admits(c, head, &why))
		return refuse_early(c, why.reason, head, why.detail);
	r = target_parse(head->method, head->target, &target);
	if (r < 0)
		return refuse_early(c,
			r == -EINVAL ? NEJ_REASON_MALFORMED_HOST : NEJ_REASON_FRAMING, head,
			r == -EPROTONOSUPPORT ? "only http:// is served here; use CONNECT for TLS"
					      : NULL);
	if (target.form == TARGET_AUTHORITY)
		return refuse_early(c, NEJ_REASON_UNKNOWN_PROTOCOL, head,
			"CONNECT is for the proxy's own address");
	if (h->mode == HTTP_PROXY)
		reason = find_host_as_proxy(c, &target, &detail);
	else
		reason = find_host_inside(c, head, &target);
	if (reason == NEJ_REASON_FRAMING || reason == NEJ_REASON_MALFORMED_HOST)
		return refuse_early(c, reason, head, detail);
	if (reason == NEJ_REASON_HOST_MISMATCH) {
		print_url(h, &target);
		buf_clear(&h->head);
		buf_add(&h->head, head->method.ptr, head->method.len);
		return request_refuse_plainly(
			c, reason, "Host and the connection's name or port differ");
	}
	return decide(c, head, &target, data, len);
}

/* Neither the rest of the body nor an answer to what went up is of use. */
static int refuse_body(struct conn *c, int error)
{
	static const char malformed[] = "the chunked body is malformed";
	struct http *h = c->http;
	struct refusal why = {.reason = NEJ_REASON_FRAMING, .rule = h->rule, .detail = malformed};

	if (h->up.error)
		why = filter_refusal(c, error);
	if (h->response != RESPONSE_HEAD) {
		const struct ask ask = request_ask(h);

		record_refused(c, &ask, &why, 0);
		return CONN_RESET;
	}
	http_drop_server(c);
	h->is_keep_alive = false;
	return request_refuse(c, &why);
}

/* Body bytes go up. How many were used, 0 when they must wait. */
static ssize_t feed_body(struct conn *c, const char *data, size_t len)
{
	struct http *h = c->http;
	size_t n;
	int r;

	if (half_is_blocked(&c->client, &c->server))
		return 0;
	len = record_room(c, true, len);
	if (!len)
		return request_limit(c);
	r = body_move(c, &h->up, &c->client, &c->server, data, len, &n);
	if (r == -EBADMSG || h->up.error)
		return refuse_body(c, r);
	if (r < 0) {
		/* the server reads no more; what it may have answered is read, the rest of the
		 * body thrown away */
		h->is_broken = true;
		c->server.is_readable = true;
		return (ssize_t)len;
	}
	if (record_bytes(c, n, 0) < 0)
		return request_limit(c);
	if (r > 0)
		h->request = REQUEST_DONE;
	return (ssize_t)n;
}

/* A whole head, or too much of one. All of data is used: what follows the head is kept first, since
 * dispatching may send it along. */
static ssize_t feed_head(struct conn *c, const char *data, size_t len)
{
	struct http *h = c->http;
	size_t n = http1_head_end(data, len);
	int r;

	if (!n && len < NEJ_MAX_HEAD_BYTES)
		return 0;
	if (n && h->mode == HTTP_PROXY && len > 8 && !memcmp(data, "CONNECT ", 8))
		return turn_to_connect(c, data, len);
	if (n && n < len)
		buf_add(&h->in, data + n, len - n);
	if (h->in.is_failed)
		return -ENOMEM;
	h->is_fresh = h->in.len > 0;
	r = n ? take_head(c, data, n)
	      : refuse_early(c, NEJ_REASON_FRAMING, NULL, "the request's head is too large");
	return r < 0 ? r : (ssize_t)len;
}

static ssize_t feed_once(struct conn *c, const char *data, size_t len)
{
	struct http *h = c->http;

	if (h->request == REQUEST_BODY)
		return feed_body(c, data, len);
	if (h->request == REQUEST_COLLECT)
		return collect_feed(c, data, len);
	if (h->request != REQUEST_HEAD || h->response != RESPONSE_NONE)
		return 0;
	if (*data == '\r' || *data == '\n')
		return 1; /* RFC 9112 section 2.2: an empty line before a request */
	return feed_head(c, data, len);
}

int request_feed(struct conn *c, const char *data, size_t len_bytes)
{
	struct http *h = c->http;

	while (len_bytes) {
		ssize_t n = feed_once(c, data, len_bytes);

		if (n < 0 || !http_is_on(c, h))
			return n < 0 ? (int)n : 0;
		if (n == 0)
			break;
		data += n;
		len_bytes -= (size_t)n;
	}
	if (len_bytes)
		buf_add(&h->in, data, len_bytes);
	/* an unfinished head waits for more; anything else for its turn */
	h->is_fresh = h->in.len > 0 && (h->is_fresh || h->request != REQUEST_HEAD);
	return h->in.is_failed ? -ENOMEM : 0;
}
