/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one request has to do with credentials: placeholders become values where the policy says so
 * and end the request anywhere else; its response gives no value back. Internal to user/proxy. Knows
 * no connection: request.c and response.c call it.
 */
#ifndef NEJ_PROXY_INJECT_H
#define NEJ_PROXY_INJECT_H

#include "../wire/scrub.h"
#include "record.h"
#include "secret.h"

struct inject;

struct inject_ask {
	const struct policy *policy; /* the one that decided */
	const struct host *host;
	uint16_t port;
	bool is_tls; /* towards the server, its certificate verified */
};

/* *ret NULL: the sandbox has no secrets. 0 or -ENOMEM. store may be NULL. */
int inject_new(struct secret_store *store, const struct inject_ask *ask, struct inject **ret);
void inject_free(struct inject *in); /* NULL is fine; after the sieves it made */

/* The results of the calls below that refuse a request. */
#define INJECT_LEAK (-EPERM)      /* a placeholder where it may not be */
#define INJECT_MISSING (-ENOKEY)  /* the credential has no value now */
#define INJECT_FRAMING (-EBADMSG) /* more than one Authorization beside a credential */

/* Before anything is printed. Values of fields and *path (the request line's target as it goes up)
 * may point into scratch afterwards, which holds values then: to be wiped. Accept-Encoding becomes
 * what the response's sieve can read. 0, one of the above, -ENOMEM. in may be NULL. */
int inject_head(
	struct inject *in, struct http1_head *head, struct http1_text *path, struct buf *scratch);

/* The request's body and trailers, without their framing, have to pass this sieve; *ret NULL: none
 * needed. *ret_is_swap: its length may change (it only looks otherwise). An error of the sieve is one
 * of the above; what it let pass before that never held a whole placeholder. */
int inject_body(
	struct inject *in, const struct http1_head *head, struct sieve **ret, bool *ret_is_swap);

/* A body of known length that is so short that it is better looked at whole, before anything goes up:
 * at most so many bytes, 0: it is not. Then inject_whole_body, behind inject_head, instead of
 * inject_body; body is replaced. 0 or as above. */
size_t inject_wants_whole(const struct inject *in, const struct http1_head *head);
int inject_whole_body(struct inject *in, const struct http1_head *head, struct buf *body);

/* Must the response be scrubbed? Every one of a host under some `for` is: what an earlier request put
 * there may come back with a later one. */
bool inject_is_scrubbed(const struct inject *in);

/* Takes values out of a response's head (fields may point into scratch afterwards). 1xx too. 0 or
 * a negative errno: the response cannot be passed on. */
int inject_response_head(struct inject *in, struct http1_head *head, struct buf *scratch);

/* The sieve for the body of a final response (of HEAD and 304 there is none). *ret_is_as_long: what
 * comes out has as many bytes as went in. 0; -EPROTONOSUPPORT, -EBADMSG as scrub_decoder; -ENOMEM. */
int inject_response_body(
	struct inject *in, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long);

/* --- secrets that sign and are never sent, for aws.c */

/* The one at or behind *i that signs requests to this host, *i its number; NULL behind the last. */
const struct secret *inject_next_signing(const struct inject *in, size_t *i);
void inject_signed(struct inject *in, size_t i); /* as if it had been put in */
int inject_missing(struct inject *in, size_t i); /* INJECT_MISSING, with its name */
bool inject_swaps_body(const struct inject *in); /* may a credential get into the body? */

/* Credentials put in (or given back by the server and taken out) so far: the next one that was not
 * asked for before, NULL without. For the audit. */
const char *inject_next_injected(struct inject *in);
const char *inject_next_reflected(struct inject *in);
/* Which values went up, or may in the body; 0: none. Connections are only used again for the same. */
uint64_t inject_identity(const struct inject *in);

/* The refusal that a result is. Points into in. */
struct refusal inject_refusal(const struct inject *in, int result);

#endif
