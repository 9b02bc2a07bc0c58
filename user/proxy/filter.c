/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joins a request to what looks into it; see filter.h. Nothing is decided here that the policy did
 * not say.
 */
#include "filter.h"

#include <errno.h>
#include <stdlib.h>

#include "aws.h"
#include "content.h"
#include "http.h"
#include "inject.h"
#include "resign.h"

void filter_free(struct filter *f)
{
	if (!f)
		return;
	aws_free(f->aws);
	inject_free(f->inject);
	content_free(f->content);
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
	if (!aws_refusal(h->filter->aws, error, &why))
		why = inject_refusal(h->filter->inject, error);
	why.rule = h->rule;
	return why;
}

static struct http1_text path_of(const struct http *h)
{
	return (struct http1_text){h->url.data + h->path_at, h->url.len - h->path_at};
}

static int make_parts(struct conn *c, struct filter *f)
{
	const struct policy *policy = *c->proxy->o.policy;
	struct http *h = c->http;
	const struct inject_ask ask = {
		.policy = policy,
		.host = &h->host,
		.port = h->host_port,
		.is_tls = h->is_tls,
	};
	int r = c->proxy->o.secrets ? inject_new(c->proxy->o.secrets, &ask, &f->inject) : 0;

	return r < 0 || h->is_host_port ? r : content_new(policy, h->rule, path_of(h), &f->content);
}

/* Which of the parts want the body. */
static int begin_parts(struct http *h, const struct http1_head *head, struct refusal *ret_why)
{
	struct filter *f = h->filter;
	int wants = f->content ? content_begin(f->content, head, &f->max_body, ret_why) : 0, r;

	if (wants < 0)
		return wants;
	r = aws_new(f->inject, head, path_of(h), &f->aws, ret_why);
	if (r < 0) {
		ret_why->rule = h->rule;
		return r;
	}
	if (r > 0 && (!wants || f->max_body > RESIGN_MAX_BODY_BYTES))
		f->max_body = RESIGN_MAX_BODY_BYTES;
	if (r > 0)
		f->too_large = "the body is too large to be signed again: let the client name its "
			       "hash in x-amz-content-sha256";
	if (wants || r)
		return 1;
	f->max_body = inject_wants_whole(f->inject, head);
	return f->max_body > 0;
}

int filter_begin(struct conn *c, const struct http1_head *head, struct refusal *ret_why)
{
	struct http *h = c->http;
	struct filter parts = {0};
	int r = make_parts(c, &parts);

	if (r == 0 && (parts.inject || parts.content)) {
		h->filter = calloc(1, sizeof(*h->filter));
		r = h->filter ? 0 : -ENOMEM;
	}
	if (r < 0) {
		inject_free(parts.inject);
		content_free(parts.content);
		return fail(c, r, ret_why);
	}
	if (!h->filter)
		return 0;
	*h->filter = parts;
	return begin_parts(h, head, ret_why);
}

/* As Host will say it. */
static struct http1_text host_of(const struct http *h)
{
	size_t at = h->is_tls ? sizeof("https://") - 1 : sizeof("http://") - 1;

	return (struct http1_text){h->url.data + at, h->path_at - at};
}

/* What is in a body is judged before credentials get into it; a signature is over all there is. */
int filter_request(struct conn *c, struct http1_head *head, struct http1_text *path,
	struct buf *body, struct refusal *ret_why)
{
	struct filter *f = c->http->filter;
	int r;

	if (!f)
		return 0;
	r = f->content ? content_request(f->content, head, body, ret_why) : 0;
	if (r < 0)
		return r;
	r = aws_verify(f->aws, head, path, body);
	if (r == 0)
		r = inject_head(f->inject, head, path, &f->scratch);
	if (r == 0 && body)
		r = inject_whole_body(f->inject, head, body);
	if (r == 0)
		r = aws_sign(f->aws, head, path, host_of(c->http), body);
	return r < 0 ? fail(c, r, ret_why) : 0;
}

int filter_request_body(struct conn *c, const struct http1_head *head, struct sieve **ret,
	bool *ret_is_rechunked, struct refusal *ret_why)
{
	struct filter *f = c->http->filter;
	struct sieve *signs;
	int r;

	*ret = NULL;
	*ret_is_rechunked = false;
	if (!f || head->body == HTTP1_BODY_NONE)
		return 0;
	r = inject_body(f->inject, head, ret, ret_is_rechunked);
	if (r == 0)
		r = aws_body(f->aws, &c->proxy->held_bytes, &signs);
	if (r == 0 && signs) {
		signs->next = *ret;
		*ret = signs;
	}
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

int filter_response_body(
	struct conn *c, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long)
{
	struct filter *f = c->http->filter;
	struct sieve *lists = NULL, **last = ret;
	int r;

	*ret = NULL;
	*ret_is_as_long = true;
	if (!f || head->body == HTTP1_BODY_NONE)
		return 0;
	r = inject_response_body(f->inject, head, ret, ret_is_as_long);
	if (r == 0 && f->content)
		r = content_response_body(f->content, head, &c->proxy->held_bytes, &lists);
	/* behind what decompresses */
	while (*last)
		last = &(*last)->next;
	*last = lists;
	*ret_is_as_long &= !lists;
	return r;
}

uint64_t filter_identity(const struct conn *c)
{
	const struct filter *f = c->http->filter;

	return f ? inject_identity(f->inject) : 0;
}

static void record(struct conn *c, enum audit_kind kind, const char *(*next)(struct inject *in))
{
	const struct ask ask = request_ask(c->http);
	struct inject *in = c->http->filter->inject;
	const char *name;

	while ((name = next(in)))
		record_secret(c, kind, &ask, c->http->rule, name);
}

void filter_record(struct conn *c)
{
	if (c->http->filter)
		record(c, AUDIT_SECRET_INJECTED, inject_next_injected);
}

void filter_record_end(struct conn *c)
{
	if (!c->http->filter)
		return;
	record(c, AUDIT_SECRET_INJECTED, inject_next_injected);
	record(c, AUDIT_SECRET_REFLECTED, inject_next_reflected);
}
