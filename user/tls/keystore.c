/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a JKS file; see keystore.h. Numbers are big-endian; a text has two bytes of length before
 * it. Behind the entries stands SHA-1 over the password in UTF-16, a fixed phrase and the file so
 * far: a check against accidents that the format asks for, nothing that protects.
 */
#include "keystore.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "bundle.h"

#define MAGIC 0xfeedfeedu
#define VERSION 2
#define TAG_TRUSTED 2
#define PHRASE "Mighty Aphrodite"

DEFINE_CLEANUP(EVP_MD_CTX, EVP_MD_CTX_free);

static void add_u32(struct buf *out, uint32_t v)
{
	v = htonl(v);
	buf_add(out, &v, sizeof(v));
}

static void add_text(struct buf *out, const char *s)
{
	uint16_t len = htons((uint16_t)strlen(s));

	buf_add(out, &len, sizeof(len));
	buf_add(out, s, strlen(s));
}

static void add_certificate(struct buf *out, int index, const struct buf *der)
{
	char alias[24];

	snprintf(alias, sizeof(alias), "root-%d", index);
	add_u32(out, TAG_TRUSTED);
	add_text(out, alias);
	add_u32(out, 0); /* when it was added: 1970, in ms */
	add_u32(out, 0);
	add_text(out, "X.509");
	add_u32(out, (uint32_t)der->len);
	buf_add(out, der->data, der->len);
}

static int add_digest(struct buf *out, size_t from)
{
	_cleanup_(EVP_MD_CTX_free_ptr)
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len;

	if (!ctx)
		return -ENOMEM;
	if (!EVP_DigestInit_ex(ctx, EVP_sha1(), NULL))
		return -EOPNOTSUPP;
	for (const char *p = KEYSTORE_PASSWORD; *p; p++) {
		char wide[2] = {0, *p};

		EVP_DigestUpdate(ctx, wide, sizeof(wide));
	}
	EVP_DigestUpdate(ctx, PHRASE, strlen(PHRASE));
	EVP_DigestUpdate(ctx, out->data + from, out->len - from);
	if (!EVP_DigestFinal_ex(ctx, digest, &len))
		return -EIO;
	buf_add(out, digest, len);
	return 0;
}

int keystore_print(const struct buf *pem, struct buf *out)
{
	_cleanup_(buf_done)
	struct buf der = {0};
	const char *at = pem->data, *end = pem->data + pem->len;
	size_t from = out->len;
	uint32_t count_be;
	int r, n = 0;

	add_u32(out, MAGIC);
	add_u32(out, VERSION);
	add_u32(out, 0);
	while (pem->len && (r = bundle_next(&at, end, &der)) != 0) {
		if (r == -ENOMEM)
			return r;
		if (r > 0)
			add_certificate(out, ++n, &der);
	}
	if (out->is_failed)
		return -ENOMEM;
	count_be = htonl((uint32_t)n);
	memcpy(out->data + from + 8, &count_be, sizeof(count_be));
	r = add_digest(out, from);
	if (r < 0)
		return r;
	return out->is_failed ? -ENOMEM : n;
}
