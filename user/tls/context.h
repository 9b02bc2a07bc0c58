/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all TLS connections of the worker share: the sandbox's authority, the roots for origins, the
 * settings of both sides, sessions of origins to resume. Made once, before confinement; any thread
 * may use it. Read session.h next.
 */
#ifndef NEJ_TLS_CONTEXT_H
#define NEJ_TLS_CONTEXT_H

#include <stddef.h>

#include "../base/buf.h"

struct context;

struct context_options {
	const char *sandbox; /* for the authority's name */
	/* PEM files of further roots, and how many; the system's are always there */
	const char *const *extra_roots;
	unsigned int n_extra_roots;
	const char *root_bundle; /* instead of the system's; NULL */
};

/* 0; negative errno with *ret_what naming what failed (a path, or a step). */
int context_new(const struct context_options *options, struct context **ret, const char **ret_what);
/* A server with a certificate of its own: PEM of it, its chain and its key, in any order but the
 * certificate first. No authority, no client side. -EINVAL: they are not there, or do not belong
 * together. */
int context_new_fixed(
	const char *pem, size_t len_bytes, struct context **ret, const char **ret_what);
void context_free(struct context *cx);

/* Appends the authority's certificate in DER: what clients in the sandbox must trust. */
int context_print_ca(const struct context *cx, struct buf *out);

/* --- for the rest of user/tls */

struct ca;
struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tickets;

struct ca *context_ca(const struct context *cx);
struct ssl_ctx_st *context_server(const struct context *cx);
struct ssl_ctx_st *context_client(const struct context *cx);
struct tickets *context_tickets(const struct context *cx);

#endif
