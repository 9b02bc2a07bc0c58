/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ephemeral certificate authority of one sandbox, and the leaf certificates it signs. Its key
 * lives in this process alone and is never written. Read session.h for who presents the leaves.
 */
#ifndef NEJ_TLS_CA_H
#define NEJ_TLS_CA_H

#include "../base/buf.h"
#include "../wire/host.h"

struct ca;
struct x509_st; /* OpenSSL's X509 */
struct evp_pkey_st;

/* A new authority (ECDSA P-256), named after the sandbox. 0 or negative errno. */
int ca_new(const char *sandbox, struct ca **ret);
void ca_free(struct ca *ca);

/* Appends the authority's certificate in DER. */
int ca_print_der(const struct ca *ca, struct buf *out);

/* The leaf certificate for a name or an address, minted when it is first asked for, kept for
 * NEJ_MAX_LEAVES hosts; any thread may ask. The reference is the caller's (X509_free). */
int ca_leaf(struct ca *ca, const struct host *host, struct x509_st **ret);

/* The key all leaves share; the authority's own reference. */
struct evp_pkey_st *ca_leaf_key(const struct ca *ca);

#endif
