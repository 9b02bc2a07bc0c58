/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ClientHello reader; see clienthello.h. Strict where two readers could see two names: one
 * server_name with one entry, no extension twice, lengths that add up. Not a TLS implementation.
 */
#include "clienthello.h"

#include <errno.h>
#include <string.h>

#include "../../include/bounds.h"

#define RECORD_HEADER_BYTES 5
#define RECORD_MAX_BYTES 16384 /* RFC 8446 section 5.1 */
#define CONTENT_HANDSHAKE 22
#define HANDSHAKE_HEADER_BYTES 4
#define HANDSHAKE_CLIENT_HELLO 1

#define EXT_SERVER_NAME 0
#define EXT_ALPN 16
#define EXT_ECH 0xfe0d

/* Bytes still to read; a read beyond the end sets is_bad and yields nothing. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool is_bad;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->at;

	if (c->is_bad || n > c->left) {
		c->is_bad = true;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return p;
}

static uint32_t take_number(struct cursor *c, size_t width)
{
	const uint8_t *p = take(c, width);
	uint32_t v = 0;

	for (size_t i = 0; p && i < width; i++)
		v = v << 8 | p[i];
	return v;
}

/* A vector with a length of `width` bytes before it. */
static struct cursor take_vector(struct cursor *c, size_t width)
{
	size_t n = take_number(c, width);
	const uint8_t *p = take(c, n);

	return p ? (struct cursor){.at = p, .left = n} : (struct cursor){.is_bad = true};
}

static int parse_server_name(struct cursor ext, struct clienthello *hello)
{
	struct cursor list = take_vector(&ext, 2);
	uint32_t type = take_number(&list, 1);
	struct cursor name = take_vector(&list, 2);

	if (list.is_bad || name.is_bad || ext.left || list.left || type)
		return -EPROTO;
	if (host_parse((const char *)name.at, name.left, &hello->host) < 0)
		return -EINVAL;
	hello->has_sni = true;
	return 0;
}

static int parse_alpn(struct cursor ext, struct clienthello *hello)
{
	struct cursor list = take_vector(&ext, 2);

	if (list.is_bad || ext.left)
		return -EPROTO;
	while (list.left) {
		struct cursor name = take_vector(&list, 1);

		if (name.is_bad)
			return -EPROTO;
		if (name.left == 2 && !memcmp(name.at, "h2", 2))
			hello->has_alpn_h2 = true;
	}
	return 0;
}

/* Two readers may differ in which of two equal extensions counts: none may stand twice
 * (RFC 8446 section 4.2). */
static bool is_seen_twice(uint64_t seen[static 1024], uint32_t type)
{
	uint64_t bit = 1ull << (type % 64);
	bool is_twice = seen[type / 64] & bit;

	seen[type / 64] |= bit;
	return is_twice;
}

