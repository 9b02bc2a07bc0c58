/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 and HMAC-SHA256; see hmac.h. */
#include "hmac.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

void hmac_print(const uint8_t raw[static HMAC_BYTES], char out[static HMAC_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < HMAC_BYTES; i++) {
		out[2 * i] = digits[raw[i] >> 4];
		out[2 * i + 1] = digits[raw[i] & 15];
	}
	out[2 * HMAC_BYTES] = 0;
}

int hmac_hash(const void *data, size_t len_bytes, char ret_hex[static HMAC_HEX_BYTES])
{
	uint8_t raw[HMAC_BYTES];

	if (EVP_Digest(data, len_bytes, raw, NULL, EVP_sha256(), NULL) != 1)
		return -EIO;
	hmac_print(raw, ret_hex);
	return 0;
}

int hmac_sign(const void *key, size_t key_len, const void *data, size_t len_bytes,
	uint8_t ret[static HMAC_BYTES])
{
	uint8_t raw[HMAC_BYTES];

	if (key_len > INT_MAX || !HMAC(EVP_sha256(), key, (int)key_len, data, len_bytes, raw, NULL))
		return -EIO;
	memcpy(ret, raw, sizeof(raw));
	explicit_bzero(raw, sizeof(raw));
	return 0;
}

bool hmac_equal(const void *a, const void *b, size_t len_bytes)
{
	return CRYPTO_memcmp(a, b, len_bytes) == 0;
}
