/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the address in names of wildcard-address services; see embed.h. It reads more spellings
 * than any one service does: taking a name for an address can only refuse more.
 */
#include "embed.h"

#include <stdint.h>
#include <string.h>

/* Everything below these names stands for an address in it, or (is_loopback) for 127.0.0.1. */
static const struct service {
	const char *suffix; /* with its leading dot */
	size_t len;
	bool is_loopback;
} services[] = {
#define ROW(name, is_loopback)                                                                     \
	{                                                                                          \
		"." name, sizeof("." name) - 1, is_loopback                                        \
	}
	ROW("sslip.io", false),
	ROW("nip.io", false),
	ROW("xip.io", false),
	ROW("xip.name", false),
	ROW("traefik.me", false),
	ROW("backname.io", false),
	ROW("local-ip.co", false),
	ROW("local-ip.sh", false),
	ROW("local-ip.medicmobile.org", false),
	ROW("ip.addr.tools", false),
	ROW("rbndr.us", false),
	ROW("1u.ms", false),
	ROW("localtest.me", true),
	ROW("lvh.me", true),
	ROW("vcap.me", true),
	ROW("fuf.me", true),
	ROW("lacolhost.com", true),
	ROW("localho.st", true),
	ROW("local.gd", true),
	ROW("lndo.site", true),
	ROW("ddev.site", true),
	ROW("docksal.site", true),
#undef ROW
};

static bool is_separator(char c)
{
	return c == '.' || c == '-';
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One to three decimal digits up to 255; how many bytes they take, or 0. */
static size_t read_octet(const char *s, size_t len, uint32_t *ret)
{
	uint32_t v = 0;
	size_t n = 0;

	while (n < len && n < 3 && s[n] >= '0' && s[n] <= '9')
		v = v * 10 + (uint32_t)(s[n++] - '0');
	*ret = v;
	return v > 255 ? 0 : n;
}

/* `1.2.3.4` or `1-2-3-4` at s, ended by a separator or the end. */
static bool read_quad(const char *s, size_t len, struct addr *ret)
{
	uint32_t v = 0, octet;

	for (int i = 0; i < 4; i++) {
		size_t n = read_octet(s, len, &octet);

		if (!n)
			return false;
		v = v << 8 | octet;
		s += n;
		len -= n;
		if (i == 3)
			break;
		if (!len || !is_separator(*s))
			return false;
		s++;
		len--;
	}
	if (len && !is_separator(*s))
		return false;
	*ret = addr_from_v4(v);
	return true;
}

/* Eight hexadecimal digits, ended likewise. */
static bool read_hex(const char *s, size_t len, struct addr *ret)
{
	uint32_t v = 0;

	if (len < 8 || (len > 8 && !is_separator(s[8])))
		return false;
	for (int i = 0; i < 8; i++) {
		int digit = hex_of(s[i]);

		if (digit < 0)
			return false;
		v = v << 4 | (uint32_t)digit;
	}
	*ret = addr_from_v4(v);
	return true;
}

/* A label that is an IPv6 address with dashes for colons. */
static bool read_v6(const char *s, size_t len, struct addr *ret)
{
	const char *dot = memchr(s, '.', len);
	char text[ADDR_TEXT_BYTES];

	if (dot)
		len = (size_t)(dot - s);
	if (len >= sizeof(text) || !memchr(s, '-', len))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] != '-' && hex_of(s[i]) < 0)
			return false;
		text[i] = s[i] == '-' ? ':' : s[i];
	}
	return !addr_parse(text, len, ret);
}

/* The first address that begins a label, or a part of one between dashes. */
static bool read_embedded(const char *s, size_t len, struct addr *ret)
{
	for (size_t i = 0; i < len; i++) {
		if (i && !is_separator(s[i - 1]))
			continue;
		if (read_quad(s + i, len - i, ret) || read_hex(s + i, len - i, ret))
			return true;
		if ((!i || s[i - 1] == '.') && read_v6(s + i, len - i, ret))
			return true;
	}
	return false;
}

/* Is it one of the table's last two letters? This is asked of each of a million names of a list. */
static bool has_tail(const char *name, size_t len)
{
#define PAIR(a, b) ((a) << 8 | (b))
	switch (PAIR(name[len - 2], name[len - 1])) {
	case PAIR('i', 'o'):
	case PAIR('m', 'e'):
	case PAIR('c', 'o'):
	case PAIR('s', 'h'):
	case PAIR('r', 'g'):
	case PAIR('l', 's'):
	case PAIR('u', 's'):
	case PAIR('m', 's'):
	case PAIR('o', 'm'):
	case PAIR('s', 't'):
	case PAIR('g', 'd'):
	case PAIR('t', 'e'):
		return true;
	default:
		return false;
	}
#undef PAIR
}

static const struct service *find_service(const char *name, size_t len)
{
	if (len < 4 || !has_tail(name, len))
		return NULL;
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		const struct service *row = &services[i];

		if (len > row->len && name[len - row->len] == '.' &&
			!memcmp(name + len - row->len, row->suffix, row->len))
			return row;
		if (row->is_loopback && len == row->len - 1 && !memcmp(name, row->suffix + 1, len))
			return row;
	}
	return NULL;
}

bool embed_find(const char *name, size_t len_bytes, struct addr *ret)
{
	const struct service *row = find_service(name, len_bytes);

	if (!row)
		return false;
	if (row->is_loopback) {
		*ret = addr_from_v4(0x7f000001);
		return true;
	}
	return read_embedded(name, len_bytes - row->len, ret);
}
