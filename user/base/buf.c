/* SPDX-License-Identifier: GPL-2.0-only */
/* A growable byte buffer with JSON string encoding; see buf.h. */
#include "buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b)
{
	memset(b, 0, sizeof(*b));
}

void buf_done(struct buf *b)
{
	free(b->data);
	buf_init(b);
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->is_failed = false;
	if (b->data)
		b->data[0] = 0;
}

int buf_reserve(struct buf *b, size_t more_bytes)
{
	size_t cap = b->cap ? b->cap : 64;
	char *data;

	if (b->is_failed || more_bytes > SIZE_MAX / 2 - b->len) {
		b->is_failed = true;
		return -ENOMEM;
	}
	if (b->len + more_bytes < b->cap)
		return 0;
	while (cap <= b->len + more_bytes)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->is_failed = true;
		return -ENOMEM;
	}
	b->data = data;
	b->cap = cap;
	return 0;
}

void buf_add(struct buf *b, const void *data, size_t len_bytes)
{
	if (buf_reserve(b, len_bytes) < 0)
		return;
	if (len_bytes)
		memcpy(b->data + b->len, data, len_bytes);
	b->len += len_bytes;
	b->data[b->len] = 0;
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_add_u64(struct buf *b, unsigned long long v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_add(b, digits + n, sizeof(digits) - n);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n >= 0 && buf_reserve(b, (size_t)n) == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	} else {
		b->is_failed = true;
	}
	va_end(again);
}

void buf_drop_front(struct buf *b, size_t len_bytes)
{
	if (len_bytes > b->len)
		len_bytes = b->len;
	if (!len_bytes)
		return;
	memmove(b->data, b->data + len_bytes, b->len - len_bytes);
	b->len -= len_bytes;
	b->data[b->len] = 0;
}

/* One code point of UTF-8 (RFC 3629: shortest form, no surrogates). Returns its length, 0 if bad. */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		size_t n = f + 2;
		uint32_t c;

		if ((s[0] & forms[f].mask) != forms[f].lead)
			continue;
		if (n > len)
			return 0;
		c = s[0] & (unsigned char)~forms[f].mask;
		for (size_t i = 1; i < n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < forms[f].min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return 0;
		*ret = c;
		return n;
	}
	return 0;
}

static void add_escape(struct buf *b, uint32_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {
		'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};

	buf_add(b, text, sizeof(text));
}

static void add_code_point(struct buf *b, uint32_t c)
{
	if (c < 0x10000) {
		add_escape(b, c);
		return;
	}
	c -= 0x10000;
	add_escape(b, 0xd800 | c >> 10);
	add_escape(b, 0xdc00 | (c & 0x3ff));
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void buf_add_json(struct buf *b, const char *s, size_t len_bytes, size_t max_bytes)
{
	const unsigned char *p = (const unsigned char *)s;
	bool is_cut = len_bytes > max_bytes;
	size_t len = is_cut ? max_bytes : len_bytes;

	buf_add_char(b, '"');
	for (size_t i = 0; i < len;) {
		size_t run = i;
		uint32_t c;
		size_t n;

		while (run < len && is_plain(p[run]))
			run++;
		buf_add(b, s + i, run - i);
		i = run;
		if (i == len)
			break;
		if (p[i] == '"' || p[i] == '\\') {
			char pair[2] = {'\\', (char)p[i++]};

			buf_add(b, pair, 2);
		} else if (p[i] < 0x80) {
			add_escape(b, p[i++]);
		} else {
			n = utf8_decode(p + i, len - i, &c);
			add_code_point(b, n ? c : 0xfffd);
			i += n ? n : 1;
		}
	}
	if (is_cut)
		add_escape(b, 0x2026);
	buf_add_char(b, '"');
}
