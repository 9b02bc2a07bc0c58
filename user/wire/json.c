/* SPDX-License-Identifier: GPL-2.0-only */
/* A strict JSON reader; see json.h. One pass writes tokens, a second finds repeated keys. */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/htab.h"

#define MIN_TOKENS 64
#define FEW_KEYS 8 /* compared pair by pair */
#define BAD_POINT UINT32_MAX

struct reader {
	struct json *j;
	const char *at, *end;
	uint32_t open[JSON_MAX_DEPTH]; /* the containers around this place */
	size_t depth;
};

/* --- tokens */

static int add_token(struct reader *r, enum json_kind kind, const char *from, uint32_t *ret)
{
	struct json *j = r->j;

	if (j->n == j->cap) {
		uint32_t cap = j->cap ? j->cap * 2 : MIN_TOKENS;
		struct json_token *tokens;

		if (cap > JSON_MAX_TOKENS)
			return -EFBIG;
		tokens = realloc(j->tokens, cap * sizeof(*tokens));
		if (!tokens)
			return -ENOMEM;
		j->tokens = tokens;
		j->cap = cap;
	}
	j->tokens[j->n] =
		(struct json_token){.at = (uint32_t)(from - j->text), .kind = (uint8_t)kind};
	*ret = j->n++;
	return 0;
}

