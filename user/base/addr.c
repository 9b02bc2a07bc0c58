/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses, endpoints, prefixes and the classification by range; see addr.h. */
#include "addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

/* Words in host order, and which of their bits count: looked through at every dial. */
struct range_row {
	enum nej_range range;
	uint32_t words[4], mask[4];
};

/* The mask of one word of a prefix. */
#define WORD_MASK(bits, word)                                                                      \
	((bits) >= 32 * (word) + 32             ? 0xffffffffu                                      \
			: (bits) <= 32 * (word) ? 0                                                \
						: ~(0xffffffffu >> (((bits)-32 * (word)) & 31)))
#define MASK(bits)                                                                                 \
	{                                                                                          \
		WORD_MASK(bits, 0), WORD_MASK(bits, 1), WORD_MASK(bits, 2), WORD_MASK(bits, 3)     \
	}

static const struct range_row range_rows[] = {
#define ROW(range, bits, a, b, c, d, text) {NEJ_RANGE_##range, {(a), (b), (c), (d)}, MASK(bits)},
#define X(range, bits, ...) ROW(range, bits, __VA_ARGS__)
	NEJ_RANGES(X)
#undef X
#undef ROW
};

struct addr addr_from_v4(uint32_t host_order)
{
	uint32_t be = htonl(host_order);
	struct addr a = {.b = {[10] = 0xff, [11] = 0xff}};

	memcpy(a.b + 12, &be, 4);
	return a;
}

uint32_t addr_to_v4(const struct addr *a)
{
	uint32_t be;

	memcpy(&be, a->b + 12, 4);
	return ntohl(be);
}

bool addr_is_loopback(const struct addr *a)
{
	static const struct addr lo6 = {{[15] = 1}};

	return addr_is_v4(a) ? addr_to_v4(a) >> 24 == 127 : addr_equal(a, &lo6);
}

bool addr_is_unset(const struct addr *a)
{
	static const struct addr none;

	return addr_equal(a, &none) || (addr_is_v4(a) && !addr_to_v4(a));
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	return !memcmp(a->b, b->b, sizeof(a->b));
}

int addr_parse(const char *s, size_t len_bytes, struct addr *ret)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;

	if (!len_bytes || len_bytes >= sizeof(text) || memchr(s, 0, len_bytes))
		return -EINVAL;
	memcpy(text, s, len_bytes);
	text[len_bytes] = 0;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		*ret = addr_from_v4(ntohl(v4.s_addr));
		return 0;
	}
	return inet_pton(AF_INET6, text, ret->b) == 1 ? 0 : -EINVAL;
}

const char *addr_print(const struct addr *a, char out[static ADDR_TEXT_BYTES])
{
	if (addr_is_v4(a))
		inet_ntop(AF_INET, a->b + 12, out, ADDR_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, a->b, out, ADDR_TEXT_BYTES);
	return out;
}

int endpoint_parse(const char *s, uint16_t default_port, struct endpoint *ret)
{
	const char *colon = strrchr(s, ':'), *end = s + strlen(s);
	struct endpoint e = {.port = default_port};
	int r;

	if (s[0] == '[') {
		const char *close = strchr(s, ']');

		if (!close || (close[1] && close[1] != ':'))
			return -EINVAL;
		r = addr_parse(s + 1, (size_t)(close - s - 1), &e.addr);
		colon = close[1] ? close + 1 : NULL;
	} else if (colon && colon == strchr(s, ':')) {
		r = addr_parse(s, (size_t)(colon - s), &e.addr);
	} else {
		r = addr_parse(s, strlen(s), &e.addr);
		colon = NULL;
	}
	if (r < 0)
		return r;
	if (colon) {
		r = num_parse_port(colon + 1, (size_t)(end - colon - 1), &e.port);
		if (r < 0 || !e.port)
			return -EINVAL;
	}
	*ret = e;
	return 0;
}

const char *endpoint_print(const struct endpoint *e, char out[static ENDPOINT_TEXT_BYTES])
{
	char text[ADDR_TEXT_BYTES];

	addr_print(&e->addr, text);
	snprintf(out, ENDPOINT_TEXT_BYTES, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, e->port);
	return out;
}

static bool has_prefix(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a[bytes] ^ b[bytes]) >> (8 - rest));
}

int prefix_parse(const char *s, size_t len_bytes, struct prefix *ret)
{
	const char *slash = memchr(s, '/', len_bytes);
	size_t addr_len = slash ? (size_t)(slash - s) : len_bytes;
	struct prefix p;
	struct addr zero = {0};
	uint64_t bits;
	bool is_v4;

	if (addr_parse(s, addr_len, &p.addr) < 0)
		return -EINVAL;
	is_v4 = memchr(s, ':', addr_len) == NULL;
	bits = is_v4 ? 32 : 128;
	if (slash && num_parse_u64(slash + 1, len_bytes - addr_len - 1, bits, &bits) < 0)
		return -EINVAL;
	p.bits = (uint8_t)(bits + (is_v4 ? 96 : 0));
	/* Host bits that are set are a mistake: the writer meant another range. */
	zero = p.addr;
	for (unsigned int i = p.bits; i < 128; i++)
		zero.b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	if (!addr_equal(&zero, &p.addr))
		return -EINVAL;
	*ret = p;
	return 0;
}

bool prefix_has(const struct prefix *p, const struct addr *a)
{
	return has_prefix(p->addr.b, a->b, p->bits);
}

static enum nej_range range_of(const struct addr *a)
{
	uint32_t w[4];

	memcpy(w, a->b, sizeof(w));
	for (int i = 0; i < 4; i++)
		w[i] = ntohl(w[i]);
	for (size_t i = 0; i < sizeof(range_rows) / sizeof(range_rows[0]); i++) {
		const struct range_row *row = &range_rows[i];
		uint32_t miss = 0;

		for (int k = 0; k < 4; k++)
			miss |= (w[k] ^ row->words[k]) & row->mask[k];
		if (!miss)
			return row->range;
	}
	return NEJ_RANGE_PRIVATE;
}

/* The IPv4 address inside an IPv6 address of an EMBEDS range (RFC 3056, 4380, 6052). */
static struct addr embedded(const struct addr *a)
{
	uint32_t be;

	if (a->b[0] == 0x20 && a->b[1] == 0x02) {
		memcpy(&be, a->b + 2, 4);
		return addr_from_v4(ntohl(be));
	}
	memcpy(&be, a->b + 12, 4);
	if (a->b[0] == 0x20 && a->b[1] == 0x01)
		be = ~be; /* Teredo stores the client inverted */
	return addr_from_v4(ntohl(be));
}

enum nej_range addr_classify(const struct addr *a, struct addr *ret_plain)
{
	struct addr plain = *a;
	enum nej_range range = range_of(a);

	if (range == NEJ_RANGE_EMBEDS) {
		plain = embedded(a);
		range = range_of(&plain);
	}
	if (ret_plain)
		*ret_plain = plain;
	return range;
}

socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr_is_v4(&e->addr)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		in->sin_port = htons(e->port);
		memcpy(&in->sin_addr, e->addr.b + 12, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(e->port);
	memcpy(&in6->sin6_addr, e->addr.b, 16);
	return sizeof(*in6);
}

int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret)
{
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;

		ret->addr = addr_from_v4(ntohl(in->sin_addr.s_addr));
		ret->port = ntohs(in->sin_port);
		return 0;
	}
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;

		memcpy(ret->addr.b, &in6->sin6_addr, 16);
		ret->port = ntohs(in6->sin6_port);
		return 0;
	}
	return -EAFNOSUPPORT;
}
