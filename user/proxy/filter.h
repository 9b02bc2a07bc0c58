/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an allowed request and its response must pass beyond the policy's verdict: credentials
 * (inject.h), AWS signatures (aws.h), and what its rule says of its content (content.h). A request
 * that has to do with none of it has no filter. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_FILTER_H
#define NEJ_PROXY_FILTER_H

#include "body.h"
#include "record.h"

struct aws;
struct content;
struct inject;

struct filter {
	struct inject *inject;   /* NULL: no credentials */
	struct aws *aws;         /* NULL: nothing to sign */
	struct content *content; /* NULL: the rule says nothing of it */
	struct buf scratch;      /* texts of fields that were replaced; holds credentials */
	struct buf raw;          /* the request's head as it came, while its body is collected */
	struct buf body;         /* collected, without framing */
	size_t max_body;         /* what may be collected; 0: nothing is */
	const char *too_large;   /* what to say of a larger one; NULL: nothing of its own */
	bool is_collected;       /* the body stands behind the printed head */
};

void filter_free(struct filter *f); /* NULL is fine */

/* A body goes up with the head: the request must not be sent a second time. */
static inline bool filter_has_body(const struct filter *f)
{
	return f && f->is_collected;
}

/* A request is allowed: makes c->http->filter if it has to pass one. 1: its body is wanted first,
 * at most max_body of it; 0: filter_request at once; negative: refused, *ret_why says why. */
int filter_begin(struct conn *c, const struct http1_head *head, struct refusal *ret_why);

/* Before the head is printed: replaces fields of it and *path. body: as collected, may be replaced;
 * NULL when it was not. 0; negative: refused, *ret_why says why. */
int filter_request(struct conn *c, struct http1_head *head, struct http1_text *path,
	struct buf *body, struct refusal *ret_why);

/* The sieve for a body that is not collected, NULL without; *ret_is_rechunked: its length may
 * change. 0 or negative as above. */
int filter_request_body(struct conn *c, const struct http1_head *head, struct sieve **ret,
	bool *ret_is_rechunked, struct refusal *ret_why);
/* What an error of that sieve means. */
struct refusal filter_refusal(const struct conn *c, int error);

/* A response's head came (1xx too): replaces fields of it. 0 or negative errno: it cannot be passed
 * on. */
int filter_response(struct conn *c, struct http1_head *head);
/* The sieve for the body of a final response, NULL without; *ret_is_as_long: what comes out has as
 * many bytes as went in. As above. */
int filter_response_body(
	struct conn *c, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long);

/* The credentials that went up with the request; 0: none. */
uint64_t filter_identity(const struct conn *c);

/* The record of the request is written: those of what was put in follow. */
void filter_record(struct conn *c);
/* The exchange is over: those of what its body got, and of what came back. */
void filter_record_end(struct conn *c);

#endif
