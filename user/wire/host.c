/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one parser of host names and of every loose notation of an address; see host.h. Whatever is
 * neither a plain name nor an address in some notation is refused. Embedded addresses: embed.c.
 */
#include "host.h"

#include <errno.h>
#include <string.h>

#include "../base/num.h"
#include "embed.h"

/* Lower-case form of each byte that may stand in a name; 0: none may. */
static const char folded[256] = {
	['-'] = '-',
	['.'] = '.',
	['_'] = '_',
	['0'] = '0',
	['1'] = '1',
	['2'] = '2',
	['3'] = '3',
	['4'] = '4',
	['5'] = '5',
	['6'] = '6',
	['7'] = '7',
	['8'] = '8',
	['9'] = '9',
#define LETTER(upper, lower) [upper] = lower, [lower] = lower
	LETTER('A', 'a'),
	LETTER('B', 'b'),
	LETTER('C', 'c'),
	LETTER('D', 'd'),
	LETTER('E', 'e'),
	LETTER('F', 'f'),
	LETTER('G', 'g'),
	LETTER('H', 'h'),
	LETTER('I', 'i'),
	LETTER('J', 'j'),
	LETTER('K', 'k'),
	LETTER('L', 'l'),
	LETTER('M', 'm'),
	LETTER('N', 'n'),
	LETTER('O', 'o'),
	LETTER('P', 'p'),
	LETTER('Q', 'q'),
	LETTER('R', 'r'),
	LETTER('S', 's'),
	LETTER('T', 't'),
	LETTER('U', 'u'),
	LETTER('V', 'v'),
	LETTER('W', 'w'),
	LETTER('X', 'x'),
	LETTER('Y', 'y'),
	LETTER('Z', 'z'),
#undef LETTER
};

static bool is_label(const char *name, size_t first, size_t end)
{
	return end > first && end - first <= 63 && name[first] != '-' && name[end - 1] != '-';
}

/* Lower-cases into out and checks bytes and labels. Length without the trailing dot, or -EINVAL.
 * ret_last is where the last label begins. */
