/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a rule says about the content of its requests: which MCP tools they may call, and that model
 * APIs may not search or fetch by themselves. One object a request. Internal to user/proxy. Knows no
 * connection: filter.c calls it. What bodies mean is wire/jsonrpc.h's and wire/modelapi.h's.
 */
#ifndef NEJ_PROXY_CONTENT_H
#define NEJ_PROXY_CONTENT_H

#include "../wire/sieve.h"
#include "record.h"

/* Of requests that are looked into, refused with 413: MCP has small ones, and 32 MB is the most that
 * the messages API of Anthropic takes. */
#define CONTENT_MAX_MCP (4u << 20)
#define CONTENT_MAX_HOSTED (32u << 20)

struct content;

/* *ret NULL: the rule has no such option. The policy is not used afterwards. path: the request
 * target's path (a query may follow). 0 or -ENOMEM. */
int content_new(
	const struct policy *p, uint32_t rule, struct http1_text path, struct content **ret);
void content_free(struct content *ct); /* NULL is fine; after the sieves it made */

/* The allowed request's head. 1: its body is wanted, whole and without framing, at most *ret_max
 * bytes of it, before anything goes up; 0: nothing more; negative: refused, *ret_why says why and
 * points into ct. */
int content_begin(struct content *ct, const struct http1_head *head, size_t *ret_max,
	struct refusal *ret_why);

/* The head again, and the body if it was wanted (else NULL). Accept-Encoding may be replaced. 0 or
 * negative as above. */
int content_request(struct content *ct, struct http1_head *head, const struct buf *body,
	struct refusal *ret_why);

/* The sieve for a final response's body, *ret NULL without; its length may change. What it keeps back
 * is counted in *held_bytes, up to NEJ_MAX_HELD_BYTES. 0; -EPROTONOSUPPORT: it cannot be read;
 * -ENOMEM. */
int content_response_body(
	struct content *ct, const struct http1_head *head, size_t *held_bytes, struct sieve **ret);

#endif
