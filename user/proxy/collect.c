/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole bodies; see collect.h. */
#include "collect.h"

#include <errno.h>

#include "filter.h"
#include "half.h"
#include "http.h"

static int refuse_too_large(struct conn *c)
{
	static const struct refuse_answer answer = {.status = 413};
	const char *detail = c->http->filter->too_large;
	const struct refusal why = {
		.reason = NEJ_REASON_FRAMING,
		.rule = c->http->rule,
		.detail =
			detail ? detail : "the body is larger than nej looks through for this rule",
		.answer = &answer,
	};

	c->http->is_keep_alive = false;
	return request_refuse(c, &why);
}

int collect_begin(struct conn *c, const struct http1_head *head, const char *raw, size_t raw_len)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct http *h = c->http;
	struct filter *f = h->filter;
	int r = 0;

	if (head->body == HTTP1_BODY_LENGTH && head->length > f->max_body)
		return refuse_too_large(c);
	buf_add(&f->raw, raw, raw_len);
	if (f->raw.is_failed)
		return -ENOMEM;
	if (head->body == HTTP1_BODY_NONE)
		return request_collected(c);
	h->request = REQUEST_COLLECT;
	/* the client waits for a word of the server, which is not asked before its body came */
	if (head->has_expect && !h->is_old)
		r = half_send(c, &c->server, &c->client, go_on, sizeof(go_on) - 1, 0);
	return r;
}

ssize_t collect_feed(struct conn *c, const char *data, size_t len_bytes)
{
	struct http *h = c->http;
	struct filter *f = h->filter;
	size_t n;
	int r = body_read(&h->up, data, len_bytes, &f->body, &n);

	if (r >= 0 && f->body.len > f->max_body)
		return refuse_too_large(c);
	if (r == -EBADMSG) {
		h->is_keep_alive = false;
		return request_refuse_plainly(
			c, NEJ_REASON_FRAMING, "the chunked body is malformed");
	}
	if (r == 0)
		return (ssize_t)n;
	if (r > 0) {
		body_done(&h->up);
		h->request = REQUEST_DONE;
		r = request_collected(c);
	}
	return r < 0 ? r : (ssize_t)n;
}