static int fold_name(const char *s, size_t len, char *out, size_t *ret_last)
{
	size_t label = 0;

	if (len && s[len - 1] == '.')
		len--;
	if (!len || len > HOST_MAX_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		char c = folded[(unsigned char)s[i]];

		if (!c)
			return -EINVAL;
		out[i] = c;
		if (c != '.')
			continue;
		if (!is_label(out, label, i))
			return -EINVAL;
		label = i + 1;
	}
	if (!is_label(out, label, len))
		return -EINVAL;
	out[len] = 0;
	*ret_last = label;
	return (int)len;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool is_all(const char *s, size_t len, int base)
{
	for (size_t i = 0; i < len; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): fold_name filled it */
		if (digit_of(s[i]) >= base)
			return false;
	return true;
}

/* Resolvers read a name whose last label is a number as an address, or fail: never as a name. */
static bool is_number(const char *s, size_t len)
{
	if (len >= 2 && s[0] == '0' && s[1] == 'x')
		return is_all(s + 2, len - 2, 16);
	return is_all(s, len, 10);
}

/* One part of inet_aton's notation: decimal, 0 octal, 0x hexadecimal. */
static int parse_part(const char *s, size_t len, uint64_t *ret)
{
	int base = 10;
	uint64_t v = 0;

	if (len > 1 && s[0] == '0') {
		base = s[1] == 'x' ? 16 : 8;
		s += base == 16 ? 2 : 1;
		len -= base == 16 ? 2 : 1;
	}
	if (!len || !is_all(s, len, base))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): as above */
		v = v * (uint64_t)base + (uint64_t)digit_of(s[i]);
		if (v > UINT32_MAX)
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

/* inet_aton(3): one to four parts, the last fills what is left. */
static int parse_v4(const char *s, size_t len, struct addr *ret)
{
	uint64_t parts[4], v = 0;
	size_t n = 0;

	for (size_t begin = 0; begin <= len; n++) {
		const char *dot = memchr(s + begin, '.', len - begin);
		size_t end = dot ? (size_t)(dot - s) : len;

		if (n == 4 || parse_part(s + begin, end - begin, &parts[n]) < 0)
			return -EINVAL;
		begin = end + 1;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (parts[i] > 255)
			return -EINVAL;
		v |= parts[i] << (24 - 8 * i);
	}
	if (parts[n - 1] >> (8 * (5 - n)))
		return -EINVAL;
	*ret = addr_from_v4((uint32_t)(v | parts[n - 1]));
	return 0;
}

void host_from_addr(const struct addr *a, struct host *ret)
{
	ret->kind = HOST_ADDR;
	ret->is_embedded = false;
	ret->is_local = false;
	ret->addr = *a;
	addr_print(a, ret->name);
	ret->len = (uint8_t)strlen(ret->name);
}

static int parse_bracketed(const char *s, size_t len, struct host *ret)
{
	struct addr a;

	/* Brackets around anything but an IPv6 address (a name, a zone) are no host. */
	if (len < 4 || s[len - 1] != ']' || !memchr(s, ':', len))
		return -EINVAL;
	if (addr_parse(s + 1, len - 2, &a) < 0)
		return -EINVAL;
	host_from_addr(&a, ret);
	return 0;
}

static bool is_localhost(const char *name, size_t len)
{
	static const char local[] = "localhost";
	size_t n = sizeof(local) - 1;

	return len >= n && name[len - n] == 'l' && !memcmp(name + len - n, local, n) &&
		(len == n || name[len - n - 1] == '.');
}

/* gcc makes `rep movs` of a memcpy whose length it knows to be small: thirty cycles for nothing,
 * a million times a list. */
static void copy_name(char *to, const char *from, size_t len)
{
	size_t i = 0;

	for (; i + 8 <= len; i += 8)
		memcpy(to + i, from + i, 8);
	for (; i < len; i++)
		to[i] = from[i];
	to[len] = 0;
}

int host_parse(const char *s, size_t len_bytes, struct host *ret)
{
	char name[HOST_MAX_BYTES + 1];
	struct addr a;
	size_t last;
	int len;

	if (len_bytes && s[0] == '[')
		return parse_bracketed(s, len_bytes, ret);
	len = fold_name(s, len_bytes, name, &last);
	if (len < 0)
		return len;
	if (name[last] <= '9' && is_number(name + last, (size_t)len - last)) {
		if (parse_v4(name, (size_t)len, &a) < 0)
			return -EINVAL;
		host_from_addr(&a, ret);
		return 0;
	}
	copy_name(ret->name, name, (size_t)len);
	ret->len = (uint8_t)len;
	ret->is_embedded = embed_find(name, (size_t)len, &ret->addr);
	ret->kind = ret->is_embedded ? HOST_ADDR : HOST_NAME;
	ret->is_local = !ret->is_embedded && is_localhost(name, (size_t)len);
	if (!ret->is_embedded)
		memset(&ret->addr, 0, sizeof(ret->addr));
	return 0;
}

int host_parse_port(const char *s, size_t len_bytes, struct host *ret, uint16_t *ret_port)
{
	const char *close = len_bytes && s[0] == '[' ? memchr(s, ']', len_bytes) : NULL;
	size_t from = close ? (size_t)(close - s) : 0;
	const char *colon = memchr(s + from, ':', len_bytes - from);
	size_t host_len = colon ? (size_t)(colon - s) : len_bytes;
	uint16_t port = 0;
	int r;

	if (colon && num_parse_port(colon + 1, len_bytes - host_len - 1, &port) < 0)
		return -EINVAL;
	r = host_parse(s, host_len, ret);
	if (r < 0)
		return r;
	*ret_port = port;
	return 0;
}

bool host_equal(const struct host *a, const struct host *b)
{
	return a->kind == b->kind && a->is_embedded == b->is_embedded && a->len == b->len &&
		!memcmp(a->name, b->name, a->len);
}