static int parse_extensions(struct cursor all, struct clienthello *hello)
{
	uint64_t seen[1024] = {0};

	while (all.left) {
		uint32_t type = take_number(&all, 2);
		struct cursor ext = take_vector(&all, 2);
		int r = 0;

		if (ext.is_bad || is_seen_twice(seen, type))
			return -EPROTO;
		if (type == EXT_SERVER_NAME)
			r = parse_server_name(ext, hello);
		else if (type == EXT_ALPN)
			r = parse_alpn(ext, hello);
		else if (type == EXT_ECH)
			hello->has_ech = true;
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_body(const uint8_t *data, size_t len, struct clienthello *hello)
{
	struct cursor c = {.at = data, .left = len}, part;

	take(&c, 2 + 32); /* legacy_version, random */
	part = take_vector(&c, 1);
	if (part.is_bad || part.left > 32)
		return -EPROTO;
	part = take_vector(&c, 2);
	if (part.is_bad || part.left < 2 || part.left % 2)
		return -EPROTO;
	part = take_vector(&c, 1);
	if (part.is_bad || !part.left)
		return -EPROTO;
	if (!c.left)
		return 0; /* a hello of TLS 1.2 or older without extensions */
	part = take_vector(&c, 2);
	if (part.is_bad || c.left)
		return -EPROTO;
	return parse_extensions(part, hello);
}

/* The next record's fragment as far as it is there. -EPROTO when it is no handshake record; bytes
 * that are not there yet count as fitting. */
static int take_fragment(struct cursor *in, struct cursor *ret, bool *ret_is_whole)
{
	const uint8_t *p = in->at;
	size_t len;

	if (p[0] != CONTENT_HANDSHAKE || (in->left > 1 && p[1] != 3))
		return -EPROTO;
	if (in->left < RECORD_HEADER_BYTES)
		return -EAGAIN;
	len = (size_t)p[3] << 8 | p[4];
	if (!len || len > RECORD_MAX_BYTES)
		return -EPROTO;
	take(in, RECORD_HEADER_BYTES);
	*ret_is_whole = len <= in->left;
	ret->left = *ret_is_whole ? len : in->left;
	ret->at = take(in, ret->left);
	ret->is_bad = false;
	return 0;
}

/* Is what is known of the message's first bytes a ClientHello? Its length with header, or 0. */
static int message_len(const uint8_t *head, size_t n, size_t *ret)
{
	*ret = 0;
	if (n && head[0] != HANDSHAKE_CLIENT_HELLO)
		return -EPROTO;
	if (n < HANDSHAKE_HEADER_BYTES)
		return 0;
	*ret = HANDSHAKE_HEADER_BYTES +
		((size_t)head[1] << 16 | (size_t)head[2] << 8 | (size_t)head[3]);
	return *ret > NEJ_MAX_HEAD_BYTES ? -EMSGSIZE : 0;
}

/* The message lies in several records: joined here, on the stack. */
static __attribute__((noinline)) int parse_joined(struct cursor in, struct clienthello *ret)
{
	uint8_t joined[NEJ_MAX_HEAD_BYTES];
	size_t n = 0, want = 0;
	int r;

	while (!want || n < want) {
		struct cursor part;
		bool is_whole;

		if (!in.left)
			return -EAGAIN;
		r = take_fragment(&in, &part, &is_whole);
		if (r < 0)
			return r;
		if (part.left > sizeof(joined) - n)
			return -EMSGSIZE;
		memcpy(joined + n, part.at, part.left);
		n += part.left;
		r = message_len(joined, n, &want);
		if (r < 0)
			return r;
		if (want && n > want)
			return -EPROTO; /* a second message behind the first */
		if (!is_whole)
			return -EAGAIN;
	}
	return parse_body(joined + HANDSHAKE_HEADER_BYTES, n - HANDSHAKE_HEADER_BYTES, ret);
}

int clienthello_parse(const uint8_t *data, size_t len_bytes, struct clienthello *ret)
{
	struct cursor in = {.at = data, .left = len_bytes}, part;
	struct clienthello hello = {0};
	bool is_whole;
	size_t want;
	int r;

	if (!len_bytes)
		return -EAGAIN;
	if (len_bytes > NEJ_MAX_HEAD_BYTES)
		return -EMSGSIZE;
	r = take_fragment(&in, &part, &is_whole);
	if (r < 0)
		return r;
	r = message_len(part.at, part.left, &want);
	if (r < 0)
		return r;
	if (is_whole && want == part.left)
		r = parse_body(
			part.at + HANDSHAKE_HEADER_BYTES, want - HANDSHAKE_HEADER_BYTES, &hello);
	else if (is_whole && want && want < part.left)
		r = -EPROTO;
	else if (!is_whole)
		r = -EAGAIN;
	else
		r = parse_joined((struct cursor){.at = data, .left = len_bytes}, &hello);
	if (r == 0)
		*ret = hello;
	return r;
}
