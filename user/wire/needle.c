/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts in all their forms; see needle.h. */
/*
 * Theory of operation. match_at() is the truth: does a form of a text begin exactly here? It is too
 * slow for every byte, so two filters say where it could:
 *
 *   - Forms without escapes have at least `least` bytes. Four-byte pieces (grams) of their first
 *     `least` bytes are in a bitmap; every `step`-th place is looked at, and any occurrence has one
 *     of its grams at one such place.
 *   - Forms with escapes have a % or \ in front of a letter that had no need of one, at most
 *     max_len bytes behind the beginning: memchr finds those.
 *
 * Both run over one block at a time, so that the first occurrence is found without reading far ahead.
 * Every place is tried at most once a call, hence nothing in the bytes can make it quadratic.
 */
#include "needle.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"

#define GRAM 4
#define BLOCK_BYTES 4096
#define MAX_ROUNDS 3 /* of percent-encoding: %252541 */
#define MAX_ESCAPE (1 + 2 * MAX_ROUNDS)
#define FORMS (NEEDLE_HEX + 1)

struct needles {
	struct needle list[NEEDLE_MAX];
	bool is_deep[NEEDLE_MAX]; /* no % in the text: it may be encoded more than once */
	size_t n;
	size_t least, step;   /* of the forms without escapes */
	size_t max_len;       /* of the texts */
	uint64_t first[256];  /* which texts have a form that begins so */
	bool is_escaped[256]; /* bytes of the texts, in both cases where that is all the same */
	bool has_space;       /* + may stand for one */
	unsigned shift;
	uint8_t grams[];
};

enum match {
	MATCH_NO,
	MATCH_PART, /* as far as the bytes go */
	MATCH_YES,
};

/* --- digits */

static int hex_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

size_t needle_sextets(size_t len_bytes, unsigned skip_bits)
{
	return (8 * len_bytes - skip_bits) / 6;
}

unsigned needle_sextet(const char *text, unsigned skip_bits, size_t i)
{
	size_t bit = skip_bits + 6 * i, byte = bit / 8, in = bit % 8;
	unsigned v = (unsigned)(unsigned char)text[byte] << 8;

	if (in > 2)
		v |= (unsigned char)text[byte + 1];
	return v >> (10 - in) & 63;
}

/* --- one form at one place */

/* %XX at p, however often it was encoded. Bytes used; 0: it is none; -1: it goes on behind len. */
static int read_percent(
	const unsigned char *p, size_t len, bool is_deep, unsigned *ret, unsigned *ret_rounds)
{
	size_t at = 1;
	unsigned v = '%';

	for (*ret_rounds = 0; v == '%' && *ret_rounds < (is_deep ? MAX_ROUNDS : 1); at += 2) {
		int high = at < len ? hex_value(p[at]) : 0;
		int low = at + 1 < len ? hex_value(p[at + 1]) : 0;

		if (high < 0 || low < 0)
			break;
		if (at + 1 >= len)
			return -1;
		v = (unsigned)(high << 4 | low);
		++*ret_rounds;
	}
	*ret = v;
	return *ret_rounds ? (int)at : 0;
}

/* \c or \uXXXX at p; as read_percent. */
static int read_json(const unsigned char *p, size_t len, unsigned *ret)
{
	static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *name;
	unsigned v = 0;

	if (len < 2)
		return -1;
	if (p[1] != 'u') {
		name = p[1] ? strchr(names, p[1]) : NULL;
		*ret = name ? (unsigned char)meant[name - names] : 0;
		return name ? 2 : 0;
	}
	for (size_t i = 2; i < 6; i++) {
		int digit;

		if (i >= len)
			return -1;
		digit = hex_value(p[i]);
		if (digit < 0)
			return 0;
		v = v << 4 | (unsigned)digit;
	}
	*ret = v;
	return 6;
}

/* The byte at p in this form, how many bytes it takes there (-1: cannot be said yet). */
static int read_byte(const unsigned char *p, size_t len, enum needle_form form, bool is_deep,
	unsigned *ret, bool *is_altered)
{
	unsigned rounds = 0;
	int n = 0;

	if (form == NEEDLE_PERCENT && *p == '%')
		n = read_percent(p, len, is_deep, ret, &rounds);
	else if (form == NEEDLE_JSON && *p == '\\')
		n = read_json(p, len, ret);
	if (rounds > 1)
		*is_altered = true;
	if (n)
		return n;
	*ret = *p;
	return 1;
}

