/* SPDX-License-Identifier: GPL-2.0-only */
/* Decompression as a sieve; see inflate.h. */
#include "inflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../base/cleanup.h"

#define PIECE_BYTES 16384
#define GZIP_WINDOW (15 + 16) /* zlib's way to ask for gzip's header and trailer */
#define ZLIB_WINDOW 15
#define BARE_WINDOW (-15)

struct inflate {
	struct sieve sieve;
	z_stream z;
	enum inflate_coding coding;
	bool is_begun;   /* z is initialised */
	bool is_whole;   /* a member has just ended */
	uint8_t head[2]; /* of deflate, until both bytes are there */
	size_t n_head;
};

/* CM 8 and a header that 31 divides: RFC 1950 section 2.2. */
static bool has_zlib_header(const uint8_t head[2])
{
	return (head[0] & 0x0f) == 8 && (head[0] << 8 | head[1]) % 31 == 0;
}

static int begin(struct inflate *s, int window)
{
	if (inflateInit2(&s->z, window) != Z_OK)
		return -ENOMEM;
	s->is_begun = true;
	return 0;
}

static int inflate_some(struct inflate *s, struct buf *out)
{
	int r;

	if (buf_reserve(out, PIECE_BYTES) < 0)
		return -ENOMEM;
	s->z.next_out = (Bytef *)out->data + out->len;
	s->z.avail_out = PIECE_BYTES;
	r = inflate(&s->z, Z_NO_FLUSH);
	out->len += PIECE_BYTES - s->z.avail_out;
	out->data[out->len] = 0;
	return r;
}

/* One stretch of compressed bytes; every byte of it is used. */
static int inflate_all(struct inflate *s, const void *data, size_t len, struct buf *out)
{
	int r;

	s->z.next_in = (Bytef *)(uintptr_t)data;
	s->z.avail_in = (uInt)len;
	do {
		if (s->is_whole) {
			/* only gzip has members behind one another */
			if (s->coding != INFLATE_GZIP)
				return -EBADMSG;
			if (inflateReset(&s->z) != Z_OK)
				return -EBADMSG;
			s->is_whole = false;
		}
		r = inflate_some(s, out);
		if (r == Z_STREAM_END)
			s->is_whole = true;
		else if (r == Z_BUF_ERROR && !s->z.avail_in)
			return 0; /* it had nothing left to say */
		else if (r != Z_OK)
			return r == Z_MEM_ERROR || r == -ENOMEM ? -ENOMEM : -EBADMSG;
	} while (s->z.avail_in || (!s->z.avail_out && !s->is_whole));
	return 0;
}

/* deflate: its first two bytes tell which of its two meanings it has. */
static int feed_head(struct inflate *s, const char **data, size_t *len, struct buf *out)
{
	int r;

	while (s->n_head < 2 && *len) {
		s->head[s->n_head++] = (uint8_t) * *data;
		++*data;
		--*len;
	}
	if (s->n_head < 2)
		return 0;
	r = begin(s, has_zlib_header(s->head) ? ZLIB_WINDOW : BARE_WINDOW);
	return r < 0 ? r : inflate_all(s, s->head, 2, out);
}

static int inflate_feed(struct sieve *sieve, const char *data, size_t len_bytes, struct buf *out)
{
	struct inflate *s = CONTAINER_OF(sieve, struct inflate, sieve);
	int r = 0;

	if (!len_bytes)
		return 0;
	if (!s->is_begun && s->coding == INFLATE_GZIP)
		r = begin(s, GZIP_WINDOW);
	else if (!s->is_begun)
		r = feed_head(s, &data, &len_bytes, out);
	while (r == 0 && len_bytes) {
		size_t n = len_bytes < UINT16_MAX ? len_bytes : UINT16_MAX;

		r = inflate_all(s, data, n, out);
		data += n;
		len_bytes -= n;
	}
	return r;
}

/* An empty body is as good as a whole one: some servers send no member at all. */
static int inflate_finish(struct sieve *sieve, struct buf *out)
{
	struct inflate *s = CONTAINER_OF(sieve, struct inflate, sieve);

	(void)out;
	if (!s->is_begun && !s->n_head)
		return 0;
	return s->is_whole ? 0 : -EBADMSG;
}

static void inflate_free(struct sieve *sieve)
{
	struct inflate *s = CONTAINER_OF(sieve, struct inflate, sieve);

	if (s->is_begun)
		inflateEnd(&s->z);
	free(s);
}

int inflate_sieve_new(enum inflate_coding coding, struct sieve **ret)
{
	struct inflate *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sieve = (struct sieve){
		.feed = inflate_feed, .finish = inflate_finish, .free = inflate_free};
	s->coding = coding;
	*ret = &s->sieve;
	return 0;
}
