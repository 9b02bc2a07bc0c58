/* SPDX-License-Identifier: GPL-2.0-only */
/* Base64; see base64.h. */
#include "base64.h"

#include <errno.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t len_bytes, struct buf *out)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len_bytes; i += 3) {
		size_t n = len_bytes - i < 3 ? len_bytes - i : 3;
		uint32_t v = (uint32_t)p[i] << 16;

		if (n > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (n > 2)
			v |= p[i + 2];
		buf_add_char(out, alphabet[v >> 18]);
		buf_add_char(out, alphabet[v >> 12 & 63]);
		buf_add_char(out, n > 1 ? alphabet[v >> 6 & 63] : '=');
		buf_add_char(out, n > 2 ? alphabet[v & 63] : '=');
	}
}

/* Without a table: how long it takes says nothing about which byte it was. */
static int value_of(char c)
{
	int is_upper = (c >= 'A') & (c <= 'Z'), is_lower = (c >= 'a') & (c <= 'z');
	int is_digit = (c >= '0') & (c <= '9'), is_plus = c == '+', is_slash = c == '/';
	int is_any = is_upper | is_lower | is_digit | is_plus | is_slash;

	return is_upper * (c - 'A') + is_lower * (c - 'a' + 26) + is_digit * (c - '0' + 52) +
		is_plus * 62 + is_slash * 63 - !is_any;
}

int base64_decode(const char *text, size_t len_bytes, void *out, size_t *ret_len)
{
	uint8_t *p = out;
	size_t n_pad = 0, n = 0;

	if (len_bytes % 4)
		return -EINVAL;
	while (n_pad < 2 && n_pad < len_bytes && text[len_bytes - 1 - n_pad] == '=')
		n_pad++;
	for (size_t i = 0; i < len_bytes; i += 4) {
		size_t pad = i + 4 == len_bytes ? n_pad : 0;
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			int six = k < 4 - pad ? value_of(text[i + k]) : 0;

			if (six < 0)
				return -EINVAL;
			v = v << 6 | (uint32_t)six;
		}
		if ((pad == 1 && v & 0xff) || (pad == 2 && v & 0xffff))
			return -EINVAL;
		p[n++] = (uint8_t)(v >> 16);
		if (pad < 2)
			p[n++] = (uint8_t)(v >> 8);
		if (pad < 1)
			p[n++] = (uint8_t)v;
	}
	*ret_len = n;
	return 0;
}
