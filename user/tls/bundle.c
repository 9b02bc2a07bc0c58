/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes PEM; see bundle.h. What need not be decoded is copied as it is. */
#include "bundle.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"

DEFINE_CLEANUP(EVP_ENCODE_CTX, EVP_ENCODE_CTX_free);
DEFINE_CLEANUP(X509, X509_free);

/* Debian, Arch, Gentoo; Fedora, RHEL; their older place; openSUSE; Alpine, OpenBSD. */
const char *const bundle_system_paths[] = {"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", NULL};

const char *bundle_find_system(void)
{
	for (size_t i = 0; bundle_system_paths[i]; i++)
		if (access(bundle_system_paths[i], R_OK) == 0)
			return bundle_system_paths[i];
	return NULL;
}

struct block {
	const char *begin, *end; /* with its lines of dashes */
	const char *text;        /* base64 */
	size_t text_len;
};

static bool find_block(const char *at, const char *end, struct block *ret)
{
	const char *begin = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN));
	const char *text, *stop;

	if (!begin)
		return false;
	text = begin + strlen(BEGIN);
	stop = memmem(text, (size_t)(end - text), END, strlen(END));
	if (!stop)
		return false;
	*ret = (struct block){begin, stop + strlen(END), text, (size_t)(stop - text)};
	return true;
}

#define SKIP 64
#define WRONG 65

/* What each byte is in base64 (RFC 4648 section 4); `=` counts as zeroes. */
static void fill_digits(uint8_t table[static 256])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	memset(table, WRONG, 256);
	for (uint8_t i = 0; i < 64; i++)
		table[(uint8_t)digits[i]] = i;
	table['\n'] = table['\r'] = table[' '] = table['\t'] = SKIP;
	table['='] = 0;
}

/* By hand: OpenSSL's takes many times as long, and a system has 140 of them. */
static int decode(const struct block *b, struct buf *der)
{
	const uint8_t *p = (const uint8_t *)b->text, *end = p + b->text_len;
	size_t n = 0, n_pads = 0;
	uint8_t table[256], *out;
	uint32_t bits = 0;

	fill_digits(table);
	buf_clear(der);
	if (buf_reserve(der, b->text_len) < 0)
		return -ENOMEM;
	out = (uint8_t *)der->data;
	for (; p < end; p++) {
		uint8_t value = table[*p];

		if (value == SKIP)
			continue;
		n_pads += *p == '=';
		if (value == WRONG || (n_pads && *p != '='))
			return -EINVAL;
		bits = bits << 6 | value;
		if (++n % 4)
			continue;
		*out++ = (uint8_t)(bits >> 16);
		*out++ = (uint8_t)(bits >> 8);
		*out++ = (uint8_t)bits;
	}
	if (!n || n % 4 || n_pads > 2)
		return -EINVAL;
	der->len = (size_t)(out - (uint8_t *)der->data) - n_pads;
	return 0;
}

int bundle_next(const char **at, const char *end, struct buf *der)
{
	struct block b;
	int r;

	if (!find_block(*at, end, &b))
		return 0;
	*at = b.end;
	r = decode(&b, der);
	return r < 0 ? r : 1;
}

static int check_sound(const struct block *b)
{
	_cleanup_(buf_done)
	struct buf der = {0};
	_cleanup_(X509_free_ptr)
	X509 *x = NULL;
	const unsigned char *at;
	int r = decode(b, &der);

	if (r < 0)
		return r;
	at = (const unsigned char *)der.data;
	x = d2i_X509(NULL, &at, (long)der.len);
	return x && at == (const unsigned char *)der.data + der.len ? 0 : -EINVAL;
}

int bundle_add_file(struct buf *pem, const char *path, bool wants_sound)
{
	_cleanup_free_ char *text = NULL;
	const char *at, *end;
	struct block b;
	size_t len;
	int n = 0, r = file_read(path, BUNDLE_MAX_BYTES, &text, &len);

	if (r < 0)
		return r;
	end = text + len;
	for (at = text; find_block(at, end, &b); at = b.end, n++) {
		r = wants_sound ? check_sound(&b) : 0;
		if (r < 0)
			return r;
		buf_add(pem, b.begin, (size_t)(b.end - b.begin));
		buf_add_char(pem, '\n');
	}
	return pem->is_failed ? -ENOMEM : n;
}

int bundle_hash_name(const void *der, size_t len_bytes, char ret[static 9])
{
	_cleanup_(X509_free_ptr)
	X509 *x = NULL;
	const unsigned char *at = der;

	x = d2i_X509(NULL, &at, (long)len_bytes);
	if (!x || at != (const unsigned char *)der + len_bytes)
		return -EINVAL;
	snprintf(ret, 9, "%08lx", X509_subject_name_hash(x) & 0xffffffffu);
	return 0;
}

int bundle_add_der(struct buf *pem, const void *der, size_t len_bytes)
{
	_cleanup_(EVP_ENCODE_CTX_free_ptr)
	EVP_ENCODE_CTX *ctx = EVP_ENCODE_CTX_new();
	int n = 0, rest = 0;

	buf_add_str(pem, BEGIN "\n");
	/* four bytes for three, a newline each 64 of them, and what is always there */
	if (!ctx || buf_reserve(pem, len_bytes / 48 * 65 + 128) < 0)
		return -ENOMEM;
	EVP_EncodeInit(ctx);
	EVP_EncodeUpdate(ctx, (unsigned char *)pem->data + pem->len, &n, der, (int)len_bytes);
	EVP_EncodeFinal(ctx, (unsigned char *)pem->data + pem->len + n, &rest);
	pem->len += (size_t)n + (size_t)rest;
	buf_add_str(pem, END "\n");
	return pem->is_failed ? -ENOMEM : 0;
}
