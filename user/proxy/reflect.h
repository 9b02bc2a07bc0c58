/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credentials that a server gives back: taken out of its responses, their placeholders put in. Internal
 * to user/proxy; the way back of inject.h. Read ../wire/scrub.h for what is looked through.
 */
#ifndef NEJ_PROXY_REFLECT_H
#define NEJ_PROXY_REFLECT_H

#include "../wire/scrub.h"
#include "secret.h"

struct reflect {
	const struct secret_book *book; /* borrowed; outlives the sieves */
	uint64_t seen;                  /* bits: secrets that came back */
};

/* Fields may point into scratch afterwards. 0 or negative errno. */
int reflect_head(struct reflect *r, struct http1_head *head, struct buf *scratch);

/* The sieve for a body, NULL if there is nothing to look for; r outlives it. *ret_is_as_long: what
 * comes out has as many bytes as went in. 0; as scrub_decoder; -ENOMEM. */
int reflect_body(
	struct reflect *r, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long);

#endif
