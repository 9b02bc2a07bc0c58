/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joins a request to what looks into it; see filter.h. Nothing is decided here that the policy did
 * not say.
 */
#include "filter.h"

#include <errno.h>
#include <stdlib.h>

#include "http.h"
#include "inject.h"

void filter_free(struct filter *f)
{
	if (!f)
		return;
	inject_free(f->inject);
	buf_wipe(&f->scratch);
	buf_wipe(&f->raw);
	buf_wipe(&f->body);
	free(f);
}

static int fail(const struct conn *c, int error, struct refusal *ret_why)
{
	*ret_why = filter_refusal(c, error);
	return error;
}

struct refusal filter_refusal(const struct conn *c, int error)
{
	const struct http *h = c->http;
	struct refusal why = {.reason = NEJ_REASON_LIMIT, .rule = h->rule, .error = error};

	if (error == -ENOMEM || !h->filter || !h->filter->inject)
		return why;
	why = inject_refusal(h->filter->inject, error);
	why.rule = h->rule;
	return why;
}

int filter_begin(struct conn *c, const struct http1_head *head, struct refusal *ret_why)
{
	struct http *h = c->http;
	const struct inject_ask ask = {
		.policy = *c->proxy->o.policy,
		.host = &h->host,
		.port = h->host_port,
		.is_tls = h->is_tls,
	};
	struct inject *inject = NULL;
	int r;

	(void)head;
	if (!c->proxy->o.secrets)
		return 0;
	r = inject_new(c->proxy->o.secrets, &ask, &inject);
	if (r < 0 || !inject)
		return r < 0 ? fail(c, r, ret_why) : 0;
	h->filter = calloc(1, sizeof(*h->filter));
	if (!h->filter) {
		inject_free(inject);
		return fail(c, -ENOMEM, ret_why);
	}
	h->filter->inject = inject;
	return 0;
}

int filter_request(struct conn *c, struct http1_head *head, struct http1_text *path,
	struct buf *body, struct refusal *ret_why)
{
	struct filter *f = c->http->filter;
	int r;

	(void)body;
	if (!f)
		return 0;
	r = inject_head(f->inject, head, path, &f->scratch);
	return r < 0 ? fail(c, r, ret_why) : 0;
}

int filter_request_body(struct conn *c, const struct http1_head *head, struct sieve **ret,
	bool *ret_is_rechunked, struct refusal *ret_why)
{
	struct filter *f = c->http->filter;
	int r;

	*ret = NULL;
	*ret_is_rechunked = false;
	if (!f || head->body == HTTP1_BODY_NONE)
		return 0;
	r = inject_body(f->inject, head, ret, ret_is_rechunked);
	return r < 0 ? fail(c, r, ret_why) : 0;
}

int filter_response(struct conn *c, struct http1_head *head)
{
	struct filter *f = c->http->filter;

	if (!f || !inject_is_scrubbed(f->inject))
		return 0;
	buf_wipe(&f->scratch);
	return inject_response_head(f->inject, head, &f->scratch);
}

int filter_response_body(struct conn *c, struct http1_head *head, struct sieve **ret)
{
	struct filter *f = c->http->filter;

	*ret = NULL;
	if (!f || !inject_is_scrubbed(f->inject) || head->body == HTTP1_BODY_NONE)
		return 0;
	return inject_response_body(f->inject, head, ret);
}

uint64_t filter_identity(const struct conn *c)
{
	const struct filter *f = c->http->filter;

	return f ? inject_set(f->inject) : 0;
}

void filter_record(struct conn *c)
{
	struct filter *f = c->http->filter;
	const char *name;

	while (f && (name = inject_next_injected(f->inject)))
		record_injected(c, name);
}
