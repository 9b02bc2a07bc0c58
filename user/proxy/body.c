/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies; see body.h. */
#include "body.h"

#include <errno.h>
#include <string.h>

#include "half.h"

void body_init(struct body *b, const struct http1_head *head, bool is_plain)
{
	body_done(b);
	b->kind = head->body;
	b->left = head->length;
	b->is_rechunked = false;
	b->error = 0;
	if (b->kind == HTTP1_BODY_CHUNKED)
		http1_chunks_init(&b->chunks, is_plain);
}

void body_done(struct body *b)
{
	if (b->kind == HTTP1_BODY_CHUNKED)
		http1_chunks_done(&b->chunks);
	b->kind = HTTP1_BODY_NONE;
	sieve_free(b->sieve);
	b->sieve = NULL;
}

int body_read(struct body *b, const char *data, size_t len_bytes, struct buf *out, size_t *ret_used)
{
	size_t n = len_bytes;
	int done = 0;

	switch (b->kind) {
	case HTTP1_BODY_NONE:
		*ret_used = 0;
		return 1;
	case HTTP1_BODY_CHUNKED:
		b->chunks.is_plain = true;
		done = http1_chunks_feed(&b->chunks, data, len_bytes, out, &n);
		break;
	case HTTP1_BODY_LENGTH:
		if (n > b->left)
			n = b->left;
		b->left -= n;
		done = !b->left;
		buf_add(out, data, n);
		break;
	default:
		buf_add(out, data, n);
		break;
	}
	if (out->is_failed)
		return -ENOMEM;
	*ret_used = n;
	return done;
}

/* The end of a chunked body, with those trailers that the sieves let pass. */
static int add_end(struct body *b, struct buf *out)
{
	const struct buf *t = &b->chunks.trailers;
	int r = 0;

	buf_add(out, "0\r\n", 3);
	if (b->kind == HTTP1_BODY_CHUNKED)
		r = sieve_trailers(b->sieve, t->data, t->len, out);
	buf_add(out, "\r\n", 2);
	return r;
}

/* What came out of a sieve, as the other side wants it. */
static int send_sieved(struct conn *c, struct body *b, struct half *from, struct half *to,
	const struct buf *sieved, bool is_end)
{
	struct buf *out = &c->proxy->out;
	int r;

	buf_clear(out);
	if (sieved->len && b->is_rechunked)
		buf_printf(out, "%zx\r\n", sieved->len);
	buf_add(out, sieved->data, sieved->len);
	if (sieved->len && b->is_rechunked)
		buf_add(out, "\r\n", 2);
	if (is_end && b->is_rechunked)
		b->error = add_end(b, out);
	if (b->error < 0)
		return b->error;
	if (out->is_failed)
		return -ENOMEM;
	r = out->len ? half_send(c, from, to, out->data, out->len, 0) : 0;
	/* what is scratch to others may hold credentials here */
	if (out->len)
		explicit_bzero(out->data, out->len);
	return r;
}

/* Plain bytes through the sieve. 0 or negative errno. */
static int sift(struct conn *c, struct body *b, struct half *from, struct half *to,
	const struct buf *plain, bool is_end)
{
	struct buf sieved = {0};
	int r = plain->len ? sieve_feed(b->sieve, plain->data, plain->len, &sieved) : 0;

	if (r == 0 && is_end)
		r = sieve_finish(b->sieve, &sieved);
	b->error = r;
	if (r == 0)
		r = send_sieved(c, b, from, to, &sieved, is_end);
	buf_wipe(&sieved);
	return r;
}

static int move_sieved(struct conn *c, struct body *b, struct half *from, struct half *to,
	const char *data, size_t len_bytes, size_t *ret_used)
{
	struct buf plain = {0};
	int done = body_read(b, data, len_bytes, &plain, ret_used);
	int r = done < 0 ? done : sift(c, b, from, to, &plain, done > 0);

	buf_wipe(&plain);
	return r < 0 ? r : done;
}

static int move_chunked(struct conn *c, struct body *b, struct half *from, struct half *to,
	const char *data, size_t len_bytes, size_t *ret_used)
{
	struct buf *out = &c->proxy->out;
	int done, r;

	buf_clear(out);
	done = http1_chunks_feed(&b->chunks, data, len_bytes, out, ret_used);
	if (done < 0)
		return done;
	r = out->len ? half_send(c, from, to, out->data, out->len, 0) : 0;
	return r < 0 ? r : done;
}

int body_move(struct conn *c, struct body *b, struct half *from, struct half *to, const char *data,
	size_t len_bytes, size_t *ret_used)
{
	size_t n = len_bytes;
	int r, done = 0;

	if (b->kind == HTTP1_BODY_NONE) {
		*ret_used = 0;
		return 1;
	}
	if (b->sieve)
		return move_sieved(c, b, from, to, data, len_bytes, ret_used);
	if (b->kind == HTTP1_BODY_CHUNKED)
		return move_chunked(c, b, from, to, data, len_bytes, ret_used);
	if (b->kind == HTTP1_BODY_LENGTH) {
		if (n > b->left)
			n = b->left;
		b->left -= n;
		done = !b->left;
	}
	*ret_used = n;
	r = half_send(c, from, to, data, n, 0);
	return r < 0 ? r : done;
}

int body_end(struct conn *c, struct body *b, struct half *from, struct half *to)
{
	static const struct buf nothing;

	return b->sieve ? sift(c, b, from, to, &nothing, true) : 0;
}
