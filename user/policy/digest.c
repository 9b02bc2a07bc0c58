/* SPDX-License-Identifier: GPL-2.0-only */
/* Digests of a policy and its files; see digest.h. */
#include "digest.h"

#include <errno.h>
#include <stdio.h>
#include <openssl/evp.h>

#include "../base/cleanup.h"

#define BYTES 32

DEFINE_CLEANUP(EVP_MD_CTX, EVP_MD_CTX_free);

int digest_policy(const char *text, size_t len_bytes, const struct draft *d,
	char ret_hex[static DIGEST_HEX_BYTES])
{
	_cleanup_(EVP_MD_CTX_free_ptr)
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char digest[BYTES];

	if (!ctx || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1 ||
		EVP_DigestUpdate(ctx, text, len_bytes) != 1)
		return -EIO;
	for (size_t i = 0; i < DRAFT_COUNT(d->lists, struct draft_list); i++) {
		const struct draft_list *list = DRAFT_AT(d->lists, struct draft_list, i);

		if (EVP_Digest(list->data, list->len, digest, NULL, EVP_sha256(), NULL) != 1 ||
			EVP_DigestUpdate(ctx, digest, sizeof(digest)) != 1)
			return -EIO;
	}
	for (size_t i = 0; i < DRAFT_COUNT(d->upstreams, struct draft_upstream); i++) {
		const struct draft_upstream *u = DRAFT_AT(d->upstreams, struct draft_upstream, i);

		if (u->ca_len &&
			(EVP_Digest(u->ca, u->ca_len, digest, NULL, EVP_sha256(), NULL) != 1 ||
				EVP_DigestUpdate(ctx, digest, sizeof(digest)) != 1))
			return -EIO;
	}
	if (EVP_DigestFinal_ex(ctx, digest, NULL) != 1)
		return -EIO;
	for (size_t i = 0; i < BYTES; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
