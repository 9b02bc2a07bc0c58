/* SPDX-License-Identifier: GPL-2.0-only */
/* Percent-encoding; see percent.h. */
#include "percent.h"

#include <string.h>

static bool is_unreserved(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c && strchr("-._~", c));
}

void percent_encode(char c, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char u = (unsigned char)c;
	char escape[3] = {'%', digits[u >> 4], digits[u & 15]};

	if (is_unreserved(c))
		buf_add_char(out, c);
	else
		buf_add(out, escape, sizeof(escape));
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char percent_take(struct http1_text *t, bool *ret_is_broken)
{
	int high = t->len > 2 ? hex_of(t->ptr[1]) : -1, low = t->len > 2 ? hex_of(t->ptr[2]) : -1;
	size_t n = 1;
	char c = *t->ptr;

	*ret_is_broken = c == '%' && (high < 0 || low < 0);
	if (c == '%' && !*ret_is_broken) {
		c = (char)(high << 4 | low);
		n = 3;
	}
	t->ptr += n;
	t->len -= n;
	return c;
}