static enum match match_text(const struct needles *set, size_t id, enum needle_form form,
	const unsigned char *p, size_t len, struct needle_hit *ret)
{
	const struct needle *t = &set->list[id];
	bool is_altered = false;
	size_t at = 0;

	for (size_t i = 0; i < t->len; i++) {
		unsigned char want = (unsigned char)t->text[i];
		unsigned c;
		int n;

		if (at >= len)
			return MATCH_PART;
		n = read_byte(p + at, len - at, form, set->is_deep[id], &c, &is_altered);
		if (n < 0)
			return MATCH_PART;
		if (c != want && !(form == NEEDLE_PERCENT && c == '+' && want == ' ')) {
			if (!t->is_case_blind || c > 127 || tolower((int)c) != tolower(want))
				return MATCH_NO;
			is_altered = true;
		}
		at += (size_t)n;
	}
	ret->end = at;
	ret->is_altered = is_altered;
	return MATCH_YES;
}

static enum match match_base64(
	const struct needle *t, unsigned skip_bits, const unsigned char *p, size_t len, size_t *ret)
{
	size_t n = needle_sextets(t->len, skip_bits);

	for (size_t i = 0; i < n; i++) {
		if (i >= len)
			return MATCH_PART;
		if (base64_value(p[i]) != (int)needle_sextet(t->text, skip_bits, i))
			return MATCH_NO;
	}
	*ret = n;
	return MATCH_YES;
}

static enum match match_hex(const struct needle *t, const unsigned char *p, size_t len, size_t *ret)
{
	for (size_t i = 0; i < 2 * t->len; i++) {
		unsigned char c = (unsigned char)t->text[i / 2];

		if (i >= len)
			return MATCH_PART;
		if (hex_value(p[i]) != (i % 2 ? c & 15 : c >> 4))
			return MATCH_NO;
	}
	*ret = 2 * t->len;
	return MATCH_YES;
}

static const uint8_t base64_skips[] = {0, 4, 2}; /* beginning at the 1st, 2nd, 3rd byte of three */

/* One text at one place, all forms. The longest complete one in *best. */
static bool match_needle(const struct needles *set, size_t id, const unsigned char *p, size_t len,
	struct needle_hit *best)
{
	const struct needle *t = &set->list[id];
	struct needle_hit hit = {.id = (uint16_t)id};
	bool is_part = false;
	enum match m;

	for (int form = NEEDLE_RAW; form <= NEEDLE_JSON; form++) {
		hit.form = (uint8_t)form;
		m = match_text(set, id, (enum needle_form)form, p, len, &hit);
		is_part |= m == MATCH_PART;
		if (m == MATCH_YES && hit.end > best->end)
			*best = hit;
	}
	hit.is_altered = false;
	hit.form = NEEDLE_BASE64;
	for (size_t i = 0; i < ARRAY_SIZE(base64_skips); i++) {
		hit.skip_bits = base64_skips[i];
		m = match_base64(t, hit.skip_bits, p, len, &hit.end);
		is_part |= m == MATCH_PART;
		if (m == MATCH_YES && hit.end > best->end)
			*best = hit;
	}
	hit.skip_bits = 0;
	hit.form = NEEDLE_HEX;
	m = match_hex(t, p, len, &hit.end);
	is_part |= m == MATCH_PART;
	if (m == MATCH_YES && hit.end > best->end)
		*best = hit;
	return is_part;
}

/* Does any form of any text begin here? *ret_is_part: perhaps, when more bytes come. */
static bool match_at(const struct needles *set, const char *data, size_t len, size_t at,
	struct needle_hit *ret, bool *ret_is_part)
{
	const unsigned char *p = (const unsigned char *)data + at;
	uint64_t texts = set->first[*p];
	struct needle_hit best = {0};
	bool is_part = false;

	for (; texts; texts &= texts - 1)
		is_part |= match_needle(set, (size_t)__builtin_ctzll(texts), p, len - at, &best);
	*ret_is_part = is_part;
	if (!best.end)
		return false;
	*ret = best;
	ret->start = at;
	ret->end = at + best.end;
	return true;
}