static void end_token(struct reader *r, uint32_t token)
{
	r->j->tokens[token].end = (uint32_t)(r->at - r->j->text);
	r->j->tokens[token].next = r->j->n;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end &&
		(*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

/* --- scalars */

/* Bytes of the UTF-8 sequence at s (RFC 3629: shortest form, no surrogates), 0 if it is none. */
static size_t utf8_len(const char *s, const char *end)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (!n || p[0] > 0xf4 || (size_t)(end - s) < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static uint32_t hex4(const char *s, const char *end)
{
	uint32_t v = 0;

	if (end - s < 4)
		return BAD_POINT;
	for (int i = 0; i < 4; i++) {
		char c = s[i], lower = (char)(c | 0x20);

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			v = v << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return BAD_POINT;
	}
	return v;
}

/* The code point of the escape at s (its backslash), and how long it is. */
static uint32_t read_escape(const char *s, const char *end, size_t *ret_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known = end - s > 1 && s[1] ? strchr(from, s[1]) : NULL;
	uint32_t v, low;

	*ret_len = 2;
	if (known)
		return (unsigned char)to[known - from];
	if (end - s < 6 || s[1] != 'u')
		return BAD_POINT;
	v = hex4(s + 2, end);
	*ret_len = 6;
	if (v == BAD_POINT || v < 0xd800 || v > 0xdfff)
		return v;
	low = v < 0xdc00 && end - s >= 12 && s[6] == '\\' && s[7] == 'u' ? hex4(s + 8, end)
									 : BAD_POINT;
	*ret_len = 12;
	if (low == BAD_POINT || low < 0xdc00 || low > 0xdfff)
		return BAD_POINT;
	return 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
}

static int read_string(struct reader *r)
{
	bool has_escape = false;
	uint32_t token;
	int error;

	if (r->at == r->end || *r->at != '"')
		return -EBADMSG;
	error = add_token(r, JSON_STRING, r->at, &token);
	if (error < 0)
		return error;
	for (r->at++; r->at < r->end && *r->at != '"';) {
		size_t n = 1;

		if ((unsigned char)*r->at < 0x20)
			return -EBADMSG;
		if (*r->at == '\\') {
			has_escape = true;
			if (read_escape(r->at, r->end, &n) == BAD_POINT)
				return -EBADMSG;
		} else if ((unsigned char)*r->at >= 0x80) {
			n = utf8_len(r->at, r->end);
			if (!n)
				return -EBADMSG;
		}
		r->at += n;
	}
	if (r->at == r->end)
		return -EBADMSG;
	r->at++;
	r->j->tokens[token].has_escape = has_escape;
	end_token(r, token);
	return 0;
}

static size_t skip_digits(struct reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return (size_t)(r->at - from);
}

static bool take(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static int read_number(struct reader *r)
{
	uint32_t token;
	int error = add_token(r, JSON_NUMBER, r->at, &token);

	if (error < 0)
		return error;
	take(r, '-');
	if (!take(r, '0') && !skip_digits(r))
		return -EBADMSG;
	if (take(r, '.') && !skip_digits(r))
		return -EBADMSG;
	if (take(r, 'e') || take(r, 'E')) {
		if (!take(r, '+'))
			take(r, '-');
		if (!skip_digits(r))
			return -EBADMSG;
	}
	end_token(r, token);
	return 0;
}

static int read_word(struct reader *r, const char *word, enum json_kind kind)
{
	size_t n = strlen(word);
	uint32_t token;
	int error;

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return -EBADMSG;
	error = add_token(r, kind, r->at, &token);
	if (error < 0)
		return error;
	r->at += n;
	end_token(r, token);
	return 0;
}

/* --- containers */

static int read_key(struct reader *r)
{
	int error;

	skip_blanks(r);
	error = read_string(r);
	if (error < 0)
		return error;
	skip_blanks(r);
	return take(r, ':') ? 0 : -EBADMSG;
}

static int open_container(struct reader *r, enum json_kind kind)
{
	uint32_t token;
	int error = add_token(r, kind, r->at, &token);

	if (error < 0)
		return error;
	if (r->depth == JSON_MAX_DEPTH)
		return -ELOOP;
	r->open[r->depth++] = token;
	r->at++;
	return 0;
}

static bool is_in_object(const struct reader *r)
{
	return r->j->tokens[r->open[r->depth - 1]].kind == JSON_OBJECT;
}

static bool take_end(struct reader *r)
{
	if (!take(r, is_in_object(r) ? '}' : ']'))
		return false;
	end_token(r, r->open[--r->depth]);
	return true;
}

/* Behind a value: what ends with it, or a comma and what the next value needs before it. 1 when all
 * is closed. */
static int read_between(struct reader *r)
{
	while (r->depth) {
		skip_blanks(r);
		if (take_end(r))
			continue;
		if (!take(r, ','))
			return -EBADMSG;
		return is_in_object(r) ? read_key(r) : 0;
	}
	return 1;
}

/* One value, or the beginning of a container that is not empty. 1 when the value is whole. */
static int read_value(struct reader *r)
{
	int error;
	char c;

	skip_blanks(r);
	if (r->at == r->end)
		return -EBADMSG;
	c = *r->at;
	if (c == '{' || c == '[') {
		error = open_container(r, c == '{' ? JSON_OBJECT : JSON_ARRAY);
		if (error < 0)
			return error;
		skip_blanks(r);
		if (take_end(r))
			return 1;
		return c == '{' ? read_key(r) : 0;
	}
	error = c == '"'   ? read_string(r)
		: c == 't' ? read_word(r, "true", JSON_TRUE)
		: c == 'f' ? read_word(r, "false", JSON_FALSE)
		: c == 'n' ? read_word(r, "null", JSON_NULL)
			   : read_number(r);
	return error < 0 ? error : 1;
}

static int read_text(struct reader *r)
{
	int state = 0;

	while (state == 0) {
		state = read_value(r);
		if (state == 1)
			state = read_between(r);
	}
	if (state < 0)
		return state;
	skip_blanks(r);
	return r->at == r->end ? 0 : -EBADMSG;
}

/* --- decoded texts */

/* The code point of a sequence that utf8_len found to be good. */
static uint32_t utf8_point(const unsigned char *s, size_t *ret_len)
{
	size_t n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t v = s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		v = v << 6 | (s[i] & 0x3fu);
	*ret_len = n;
	return v;
}

/* Walks a string's code points. False at its end. */
struct points {
	const char *at, *end;
};

static struct points points_of(const struct json *j, uint32_t token)
{
	const struct json_token *t = &j->tokens[token];

	return (struct points){j->text + t->at + 1, j->text + t->end - 1};
}

static bool next_point(struct points *p, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)p->at;
	size_t n = 1;

	if (p->at == p->end)
		return false;
	if (*s == '\\')
		*ret = read_escape(p->at, p->end, &n);
	else if (*s < 0x80)
		*ret = *s;
	else
		*ret = utf8_point(s, &n);
	p->at += n;
	return true;
}

static void add_point(struct buf *b, uint32_t v)
{
	if (v < 0x80) {
		buf_add_char(b, (char)v);
	} else if (v < 0x800) {
		buf_add_char(b, (char)(0xc0 | v >> 6));
		buf_add_char(b, (char)(0x80 | (v & 0x3f)));
	} else {
		if (v < 0x10000) {
			buf_add_char(b, (char)(0xe0 | v >> 12));
		} else {
			buf_add_char(b, (char)(0xf0 | v >> 18));
			buf_add_char(b, (char)(0x80 | (v >> 12 & 0x3f)));
		}
		buf_add_char(b, (char)(0x80 | (v >> 6 & 0x3f)));
		buf_add_char(b, (char)(0x80 | (v & 0x3f)));
	}
}

void json_add_text(const struct json *j, uint32_t token, struct buf *out)
{
	struct points p = points_of(j, token);
	uint32_t v;

	if (!j->tokens[token].has_escape) {
		buf_add(out, p.at, (size_t)(p.end - p.at));
		return;
	}
	while (next_point(&p, &v))
		add_point(out, v);
}

static bool is_same(const struct json *j, uint32_t a, uint32_t b)
{
	struct points p = points_of(j, a), q = points_of(j, b);
	uint32_t v, w;

	if (!j->tokens[a].has_escape && !j->tokens[b].has_escape)
		return p.end - p.at == q.end - q.at && !memcmp(p.at, q.at, (size_t)(p.end - p.at));
	while (next_point(&p, &v))
		if (!next_point(&q, &w) || v != w)
			return false;
	return !next_point(&q, &w);
}

bool json_is(const struct json *j, uint32_t token, const char *text)
{
	struct points p;
	uint32_t v;

	if (token == JSON_NONE || j->tokens[token].kind != JSON_STRING)
		return false;
	p = points_of(j, token);
	while (next_point(&p, &v))
		if (!*text || v != (unsigned char)*text++)
			return false;
	return !*text;
}

/* U+017F and U+212A are what Unicode folds to s and k; Go's encoding/json matches keys so. */
static uint32_t fold(uint32_t v)
{
	if (v >= 'A' && v <= 'Z')
		return v | 0x20;
	return v == 0x17f ? 's' : v == 0x212a ? 'k' : v;
}

bool json_fold(const struct json *j, uint32_t token, size_t max_bytes, char *out)
{
	struct points p;
	size_t n = 0;
	uint32_t v;

	if (token == JSON_NONE || j->tokens[token].kind != JSON_STRING)
		return false;
	p = points_of(j, token);
	while (next_point(&p, &v)) {
		if (v == '_' || v == '-')
			continue;
		v = fold(v);
		if (!v || v > '~' || n + 1 >= max_bytes)
			return false;
		out[n++] = (char)v;
	}
	out[n] = 0;
	return true;
}

/* --- members */

uint32_t json_first(const struct json *j, uint32_t container)
{
	const struct json_token *t = &j->tokens[container];

	return t->kind >= JSON_ARRAY && t->next > container + 1 ? container + 1 : JSON_NONE;
}

uint32_t json_after(const struct json *j, uint32_t container, uint32_t of)
{
	bool is_object = j->tokens[container].kind == JSON_OBJECT;
	uint32_t next = j->tokens[is_object ? of + 1 : of].next;

	return next < j->tokens[container].next ? next : JSON_NONE;
}

uint32_t json_member(const struct json *j, uint32_t object, const char *key)
{
	if (j->tokens[object].kind != JSON_OBJECT)
		return JSON_NONE;
	for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_after(j, object, k))
		if (json_is(j, k, key))
			return k + 1;
	return JSON_NONE;
}

/* --- repeated keys */

struct hashed {
	uint64_t hash;
	uint32_t key;
};

static uint64_t hash_key(const struct json *j, uint32_t key, struct buf *scratch)
{
	buf_clear(scratch);
	json_add_text(j, key, scratch);
	return hash_bytes(scratch->data ? scratch->data : "", scratch->len);
}

static int compare_hashed(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Sorted by hashes of the decoded keys; equal hashes are compared whole. */
static int check_many_keys(const struct json *j, uint32_t object, size_t n, struct buf *scratch)
{
	_cleanup_free_ struct hashed *all = calloc(n, sizeof(*all));
	size_t i = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_after(j, object, k))
		all[i++] = (struct hashed){hash_key(j, k, scratch), k};
	if (scratch->is_failed)
		return -ENOMEM;
	qsort(all, n, sizeof(*all), compare_hashed);
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n && all[b].hash == all[a].hash; b++)
			if (is_same(j, all[a].key, all[b].key))
				return -EBADMSG;
	return 0;
}

static int check_keys(const struct json *j, uint32_t object, struct buf *scratch)
{
	uint32_t seen[FEW_KEYS];
	size_t n = 0;

	for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_after(j, object, k)) {
		for (size_t i = 0; n < FEW_KEYS && i < n; i++)
			if (is_same(j, seen[i], k))
				return -EBADMSG;
		if (n < FEW_KEYS)
			seen[n] = k;
		n++;
	}
	return n > FEW_KEYS ? check_many_keys(j, object, n, scratch) : 0;
}

static int check_all_keys(const struct json *j)
{
	struct buf scratch;
	int r = 0;

	buf_init(&scratch);
	for (uint32_t t = 0; t < j->n && r == 0; t++)
		if (j->tokens[t].kind == JSON_OBJECT)
			r = check_keys(j, t, &scratch);
	buf_done(&scratch);
	return r;
}

int json_parse(const char *text, size_t len_bytes, struct json *ret)
{
	struct reader r = {.j = ret};
	int error;

	if (!len_bytes)
		text = ""; /* of an empty buffer it is NULL */
	r.at = text;
	r.end = text + len_bytes;
	*ret = (struct json){.text = text, .len = len_bytes};
	if (len_bytes > JSON_MAX_BYTES)
		return -EFBIG;
	error = read_text(&r);
	return error < 0 ? error : check_all_keys(ret);
}

void json_done(struct json *j)
{
	free(j->tokens);
	j->tokens = NULL;
	j->n = j->cap = 0;
}
