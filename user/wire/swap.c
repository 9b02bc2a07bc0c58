/* SPDX-License-Identifier: GPL-2.0-only */
/* Replacing texts; see swap.h. */
#include "swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"

/* --- what stands in for a text */

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("-._~", c));
}

static void add_percent(unsigned char c, struct buf *out)
{
	static const char hex[] = "0123456789ABCDEF";
	const char text[3] = {'%', hex[c >> 4], hex[c & 15]};

	buf_add(out, text, sizeof(text));
}

void swap_print(enum swap_context context, const char *text, size_t len_bytes, struct buf *out)
{
	if (context == SWAP_PLAIN)
		buf_add(out, text, len_bytes);
	for (size_t i = 0; context != SWAP_PLAIN && i < len_bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (context == SWAP_URL && !is_unreserved(c)) {
			add_percent(c, out);
			continue;
		}
		if (context == SWAP_JSON && (c == '"' || c == '\\'))
			buf_add_char(out, '\\');
		buf_add_char(out, (char)c);
	}
}

static char sextet_char(unsigned v)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return digits[v];
}

static void print_base64(
	const struct needle_hit *hit, const char *text, bool is_fitting, struct buf *out)
{
	for (size_t i = 0; i < hit->end - hit->start; i++)
		buf_add_char(out,
			is_fitting ? sextet_char(needle_sextet(text, hit->skip_bits, i)) : 'x');
}

static void print_hex(const char *text, size_t n_digits, bool is_fitting, struct buf *out)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n_digits; i++) {
		unsigned char c = is_fitting ? (unsigned char)text[i / 2] : 0;

		buf_add_char(out, hex[i % 2 ? c & 15 : c >> 4]);
	}
}

void swap_print_like(const struct needle_hit *hit, size_t old_len, const char *text,
	size_t len_bytes, struct buf *out)
{
	switch ((enum needle_form)hit->form) {
	case NEEDLE_BASE64:
		print_base64(hit, text, old_len == len_bytes, out);
		return;
	case NEEDLE_HEX:
		print_hex(text, hit->end - hit->start, old_len == len_bytes, out);
		return;
	case NEEDLE_PERCENT:
		swap_print(SWAP_URL, text, len_bytes, out);
		return;
	case NEEDLE_JSON:
		swap_print(SWAP_JSON, text, len_bytes, out);
		return;
	case NEEDLE_RAW:
		break;
	}
	swap_print(SWAP_PLAIN, text, len_bytes, out);
}

/* --- one piece */

int swap_text(const struct swap_rule *rule, const char *text, size_t len_bytes, struct buf *out)
{
	struct needle_hit hit;
	size_t at = 0;
	int n = 0, r;

	while (needles_find(rule->needles, text, len_bytes, at, &hit)) {
		buf_add(out, text + at, hit.start - at);
		r = rule->on_hit(rule->arg, &hit, out);
		if (r < 0)
			return r;
		at = hit.end;
		n++;
	}
	buf_add(out, text + at, len_bytes - at);
	return out->is_failed ? -ENOMEM : n;
}

/* --- a stream */

/*
 * Theory of operation. `kept` is what an occurrence may have begun with at the end of the last piece;
 * its first n_sent bytes are already gone, because they were fewer than hold_bytes. The next piece is
 * read behind it. What is found from there on is replaced whole: of one whose beginning is gone, the
 * substitute loses as many bytes at its front.
 */
struct swap_sieve {
	struct sieve sieve;
	struct swap_rule rule;
	void (*on_free)(void *arg);
	size_t n_kept, n_sent;
	size_t room; /* of kept */
	char *kept;
};

/* The substitute, less what stands in for bytes that are gone. */
static int replace(
	struct swap_sieve *s, const struct needle_hit *hit, size_t n_gone, struct buf *out)
{
	size_t begin = out->len, n;
	int r = s->rule.on_hit(s->rule.arg, hit, out);

