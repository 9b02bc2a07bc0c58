/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ClientHello as a TLS 1.3 client sends it (RFC 8446 section 4.1.2): SNI, groups, signature
 * algorithms, ALPN, versions, an X25519 key share, padding. The key share is made up: no handshake
 * is ever completed with it. Read client.c next.
 */
#include <string.h>

#include "load.h"

struct writer {
	uint8_t *at, *end;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	if (len > (size_t)(w->end - w->at))
		die("name too long for a ClientHello");
	memcpy(w->at, bytes, len);
	w->at += len;
}

static void put16(struct writer *w, size_t value)
{
	uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	put(w, bytes, 2);
}

static void put_fill(struct writer *w, uint8_t value, size_t len)
{
	while (len--)
		put(w, &value, 1);
}

static void put_extension(struct writer *w, uint16_t type, const void *body, size_t len)
{
	put16(w, type);
	put16(w, len);
	put(w, body, len);
}

static void put_sni(struct writer *w, const char *name)
{
	size_t len = strlen(name);

	put16(w, 0);
	put16(w, len + 5);
	put16(w, len + 3);
	put_fill(w, 0, 1);
	put16(w, len);
	put(w, name, len);
}

static void put_key_share(struct writer *w)
{
	put16(w, 51);
	put16(w, 38);
	put16(w, 36);
	put16(w, 29); /* x25519 */
	put16(w, 32);
	put_fill(w, 0x5a, 32);
}

void hello_build(const char *name, uint8_t ret[HELLO_BYTES])
{
	static const uint8_t suites[] = {0x13, 1, 0x13, 2, 0x13, 3, 0xc0, 0x2b, 0xc0, 0x2f, 0xc0,
		0x2c, 0xc0, 0x30, 0xcc, 0xa9, 0xcc, 0xa8};
	static const uint8_t groups[] = {0, 6, 0, 29, 0, 23, 0, 24};
	static const uint8_t signatures[] = {0, 12, 4, 3, 5, 3, 8, 4, 8, 5, 4, 1, 5, 1};
	static const uint8_t alpn[] = {
		0, 12, 2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
	static const uint8_t versions[] = {4, 3, 4, 3, 3};
	static const uint8_t head[] = {22, 3, 1, (HELLO_BYTES - 5) >> 8, (HELLO_BYTES - 5) & 255, 1,
		0, (HELLO_BYTES - 9) >> 8, (HELLO_BYTES - 9) & 255, 3, 3};
	struct writer w = {ret, ret + HELLO_BYTES};
	size_t left;

	put(&w, head, sizeof(head));
	put_fill(&w, 0x11, 32); /* random */
	put_fill(&w, 32, 1);
	put_fill(&w, 0x22, 32); /* legacy session id */
	put16(&w, sizeof(suites));
	put(&w, suites, sizeof(suites));
	put_fill(&w, 1, 1);
	put_fill(&w, 0, 1);
	put16(&w, (size_t)(w.end - w.at) - 2);
	put_sni(&w, name);
	put_extension(&w, 10, groups, sizeof(groups));
	put_extension(&w, 13, signatures, sizeof(signatures));
	put_extension(&w, 16, alpn, sizeof(alpn));
	put_extension(&w, 43, versions, sizeof(versions));
	put_key_share(&w);
	left = (size_t)(w.end - w.at);
	if (left < 4)
		die("name too long for a ClientHello");
	put16(&w, 21); /* padding, RFC 7685 */
	put16(&w, left - 4);
	put_fill(&w, 0, left - 4);
}
