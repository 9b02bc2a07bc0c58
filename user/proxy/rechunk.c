/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunk after chunk, each signature following from the last; see rechunk.h. */
#include "rechunk.h"

#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"
#include "../wire/awschunk.h"

struct rechunk {
	struct sieve sieve;
	struct sigv4 signed_as;
	struct resign_seed client, up; /* with the signature of what came last */
	struct awschunk chunk;
	size_t *held_bytes;
	size_t counted; /* in *held_bytes */
};

static int count(struct rechunk *c)
{
	*c->held_bytes += c->chunk.held.cap - c->counted;
	c->counted = c->chunk.held.cap;
	return *c->held_bytes > NEJ_MAX_HELD_BYTES ? -ENOBUFS : 0;
}

static int next_signature(
	struct rechunk *c, struct resign_seed *seed, const char *hash, bool is_trailers)
{
	struct buf text;
	int r;

	buf_init(&text);
	sigv4_print_chunk_string(&c->signed_as, seed->signature, hash, is_trailers, &text);
	r = resign_text(seed, &text, seed->signature);
	buf_done(&text);
	return r;
}

/* data: what the signature that stands in held covers. It is replaced there. */
static int sign_again(
	struct rechunk *c, const void *data, size_t len, bool is_trailers, struct buf *out)
{
	struct buf *held = &c->chunk.held;
	char hash[SIGV4_HEX_BYTES];
	int r = hmac_hash(data, len, hash);

	if (r == 0)
		r = next_signature(c, &c->client, hash, is_trailers);
	if (r < 0)
		return r;
	if (!hmac_equal(
		    held->data + c->chunk.signature_at, c->client.signature, SIGV4_HEX_BYTES - 1))
		return -EBADMSG;
	r = next_signature(c, &c->up, hash, is_trailers);
	if (r < 0)
		return r;
	memcpy(held->data + c->chunk.signature_at, c->up.signature, SIGV4_HEX_BYTES - 1);
	buf_add(out, held->data, held->len);
	return out->is_failed ? -ENOMEM : 0;
}

static int rechunk_feed(struct sieve *s, const char *data, size_t len, struct buf *out)
{
	struct rechunk *c = CONTAINER_OF(s, struct rechunk, sieve);

	while (len) {
		size_t used;
		int r = awschunk_feed(&c->chunk, data, len, &used);

		data += used;
		len -= used;
		if (r == 1) {
			r = sign_again(c, c->chunk.held.data + c->chunk.data_at, c->chunk.data_len,
				false, out);
			awschunk_next(&c->chunk);
		}
		if (r == 0)
			r = count(c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int rechunk_finish(struct sieve *s, struct buf *out)
{
	struct rechunk *c = CONTAINER_OF(s, struct rechunk, sieve);
	struct buf trailers;
	int r;

	buf_init(&trailers);
	r = awschunk_finish(&c->chunk, &trailers);
	if (r == 1)
		r = sign_again(c, trailers.data, trailers.len, true, out);
	buf_done(&trailers);
	return r;
}

static void rechunk_free(struct sieve *s)
{
	struct rechunk *c = CONTAINER_OF(s, struct rechunk, sieve);

	*c->held_bytes -= c->counted;
	awschunk_done(&c->chunk);
	explicit_bzero(c, sizeof(*c));
	free(c);
}

int rechunk_new(const struct resign *r, size_t *held_bytes, struct sieve **ret)
{
	struct rechunk *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->sieve = (struct sieve){
		.feed = rechunk_feed, .finish = rechunk_finish, .free = rechunk_free};
	c->signed_as = r->s;
	c->client = r->client;
	c->up = r->up;
	c->held_bytes = held_bytes;
	awschunk_init(&c->chunk, r->s.payload == SIGV4_PAYLOAD_TRAILERS);
	*ret = &c->sieve;
	return 0;
}