	if (r < 0 || !n_gone || out->is_failed)
		return r;
	n = out->len - begin;
	n_gone = n_gone < n ? n_gone : n;
	memmove(out->data + begin, out->data + begin + n_gone, n - n_gone);
	out->len -= n_gone;
	return 0;
}

/* Most streams keep nothing, ever. */
static int keep(struct swap_sieve *s, const char *data, size_t len)
{
	if (len > s->room) {
		char *kept = malloc(len);

		if (!kept)
			return -ENOMEM;
		if (s->kept)
			explicit_bzero(s->kept, s->room);
		free(s->kept);
		s->kept = kept;
		s->room = len;
	}
	if (len)
		memcpy(s->kept, data, len);
	s->n_kept = len;
	return 0;
}

/* data begins with what was kept, in memory of its own. */
static int pass(struct swap_sieve *s, const char *data, size_t len, struct buf *out)
{
	size_t at = 0, sent = s->n_sent, tail, keep_from;
	struct needle_hit hit;
	int r;

	while (needles_find(s->rule.needles, data, len, at, &hit)) {
		if (hit.start > sent)
			buf_add(out, data + sent, hit.start - sent);
		r = replace(s, &hit, hit.start < sent ? sent - hit.start : 0, out);
		if (r < 0)
			return r;
		at = sent = hit.end;
	}
	tail = needles_tail(s->rule.needles, data, len, at);
	keep_from = s->rule.hold_bytes && len - tail >= s->rule.hold_bytes ? tail : len;
	if (keep_from > sent) {
		buf_add(out, data + sent, keep_from - sent);
		sent = keep_from;
	}
	s->n_sent = sent > tail ? sent - tail : 0;
	r = keep(s, data + tail, len - tail);
	return out->is_failed ? -ENOMEM : r;
}

static int swap_feed(struct sieve *sieve, const char *data, size_t len_bytes, struct buf *out)
{
	struct swap_sieve *s = CONTAINER_OF(sieve, struct swap_sieve, sieve);
	size_t n = s->n_kept + len_bytes;
	char *joined;
	int r;

	if (!s->n_kept)
		return pass(s, data, len_bytes, out);
	joined = malloc(n);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, s->kept, s->n_kept);
	memcpy(joined + s->n_kept, data, len_bytes);
	r = pass(s, joined, n, out);
	explicit_bzero(joined, n);
	free(joined);
	return r;
}

static int swap_finish(struct sieve *sieve, struct buf *out)
{
	struct swap_sieve *s = CONTAINER_OF(sieve, struct swap_sieve, sieve);

	if (s->n_kept > s->n_sent)
		buf_add(out, s->kept + s->n_sent, s->n_kept - s->n_sent);
	s->n_kept = s->n_sent = 0;
	return out->is_failed ? -ENOMEM : 0;
}

static int swap_trailers(struct sieve *sieve, const char *lines, size_t len_bytes, struct buf *out)
{
	struct swap_sieve *s = CONTAINER_OF(sieve, struct swap_sieve, sieve);
	int r;

	if (s->rule.on_trailers)
		s->rule.on_trailers(s->rule.arg);
	r = swap_text(&s->rule, lines, len_bytes, out);
	return r < 0 ? r : 0;
}

static void swap_free(struct sieve *sieve)
{
	struct swap_sieve *s = CONTAINER_OF(sieve, struct swap_sieve, sieve);

	if (s->on_free)
		s->on_free(s->rule.arg);
	if (s->kept)
		explicit_bzero(s->kept, s->room);
	free(s->kept);
	free(s);
}

int swap_sieve_new(const struct swap_rule *rule, void (*on_free)(void *arg), struct sieve **ret)
{
	struct swap_sieve *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sieve = (struct sieve){.feed = swap_feed,
		.finish = swap_finish,
		.trailers = swap_trailers,
		.free = swap_free};
	s->rule = *rule;
	s->on_free = on_free;
	*ret = &s->sieve;
	return 0;
}
