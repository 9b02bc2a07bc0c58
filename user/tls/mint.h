/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds and signs certificates: the authority's own and leaves. Profiles follow RFC 5280 as the
 * strictest verifiers read it. Internal to user/tls; ca.h is for the others.
 */
#ifndef NEJ_TLS_MINT_H
#define NEJ_TLS_MINT_H

#include <openssl/x509.h>

#include "../wire/host.h"

#define MINT_LEAF_S (7 * 24 * 3600)       /* validity of a leaf from its making */
#define MINT_CA_S (10u * 365 * 24 * 3600) /* of the authority */
#define MINT_SKEW_S 3600                  /* both begin this long ago: clocks differ */

/* A P-256 key made the old way (EC_KEY): OpenSSL 3.0 copies such a key into a certificate without
 * encoding and decoding it, 180 us less for each leaf. NULL on failure. */
EVP_PKEY *mint_key(void);

/* A self-signed authority that may sign leaves only. NULL on failure. */
X509 *mint_ca(EVP_PKEY *key, const char *sandbox);

/* What all leaves of an authority have in common: extensions already encoded. */
struct mint_profile {
	X509_EXTENSION *usage, *purpose, *subject_key, *authority_key;
};

int mint_profile_init(struct mint_profile *p, const X509 *ca, EVP_PKEY *leaf_key);
void mint_profile_done(struct mint_profile *p);

/* A leaf for one name or address, signed by the authority. NULL on failure. */
X509 *mint_leaf(const struct mint_profile *p, const X509 *ca, EVP_PKEY *ca_key, EVP_PKEY *leaf_key,
	const struct host *host);

#endif