/* The first of the places [from, to) where one begins. */
static bool match_between(const struct needles *set, const char *data, size_t len, size_t from,
	size_t to, struct needle_hit *ret)
{
	bool is_part;

	for (size_t at = from; at < to; at++)
		if (set->first[(unsigned char)data[at]] &&
			match_at(set, data, len, at, ret, &is_part))
			return true;
	return false;
}

/* --- the filters */

static uint32_t gram_hash(const struct needles *set, const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ((v | 0x20202020) * 0x9e3779b1u) >> set->shift; /* case does not matter */
}

static bool has_gram(const struct needles *set, const char *p)
{
	uint32_t h = gram_hash(set, p);

	return set->grams[h >> 3] >> (h & 7) & 1;
}

static bool find_plain(const struct needles *set, const char *data, size_t len, size_t from,
	size_t to, struct needle_hit *ret)
{
	size_t tried = from;

	/* an occurrence that begins before `to` has a gram at a place before to + step */
	for (size_t at = from; at < to + set->step - 1 && at + GRAM <= len; at += set->step) {
		size_t begin, end = at + 1 < to ? at + 1 : to;

		if (!has_gram(set, data + at))
			continue;
		begin = at >= tried + set->step - 1 ? at - (set->step - 1) : tried;
		if (begin < end && match_between(set, data, len, begin, end, ret))
			return true;
		tried = end > tried ? end : tried;
	}
	return false;
}

/* Does the %, \ or + here stand for a byte of the texts? */
static bool is_odd_escape(const struct needles *set, const char *data, size_t len, size_t at)
{
	const unsigned char *p = (const unsigned char *)data + at;
	unsigned c = 0, rounds = 0;
	int n;

	if (*p == '+')
		return true;
	if (*p == '\\') {
		n = read_json(p, len - at, &c);
	} else {
		n = read_percent(p, len - at, true, &c, &rounds);
		if (n < 0)
			n = read_percent(p, len - at, false, &c, &rounds);
	}
	/* a text with a % may be meant by any encoded one */
	return n > 0 && c < 256 && (set->is_escaped[c] || (rounds > 1 && set->is_escaped['%']));
}

static bool find_escaped(const struct needles *set, const char *data, size_t len, size_t from,
	size_t to, int mark, struct needle_hit *ret)
{
	size_t last = len - to < set->max_len ? len : to + set->max_len;
	size_t tried = from, at = from;

	while (at < last) {
		const char *p = memchr(data + at, mark, last - at);
		size_t begin, end;

		if (!p)
			return false;
		at = (size_t)(p - data);
		if (is_odd_escape(set, data, len, at)) {
			/* the first escape: only raw bytes before it */
			begin = at >= tried + set->max_len ? at - set->max_len : tried;
			end = at + 1 < to ? at + 1 : to;
			if (begin < end && match_between(set, data, len, begin, end, ret))
				return true;
			tried = end > tried ? end : tried;
		}
		at++;
	}
	return false;
}

bool needles_find(const struct needles *set, const char *data, size_t len_bytes, size_t from,
	struct needle_hit *ret)
{
	if (!set || !set->n)
		return false;
	for (size_t at = from; at < len_bytes; at += BLOCK_BYTES) {
		size_t to = len_bytes - at < BLOCK_BYTES ? len_bytes : at + BLOCK_BYTES;
		bool is_found = find_plain(set, data, len_bytes, at, to, ret);

		for (const char *mark = set->has_space ? "%\\+" : "%\\"; *mark; mark++) {
			to = is_found ? ret->start : to;
			is_found |= find_escaped(set, data, len_bytes, at, to, *mark, ret);
		}
		if (is_found)
			return true;
	}
	return false;
}

size_t needles_span(const struct needles *set)
{
	return set ? set->max_len * MAX_ESCAPE : 0;
}

size_t needles_tail(const struct needles *set, const char *data, size_t len_bytes, size_t from)
{
	size_t span = needles_span(set);
	struct needle_hit hit;
	bool is_part;

	if (!span)
		return len_bytes;
	for (size_t at = len_bytes > from + span ? len_bytes - span : from; at < len_bytes; at++) {
		if (!set->first[(unsigned char)data[at]])
			continue;
		match_at(set, data, len_bytes, at, &hit, &is_part);
		if (is_part)
			return at;
	}
	return len_bytes;
}

/* --- building */

static char base64_digit(unsigned v, bool is_url)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	if (v < 62)
		return digits[v];
	if (v == 62)
		return is_url ? '-' : '+';
	return is_url ? '_' : '/';
}

