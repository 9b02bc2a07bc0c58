/* SPDX-License-Identifier: GPL-2.0-only */
/* ClientHellos for tests, built field by field; tests change what they need. */
#ifndef NEJ_TEST_HELLO_H
#define NEJ_TEST_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hello_bytes {
	uint8_t *at;
	size_t n;
};

struct hello_parts {
	const char *sni; /* NULL: none */
	size_t sni_len;  /* 0: strlen */
	uint16_t record_version, legacy_version;
	size_t key_share_bytes;
	bool has_grease, has_ech, has_alpn_h2;
	int n_sni_extensions; /* with sni: how often; 0 means once */
	int n_sni_entries;    /* in the list; 0 means one */
	uint8_t sni_type;
	bool has_no_extensions;
};

static inline void hello_put8(struct hello_bytes *b, unsigned int v)
{
	b->at[b->n++] = (uint8_t)v;
}

static inline void hello_put16(struct hello_bytes *b, size_t v)
{
	hello_put8(b, (unsigned int)(v >> 8) & 0xff);
	hello_put8(b, v & 0xff);
}

static inline void hello_put_bytes(struct hello_bytes *b, const void *data, size_t n)
{
	memcpy(b->at + b->n, data, n);
	b->n += n;
}

/* Remembers where a 16 bit length stands; hello_close fills it in. */
static inline size_t hello_open(struct hello_bytes *b)
{
	hello_put16(b, 0);
	return b->n;
}

static inline void hello_close(struct hello_bytes *b, size_t from)
{
	size_t len = b->n - from;

	b->at[from - 2] = (uint8_t)(len >> 8);
	b->at[from - 1] = (uint8_t)len;
}

static inline void hello_put_sni(struct hello_bytes *b, const struct hello_parts *p)
{
	size_t ext, list, name;

	hello_put16(b, 0);
	ext = hello_open(b);
	list = hello_open(b);
	for (int i = 0; i < (p->n_sni_entries ? p->n_sni_entries : 1); i++) {
		hello_put8(b, p->sni_type);
		name = hello_open(b);
		hello_put_bytes(b, p->sni, p->sni_len ? p->sni_len : strlen(p->sni));
		hello_close(b, name);
	}
	hello_close(b, list);
	hello_close(b, ext);
}

static inline void hello_put_filler(struct hello_bytes *b, unsigned int type, size_t n)
{
	hello_put16(b, type);
	hello_put16(b, n);
	memset(b->at + b->n, 0x5a, n);
	b->n += n;
}

static inline void hello_put_extensions(struct hello_bytes *b, const struct hello_parts *p)
{
	static const uint8_t alpn[] = {
		0, 16, 0, 14, 0, 12, 2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
	size_t all = hello_open(b);

	if (p->has_grease)
		hello_put_filler(b, 0x1a1a, 0);
	if (p->key_share_bytes)
		hello_put_filler(b, 51, p->key_share_bytes);
	for (int i = 0; p->sni && i < (p->n_sni_extensions ? p->n_sni_extensions : 1); i++)
		hello_put_sni(b, p);
	if (p->has_ech)
		hello_put_filler(b, 0xfe0d, 186);
	if (p->has_alpn_h2)
		hello_put_bytes(b, alpn, sizeof(alpn));
	hello_put_filler(b, 43, 3);
	if (p->has_grease)
		hello_put_filler(b, 0x2a2a, 1);
	hello_close(b, all);
}

/* The handshake message without record header. */
static inline size_t hello_print_message(uint8_t *out, const struct hello_parts *p)
{
	struct hello_bytes b = {.at = out};
	size_t len;

	hello_put8(&b, 1);
	hello_put8(&b, 0);
	hello_put16(&b, 0);
	hello_put16(&b, p->legacy_version ? p->legacy_version : 0x0303);
	memset(b.at + b.n, 0x11, 32);
	b.n += 32;
	hello_put8(&b, 32);
	memset(b.at + b.n, 0x22, 32);
	b.n += 32;
	hello_put16(&b, 6);
	hello_put16(&b, p->has_grease ? 0x0a0a : 0x1303);
	hello_put16(&b, 0x1301);
	hello_put16(&b, 0x1302);
	hello_put8(&b, 1);
	hello_put8(&b, 0);
	if (!p->has_no_extensions)
		hello_put_extensions(&b, p);
	len = b.n - 4;
	out[1] = (uint8_t)(len >> 16);
	out[2] = (uint8_t)(len >> 8);
	out[3] = (uint8_t)len;
	return b.n;
}

/* In records of at most record_bytes. */
static inline size_t hello_print_records(
	uint8_t *out, const struct hello_parts *p, size_t record_bytes)
{
	static uint8_t message[70000];
	size_t len = hello_print_message(message, p);
	struct hello_bytes b = {.at = out};

	for (size_t at = 0; at < len;) {
		size_t n = len - at < record_bytes ? len - at : record_bytes;

		hello_put8(&b, 22);
		hello_put16(&b, p->record_version ? p->record_version : 0x0301);
		hello_put16(&b, n);
		hello_put_bytes(&b, message + at, n);
		at += n;
	}
	return b.n;
}

static inline size_t hello_print(uint8_t *out, const char *sni)
{
	const struct hello_parts p = {.sni = sni, .has_grease = true, .has_alpn_h2 = true};

	return hello_print_records(out, &p, 16384);
}

#endif
