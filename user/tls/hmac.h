/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 and HMAC-SHA256 (RFC 2104) of bytes at hand, and their comparison in constant time. */
#ifndef NEJ_TLS_HMAC_H
#define NEJ_TLS_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HMAC_BYTES 32
#define HMAC_HEX_BYTES 65 /* in hexadecimal, lower case, and a NUL */

/* 0, or -EIO when the library fails. */
int hmac_hash(const void *data, size_t len_bytes, char ret_hex[static HMAC_HEX_BYTES]);

/* ret may be key. 0, or -EIO. */
int hmac_sign(const void *key, size_t key_len, const void *data, size_t len_bytes,
	uint8_t ret[static HMAC_BYTES]);

void hmac_print(const uint8_t raw[static HMAC_BYTES], char out[static HMAC_HEX_BYTES]);

/* Takes as long whether and wherever they differ. */
bool hmac_equal(const void *a, const void *b, size_t len_bytes);

#endif
