/* SPDX-License-Identifier: GPL-2.0-only */
/* aws-chunked bodies; see awschunk.h. */
#include "awschunk.h"

#include <errno.h>
#include <string.h>

#define SIGNATURE ";chunk-signature="
#define SIGNATURE_LEN (sizeof(SIGNATURE) - 1)
#define TRAILER_SIGNATURE "x-amz-trailer-signature:"
#define TRAILER_SIGNATURE_LEN (sizeof(TRAILER_SIGNATURE) - 1)
#define HEX_LEN (SIGV4_HEX_BYTES - 1)
#define MAX_SIZE_DIGITS 8
#define MAX_LINE_BYTES (MAX_SIZE_DIGITS + SIGNATURE_LEN + HEX_LEN + 2)

void awschunk_init(struct awschunk *a, bool has_trailers)
{
	memset(a, 0, sizeof(*a));
	a->has_trailers = has_trailers;
}

void awschunk_done(struct awschunk *a)
{
	buf_done(&a->held);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_signature(const char *s)
{
	for (size_t i = 0; i < HEX_LEN; i++)
		if (digit(s[i]) < 0)
			return false;
	return true;
}

/* The whole line stands in held. */
static int read_line(struct awschunk *a)
{
	const char *line = a->held.data;
	size_t n = 0, size = 0;

	while (n < MAX_SIZE_DIGITS && digit(line[n]) >= 0)
		size = size << 4 | (size_t)digit(line[n++]);
	if (!n || a->held.len != n + SIGNATURE_LEN + HEX_LEN + 2 ||
		memcmp(line + n, SIGNATURE, SIGNATURE_LEN) ||
		!is_signature(line + n + SIGNATURE_LEN) ||
		memcmp(line + n + SIGNATURE_LEN + HEX_LEN, "\r\n", 2))
		return -EBADMSG;
	if (size > AWSCHUNK_MAX_BYTES)
		return -E2BIG;
	a->signature_at = n + SIGNATURE_LEN;
	a->data_at = a->held.len;
	a->data_len = size;
	a->state = AWSCHUNK_DATA;
	return 0;
}

static int feed_line(struct awschunk *a, const char *data, size_t len, size_t *ret_used)
{
	const char *end = memchr(data, '\n', len);
	size_t n = end ? (size_t)(end - data) + 1 : len;

	if (a->held.len + n > MAX_LINE_BYTES)
		return -EBADMSG;
	buf_add(&a->held, data, n);
	*ret_used = n;
	if (a->held.is_failed)
		return -ENOMEM;
	return end ? read_line(a) : 0;
}

/* What of the chunk has not come yet. The empty chunk before trailers has no line end of its own. */
static size_t missing(const struct awschunk *a)
{
	size_t end = a->data_len || !a->has_trailers ? 2 : 0;

	return a->data_at + a->data_len + end - a->held.len;
}

static int feed_data(struct awschunk *a, const char *data, size_t len, size_t *ret_used)
{
	size_t n = missing(a) < len ? missing(a) : len;

	buf_add(&a->held, data, n);
	*ret_used = n;
	if (a->held.is_failed)
		return -ENOMEM;
	if (missing(a))
		return 0;
	if ((a->data_len || !a->has_trailers) && memcmp(a->held.data + a->held.len - 2, "\r\n", 2))
		return -EBADMSG;
	a->state = AWSCHUNK_WHOLE;
	return 1;
}

static int feed_trailers(struct awschunk *a, const char *data, size_t len, size_t *ret_used)
{
	if (a->held.len + len > HTTP1_MAX_TRAILER_BYTES)
		return -E2BIG;
	buf_add(&a->held, data, len);
	*ret_used = len;
	return a->held.is_failed ? -ENOMEM : 0;
}

static int feed_once(struct awschunk *a, const char *data, size_t len, size_t *ret_used)
{
	*ret_used = 0;
	switch (a->state) {
	case AWSCHUNK_LINE:
		return feed_line(a, data, len, ret_used);
	case AWSCHUNK_DATA:
		return feed_data(a, data, len, ret_used);
	case AWSCHUNK_TRAILERS:
		return feed_trailers(a, data, len, ret_used);
	default:
		return -EBADMSG; /* bytes behind the end */
	}
}

int awschunk_feed(struct awschunk *a, const char *data, size_t len_bytes, size_t *ret_used)
{
	size_t at = 0, n = 0;
	int r = 0;

	/* the empty chunk before trailers is whole with its line */
	while (r == 0 && (at < len_bytes || (a->state == AWSCHUNK_DATA && !missing(a)))) {
		r = feed_once(a, data + at, len_bytes - at, &n);
		at += n;
	}
	*ret_used = at;
	return r;
}

void awschunk_next(struct awschunk *a)
{
	bool is_last = !a->data_len;

	buf_clear(&a->held);
	a->state = !is_last ? AWSCHUNK_LINE : a->has_trailers ? AWSCHUNK_TRAILERS : AWSCHUNK_END;
}

/* The line at *at, without its end; some clients end lines in LF, and put empty ones in between. */
static bool next_line(const struct buf *b, size_t *at, struct http1_text *ret)
{
	const char *line = b->data + *at, *end;

	if (*at >= b->len)
		return false;
	end = memchr(line, '\n', b->len - *at);
	if (!end)
		return false;
	*at += (size_t)(end - line) + 1;
	ret->ptr = line;
	ret->len = (size_t)(end - line);
	if (ret->len && line[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

/* Nothing but line ends behind the signature. */
static bool is_over(const struct buf *b, size_t at)
{
	struct http1_text line;

	while (next_line(b, &at, &line))
		if (line.len)
			return false;
	return at == b->len;
}

int awschunk_finish(struct awschunk *a, struct buf *out)
{
	struct http1_text line;
	size_t at = 0;

	if (a->state == AWSCHUNK_END)
		return 0;
	if (a->state != AWSCHUNK_TRAILERS)
		return -EBADMSG;
	while (next_line(&a->held, &at, &line)) {
		if (line.len >= TRAILER_SIGNATURE_LEN &&
			!memcmp(line.ptr, TRAILER_SIGNATURE, TRAILER_SIGNATURE_LEN)) {
			a->signature_at = (size_t)(line.ptr - a->held.data) + TRAILER_SIGNATURE_LEN;
			if (line.len != TRAILER_SIGNATURE_LEN + HEX_LEN ||
				!is_signature(line.ptr + TRAILER_SIGNATURE_LEN) ||
				!is_over(&a->held, at))
				return -EBADMSG;
			return out->is_failed ? -ENOMEM : 1;
		}
		if (!line.len)
			continue;
		buf_add(out, line.ptr, line.len);
		buf_add_char(out, '\n');
	}
	return -EBADMSG;
}
