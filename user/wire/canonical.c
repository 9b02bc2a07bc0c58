/* SPDX-License-Identifier: GPL-2.0-only */
/* Canonical requests; see canonical.h. */
#include "canonical.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "percent.h"

bool canonical_reading(bool is_s3, size_t i, struct canonical_reading *ret)
{
	static const uint8_t s3[] = {CANONICAL_AS_SENT, CANONICAL_ENCODED},
			     other[] = {CANONICAL_NORMALISED, CANONICAL_TWICE, CANONICAL_AS_SENT,
				     CANONICAL_ENCODED};
	size_t n = is_s3 ? ARRAY_SIZE(s3) : ARRAY_SIZE(other);

	if (i >= 2 * n)
		return false;
	ret->path = is_s3 ? s3[i / 2] : other[i / 2];
	ret->is_query_as_sent = i % 2;
	return true;
}

/* --- the path */

static void add_path(struct http1_text t, bool is_decoded, struct buf *out)
{
	while (t.len) {
		bool is_slash = *t.ptr == '/', is_broken;
		char c = *t.ptr;

		if (is_decoded)
			c = percent_take(&t, &is_broken);
		else
			t = (struct http1_text){t.ptr + 1, t.len - 1};
		if (is_slash)
			buf_add_char(out, '/');
		else
			percent_encode(c, out);
	}
}

/* Back to before the last segment. */
static void drop_segment(struct buf *b)
{
	const char *slash = b->len ? memrchr(b->data, '/', b->len) : NULL;

	b->len = slash ? (size_t)(slash - b->data) : 0;
}

/* Segments `.`, `..` and empty ones resolved as the SDKs do it: a slash at the end stays, but a dot
 * segment there leaves none (RFC 3986 section 5.2.4 would). */
static void add_normal(struct http1_text t, struct buf *out)
{
	bool is_open = t.len && t.ptr[t.len - 1] == '/';

	while (t.len) {
		const char *slash = memchr(t.ptr, '/', t.len);
		size_t n = slash ? (size_t)(slash - t.ptr) : t.len;

		if (n == 2 && !memcmp(t.ptr, "..", 2)) {
			drop_segment(out);
		} else if (n && (n != 1 || *t.ptr != '.')) {
			buf_add_char(out, '/');
			buf_add(out, t.ptr, n);
		}
		t.ptr += slash ? n + 1 : n;
		t.len -= slash ? n + 1 : n;
	}
	if (is_open || !out->len)
		buf_add_char(out, '/');
}

static void print_path(struct http1_text path, enum canonical_path reading, struct buf *out)
{
	struct buf normal;

	switch (reading) {
	case CANONICAL_AS_SENT:
		buf_add(out, path.ptr, path.len);
		break;
	case CANONICAL_ENCODED:
		add_path(path, true, out);
		break;
	case CANONICAL_TWICE:
		add_path(path, false, out);
		break;
	case CANONICAL_NORMALISED:
		buf_init(&normal);
		buf_reserve(&normal, path.len);
		add_normal(path, &normal);
		add_path((struct http1_text){normal.data, normal.len}, false, out);
		out->is_failed |= normal.is_failed;
		buf_wipe(&normal);
		break;
	}
}

/* --- the query */

struct param {
	struct http1_text name, value;
};

static int compare_text(struct http1_text a, struct http1_text b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return r ? r : (a.len > b.len) - (a.len < b.len);
}

static int compare_params(const void *a, const void *b)
{
	const struct param *x = a, *y = b;
	int r = compare_text(x->name, y->name);

	return r ? r : compare_text(x->value, y->value);
}

/* A plus is a space in queries of forms. */
static void add_query_text(struct http1_text t, struct buf *out)
{
	while (t.len) {
		bool is_plus = *t.ptr == '+', is_broken;
		char c = percent_take(&t, &is_broken);

		percent_encode(is_plus ? ' ' : c, out);
	}
}

/* Every name and value encoded anew, in the old order. */
static void encode_query(struct http1_text query, struct buf *out)
{
	struct http1_text name, value;

	while (sigv4_next_param(&query, &name, &value)) {
		if (out->len)
			buf_add_char(out, '&');
		add_query_text(name, out);
		buf_add_char(out, '=');
		add_query_text(value, out);
	}
}