static void add_first(struct needles *set, size_t id, unsigned char c)
{
	set->first[c] |= 1ull << id;
}

static void add_grams(struct needles *set, const char *bytes)
{
	for (size_t i = 0; i + GRAM <= set->least; i++) {
		uint32_t h = gram_hash(set, bytes + i);

		set->grams[h >> 3] |= (uint8_t)(1u << (h & 7));
	}
}

/* The first `least` bytes of each form without escapes. */
static void add_forms(struct needles *set, size_t id, char *bytes)
{
	static const char hex[] = "0123456789abcdef";
	const struct needle *t = &set->list[id];

	add_grams(set, t->text);
	for (size_t s = 0; s < ARRAY_SIZE(base64_skips); s++)
		for (int is_url = 0; is_url < 2; is_url++) {
			for (size_t i = 0; i < set->least; i++)
				bytes[i] = base64_digit(
					needle_sextet(t->text, base64_skips[s], i), is_url);
			add_first(set, id, (unsigned char)bytes[0]);
			add_grams(set, bytes);
		}
	for (size_t i = 0; i < set->least; i++) {
		unsigned char c = (unsigned char)t->text[i / 2];

		bytes[i] = hex[i % 2 ? c & 15 : c >> 4];
	}
	add_first(set, id, (unsigned char)bytes[0]);
	add_first(set, id, (unsigned char)toupper((unsigned char)bytes[0]));
	add_grams(set, bytes);
}

static void add_needle(struct needles *set, size_t id, char *bytes)
{
	const struct needle *t = &set->list[id];
	unsigned char c = (unsigned char)t->text[0];

	set->is_deep[id] = !memchr(t->text, '%', t->len);
	add_first(set, id, '%');
	add_first(set, id, '\\');
	add_first(set, id, c);
	if (c == ' ')
		add_first(set, id, '+');
	set->has_space |= memchr(t->text, ' ', t->len) != NULL;
	if (t->is_case_blind) {
		add_first(set, id, (unsigned char)toupper(c));
		add_first(set, id, (unsigned char)tolower(c));
	}
	for (size_t i = 0; i < t->len; i++) {
		c = (unsigned char)t->text[i];
		set->is_escaped[c] = true;
		if (t->is_case_blind)
			set->is_escaped[tolower(c)] = set->is_escaped[toupper(c)] = true;
	}
	add_forms(set, id, bytes);
}

static bool is_searched(const struct needle *t)
{
	return t->text && t->len >= NEEDLE_MIN_BYTES && t->len <= NEEDLE_MAX_BYTES;
}

/* Bits of the bitmap for this many bytes of texts: one in 64 set, or fewer. */
static unsigned bits_for(size_t n_bytes)
{
	unsigned bits = 14;

	while (bits < 22 && n_bytes * 8 * 64 > 1u << bits)
		bits++;
	return bits;
}

int needles_new(const struct needle *list, size_t n, struct needles **ret)
{
	_cleanup_free_ char *bytes = NULL;
	struct needles *set;
	size_t sum = 0, least = SIZE_MAX;
	unsigned bits;

	if (n > NEEDLE_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (is_searched(&list[i])) {
			sum += list[i].len;
			least = list[i].len < least ? list[i].len : least;
		}
	bits = bits_for(sum);
	set = calloc(1, sizeof(*set) + (1u << bits) / 8);
	bytes = calloc(1, sum ? least : 1);
	if (!set || !bytes) {
		free(set);
		return -ENOMEM;
	}
	set->shift = 32 - bits;
	set->least = sum ? least : 0;
	set->step = sum ? least - GRAM + 1 : 1;
	for (size_t i = 0; i < n; i++) {
		set->list[i] = list[i];
		if (!is_searched(&list[i]))
			continue;
		set->n++;
		set->max_len = list[i].len > set->max_len ? list[i].len : set->max_len;
		add_needle(set, i, bytes);
	}
	explicit_bzero(bytes, sum ? least : 1);
	*ret = set;
	return 0;
}

void needles_free(struct needles *set)
{
	if (!set)
		return;
	explicit_bzero(set, sizeof(*set) + (size_t)(1u << (32 - set->shift)) / 8);
	free(set);
}

bool needles_is_empty(const struct needles *set)
{
	return !set || !set->n;
}
