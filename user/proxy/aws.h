/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part that AWS signatures have in a request's filter: which of the sandbox's secrets signed it,
 * and when to sign it anew. Internal to user/proxy; filter.c calls it. resign.h signs.
 */
#ifndef NEJ_PROXY_AWS_H
#define NEJ_PROXY_AWS_H

#include "../wire/sieve.h"
#include "inject.h"

struct aws;

/* Looks at a request as it came. path: with its query. *ret NULL: there is nothing to sign. 1: its
 * body is wanted first, at most RESIGN_MAX_BODY_BYTES; 0; negative: refused, *ret_why says why. */
int aws_new(struct inject *in, const struct http1_head *head, struct http1_text path,
	struct aws **ret, struct refusal *ret_why);
void aws_free(struct aws *a); /* NULL is fine, for the calls below too */

/* Before anything is replaced: was it signed with a placeholder? Then the true key id is put in.
 * body: NULL when it was not collected. 0, INJECT_MISSING, or another negative errno. */
int aws_verify(
	struct aws *a, struct http1_head *head, struct http1_text *path, const struct buf *body);

/* Behind every other change: the signature. A collected body of signed chunks is signed too. host:
 * what Host will say. 0, or as above; -EBADMSG: a chunk is not signed with the placeholder. */
int aws_sign(struct aws *a, struct http1_head *head, struct http1_text *path,
	struct http1_text host, struct buf *body);

/* What an error of signed chunks means; false: this is none of them. */
bool aws_refusal(const struct aws *a, int error, struct refusal *ret_why);

/* The sieve for a body of signed chunks that is not collected; *ret NULL: none needed. held_bytes as
 * in rechunk.h. 0 or -ENOMEM. */
int aws_body(struct aws *a, size_t *held_bytes, struct sieve **ret);

#endif