static int print_sorted(struct http1_text query, bool is_presigned, struct buf *out)
{
	_cleanup_free_ struct param *params = NULL;
	struct http1_text name, value;
	size_t n = 1;

	for (size_t i = 0; i < query.len; i++)
		n += query.ptr[i] == '&';
	params = calloc(n, sizeof(*params));
	if (!params)
		return -ENOMEM;
	n = 0;
	while (sigv4_next_param(&query, &name, &value))
		if (!is_presigned || compare_text(name, (struct http1_text){"X-Amz-Signature", 15}))
			params[n++] = (struct param){name, value};
	qsort(params, n, sizeof(*params), compare_params);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(out, '&');
		buf_add(out, params[i].name.ptr, params[i].name.len);
		buf_add_char(out, '=');
		buf_add(out, params[i].value.ptr, params[i].value.len);
	}
	return 0;
}

static int print_query(struct http1_text query, bool is_presigned, bool is_as_sent, struct buf *out)
{
	struct buf encoded;
	int r;

	if (is_as_sent || !query.len)
		return print_sorted(query, is_presigned, out);
	buf_init(&encoded);
	buf_reserve(&encoded, 3 * query.len);
	encode_query(query, &encoded);
	r = encoded.is_failed
		? -ENOMEM
		: print_sorted((struct http1_text){encoded.data, encoded.len}, is_presigned, out);
	buf_wipe(&encoded);
	return r;
}

/* --- fields */

/* Runs of blanks become one space. */
static void add_value(struct http1_text t, struct buf *out)
{
	bool is_blank = false;

	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] == ' ' || t.ptr[i] == '\t') {
			is_blank = true;
			continue;
		}
		if (is_blank)
			buf_add_char(out, ' ');
		is_blank = false;
		buf_add_char(out, t.ptr[i]);
	}
}

static bool is_named(const struct http1_field *f, struct http1_text name)
{
	return f->name.len == name.len && !strncasecmp(f->name.ptr, name.ptr, name.len);
}

static bool next_name(const char **names, struct http1_text *ret)
{
	if (!**names)
		return false;
	*ret = (struct http1_text){*names, strcspn(*names, ";")};
	*names += ret->len;
	if (**names)
		++*names;
	return true;
}

static void print_field(const struct canonical_request *c, struct http1_text name, struct buf *out)
{
	bool is_more = false;

	buf_add(out, name.ptr, name.len);
	buf_add_char(out, ':');
	if (http1_text_is(name, "host")) {
		add_value(c->host, out);
	} else if (c->is_up && http1_text_is(name, "content-length") && c->head->has_length) {
		buf_add_u64(out, c->head->length);
	} else {
		for (size_t i = 0; i < c->head->n_fields; i++) {
			if (!is_named(&c->head->fields[i], name))
				continue;
			if (is_more)
				buf_add_char(out, ',');
			is_more = true;
			add_value(c->head->fields[i].value, out);
		}
	}
	buf_add_char(out, '\n');
}

int canonical_print(const struct sigv4 *s, const struct canonical_request *c,
	struct canonical_reading reading, struct buf *out)
{
	const char *mark = memchr(c->path.ptr, '?', c->path.len), *names = s->names;
	struct http1_text path = c->path, query = {"", 0}, name;
	int r;

	if (mark) {
		path.len = (size_t)(mark - path.ptr);
		query = (struct http1_text){mark + 1, c->path.len - path.len - 1};
	}
	buf_add(out, c->method.ptr, c->method.len);
	buf_add_char(out, '\n');
	print_path(path, reading.path, out);
	buf_add_char(out, '\n');
	r = print_query(query, s->form == SIGV4_QUERY, reading.is_query_as_sent, out);
	if (r < 0)
		return r;
	buf_add_char(out, '\n');
	while (next_name(&names, &name))
		print_field(c, name, out);
	buf_printf(out, "\n%s\n%s", s->names, c->payload);
	return out->is_failed ? -ENOMEM : 0;
}

static bool is_dropped(const struct http1_head *h, struct http1_text name)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (h->fields[i].is_hop && is_named(&h->fields[i], name))
			return true;
	return false;
}

void canonical_drop_hop_names(const struct http1_head *h, struct sigv4 *s)
{
	const char *names = s->names;
	struct http1_text name;
	char *out = s->names;

	while (next_name(&names, &name)) {
		if (is_dropped(h, name))
			continue;
		if (out != s->names)
			*out++ = ';';
		memmove(out, name.ptr, name.len);
		out += name.len;
	}
	*out = 0;
}
