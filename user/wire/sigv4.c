/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads who signed what from the field or the query, once, into texts of its own; see sigv4.h. A
 * value that could stand twice, or break out of the line it is printed in, is malformed.
 */
#include "sigv4.h"

#include <errno.h>
#include <string.h>

#include "percent.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define ASYMMETRIC "AWS4-ECDSA-"
#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static bool text_begins(struct http1_text t, const char *with)
{
	size_t n = strlen(with);

	return t.len >= n && !memcmp(t.ptr, with, n);
}

static bool text_equals(struct http1_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.ptr, s, t.len);
}

/* Copies visible ASCII only: nothing in it ends a line. */
static int copy(struct http1_text t, char *out, size_t size)
{
	if (!t.len || t.len >= size)
		return -EBADMSG;
	for (size_t i = 0; i < t.len; i++)
		if (t.ptr[i] <= ' ' || t.ptr[i] > '~')
			return -EBADMSG;
	memcpy(out, t.ptr, t.len);
	out[t.len] = 0;
	return 0;
}

/* --- the parts of a signature, wherever they stand */

/* Takes what follows the last slash off t. */
static int cut_last(struct http1_text *t, char *out, size_t size)
{
	const char *slash = memrchr(t->ptr, '/', t->len);
	struct http1_text last;

	if (!slash)
		return -EBADMSG;
	last = (struct http1_text){slash + 1, (size_t)(t->ptr + t->len - slash - 1)};
	t->len = (size_t)(slash - t->ptr);
	return copy(last, out, size);
}

/* `KEYID/20130524/us-east-1/s3/aws4_request`; from its end, as a key id may hold a slash. */
static int read_credential(struct http1_text t, struct sigv4 *s)
{
	char last[sizeof("aws4_request")];

	if (*s->key_id || cut_last(&t, last, sizeof(last)) < 0 || strcmp(last, "aws4_request"))
		return -EBADMSG;
	if (cut_last(&t, s->service, sizeof(s->service)) < 0 ||
		cut_last(&t, s->region, sizeof(s->region)) < 0 ||
		cut_last(&t, s->date, sizeof(s->date)) < 0)
		return -EBADMSG;
	s->is_s3 = !strcmp(s->service, "s3") || !strncmp(s->service, "s3-", 3) ||
		!strcmp(s->service, "s3express");
	return copy(t, s->key_id, sizeof(s->key_id));
}

static int read_names(struct http1_text t, struct sigv4 *s)
{
	if (*s->names || copy(t, s->names, sizeof(s->names)) < 0)
		return -EBADMSG;
	for (const char *p = s->names; *p; p++)
		if ((*p >= 'A' && *p <= 'Z') || strchr("\"(),/:<=>?@[\\]{}", *p))
			return -EBADMSG;
	return 0;
}

static int read_signature(struct http1_text t, struct sigv4 *s)
{
	if (*s->signature || t.len != SIGV4_HEX_BYTES - 1)
		return -EBADMSG;
	return copy(t, s->signature, sizeof(s->signature));
}

/* ISO 8601, basic form. */
static int read_time(struct http1_text t, struct sigv4 *s)
{
	if (*s->time || t.len != sizeof(s->time) - 1)
		return -EBADMSG;
	return copy(t, s->time, sizeof(s->time));
}

static bool is_hex(struct http1_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!strchr("0123456789abcdefABCDEF", t.ptr[i]))
			return false;
	return t.len == SIGV4_HEX_BYTES - 1;
}

static int read_payload(struct http1_text t, struct sigv4 *s)
{
	if (*s->given)
		return -EBADMSG;
	if (copy(t, s->given, sizeof(s->given)) < 0) {
		s->payload = SIGV4_PAYLOAD_UNKNOWN;
		return 0;
	}
	s->is_hash = is_hex(t);
	if (s->is_hash || text_equals(t, "UNSIGNED-PAYLOAD") ||
		text_equals(t, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
		s->payload = SIGV4_PAYLOAD_GIVEN;
	else if (text_equals(t, "STREAMING-" ALGORITHM "-PAYLOAD"))
		s->payload = SIGV4_PAYLOAD_CHUNKS;
	else if (text_equals(t, "STREAMING-" ALGORITHM "-PAYLOAD-TRAILER"))
		s->payload = SIGV4_PAYLOAD_TRAILERS;
	else
		s->payload = SIGV4_PAYLOAD_UNKNOWN;
	return 0;
}

static bool is_complete(const struct sigv4 *s)
{
	return *s->key_id && *s->names && *s->signature && *s->time;
}

/* --- the Authorization field */

static struct http1_text trim(struct http1_text t)
{
	while (t.len && strchr(" \t", *t.ptr)) {
		t.ptr++;
		t.len--;
	}
	while (t.len && strchr(" \t", t.ptr[t.len - 1]))
		t.len--;
	return t;
}

static int read_part(struct http1_text part, struct sigv4 *s)
{
	static const struct {
		const char *name;
		int (*read)(struct http1_text t, struct sigv4 *s);
	} parts[] = {
		{"Credential=", read_credential},
		{"SignedHeaders=", read_names},
		{"Signature=", read_signature},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i].name);

		if (text_begins(part, parts[i].name))
			return parts[i].read((struct http1_text){part.ptr + n, part.len - n}, s);
	}
	return -EBADMSG;
}

/* `AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...` */
static int read_authorization(struct http1_text t, struct sigv4 *s)
{
	if (s->form != SIGV4_NONE)
		return -EBADMSG;
	s->form = SIGV4_HEADER;
	t.ptr += strlen(ALGORITHM);
	t.len -= strlen(ALGORITHM);
	if (!t.len || !strchr(" \t", *t.ptr))
		return -EBADMSG;
	while (t.len) {
		const char *comma = memchr(t.ptr, ',', t.len);
		size_t n = comma ? (size_t)(comma - t.ptr) : t.len;

		if (read_part(trim((struct http1_text){t.ptr, n}), s) < 0)
			return -EBADMSG;
		t.ptr += comma ? n + 1 : n;
		t.len -= comma ? n + 1 : n;
	}
	return 0;
}

static int read_fields(const struct http1_head *h, struct sigv4 *s)
{
	size_t n_authorization = 0;
	int r = 0;

	for (size_t i = 0; i < h->n_fields && r == 0; i++) {
		const struct http1_field *f = &h->fields[i];

		if (!http1_text_is(f->name, "authorization"))
			continue;
		n_authorization++;
		if (text_begins(f->value, ASYMMETRIC))
			return -EPROTONOSUPPORT;
		if (text_begins(f->value, ALGORITHM))
			r = read_authorization(f->value, s);
	}
	return s->form != SIGV4_NONE && n_authorization > 1 ? -EBADMSG : r;
}

/* What is signed, but stands in fields of its own. */
static int read_signed_fields(const struct http1_head *h, struct sigv4 *s)
{
	struct http1_text date = {0};
	int r = 0;

	for (size_t i = 0; i < h->n_fields && r == 0; i++) {
		const struct http1_field *f = &h->fields[i];

		if (http1_text_is(f->name, "x-amz-content-sha256"))
			r = read_payload(f->value, s);
		else if (http1_text_is(f->name, "x-amz-date") && s->form == SIGV4_HEADER)
			r = read_time(f->value, s);
		else if (http1_text_is(f->name, "date"))
			date = f->value;
	}
	if (r == 0 && s->form == SIGV4_HEADER && !*s->time)
		r = read_time(date, s);
	return r;
}

/* --- a presigned URL */

bool sigv4_next_param(
	struct http1_text *query, struct http1_text *ret_name, struct http1_text *ret_value)
{
	const char *end, *equals;
	size_t n;

	while (query->len && *query->ptr == '&') {
		query->ptr++;
		query->len--;
	}
	if (!query->len)
		return false;
	end = memchr(query->ptr, '&', query->len);
	n = end ? (size_t)(end - query->ptr) : query->len;
	equals = memchr(query->ptr, '=', n);
	*ret_name = (struct http1_text){query->ptr, equals ? (size_t)(equals - query->ptr) : n};
	*ret_value = (struct http1_text){0};
	if (equals)
		*ret_value = (struct http1_text){equals + 1, n - ret_name->len - 1};
	query->ptr += n;
	query->len -= n;
	return true;
}

static int decode(struct http1_text t, struct buf *out)
{
	bool is_broken = false;

	while (t.len && !is_broken)
		buf_add_char(out, percent_take(&t, &is_broken));
	if (is_broken)
		return -EBADMSG;
	return out->is_failed ? -ENOMEM : 0;
}

static int read_algorithm(struct http1_text t, struct sigv4 *s)
{
	if (text_begins(t, ASYMMETRIC))
		return -EPROTONOSUPPORT;
	if (s->form != SIGV4_NONE || !text_equals(t, ALGORITHM))
		return -EBADMSG;
	s->form = SIGV4_QUERY;
	return 0;
}

static int read_param(struct http1_text name, struct http1_text value, struct sigv4 *s)
{
	static const struct {
		const char *name;
		int (*read)(struct http1_text t, struct sigv4 *s);
	} params[] = {
		{"X-Amz-Algorithm", read_algorithm},
		{"X-Amz-Credential", read_credential},
		{"X-Amz-Date", read_time},
		{"X-Amz-SignedHeaders", read_names},
		{"X-Amz-Signature", read_signature},
		{"X-Amz-Content-Sha256", read_payload},
	};
	struct buf plain;
	int r = 0;

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		if (!text_equals(name, params[i].name))
			continue;
		buf_init(&plain);
		r = decode(value, &plain);
		if (r == 0)
			r = params[i].read((struct http1_text){plain.data, plain.len}, s);
		buf_done(&plain);
	}
	return r;
}

static struct http1_text query_of(struct http1_text path)
{
	const char *mark = memchr(path.ptr, '?', path.len);

	if (!mark)
		return (struct http1_text){"", 0};
	return (struct http1_text){mark + 1, (size_t)(path.ptr + path.len - mark - 1)};
}

static bool is_presigned(struct http1_text query)
{
	struct http1_text name, value;

	while (sigv4_next_param(&query, &name, &value))
		if (text_equals(name, "X-Amz-Algorithm"))
			return true;
	return false;
}

static int read_query(struct http1_text query, struct sigv4 *s)
{
	struct http1_text name, value;
	int r = 0;

	if (s->form != SIGV4_NONE)
		return -EBADMSG;
	while (r == 0 && sigv4_next_param(&query, &name, &value))
		r = read_param(name, value, s);
	return r;
}

int sigv4_parse(const struct http1_head *h, struct http1_text path, struct sigv4 *ret)
{
	struct http1_text query = query_of(path);
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_fields(h, ret);
	if (r == 0 && is_presigned(query))
		r = read_query(query, ret);
	if (r < 0 || ret->form == SIGV4_NONE)
		return r;
	r = read_signed_fields(h, ret);
	if (r < 0 || !is_complete(ret))
		return -EBADMSG;
	/* S3 takes a presigned URL with any body */
	if (ret->form == SIGV4_QUERY && ret->is_s3 && !*ret->given) {
		ret->payload = SIGV4_PAYLOAD_GIVEN;
		strcpy(ret->given, "UNSIGNED-PAYLOAD");
	}
	return 0;
}

/* --- texts */

static void add_scope(const struct sigv4 *s, struct buf *out)
{
	buf_printf(out, "%s/%s/%s/aws4_request", s->date, s->region, s->service);
}

void sigv4_print_string(const struct sigv4 *s, const char *hash_hex, struct buf *out)
{
	buf_printf(out, ALGORITHM "\n%s\n", s->time);
	add_scope(s, out);
	buf_printf(out, "\n%s", hash_hex);
}

void sigv4_print_chunk_string(const struct sigv4 *s, const char *last_signature,
	const char *hash_hex, bool is_trailers, struct buf *out)
{
	buf_printf(out, ALGORITHM "-%s\n%s\n", is_trailers ? "TRAILER" : "PAYLOAD", s->time);
	add_scope(s, out);
	buf_printf(out, "\n%s\n", last_signature);
	if (!is_trailers)
		buf_add_str(out, EMPTY_HASH "\n");
	buf_add_str(out, hash_hex);
}

void sigv4_print_authorization(const struct sigv4 *s, struct buf *out)
{
	buf_printf(out, ALGORITHM " Credential=%s/", s->key_id);
	add_scope(s, out);
	buf_printf(out, ", SignedHeaders=%s, Signature=%s", s->names, s->signature);
}

static void add_encoded(struct buf *out, const char *s)
{
	for (; *s; s++)
		percent_encode(*s, out);
}

static void add_credential(const struct sigv4 *s, struct buf *out)
{
	add_encoded(out, s->key_id);
	buf_printf(out, "%%2F%s%%2F", s->date);
	add_encoded(out, s->region);
	buf_add_str(out, "%2F");
	add_encoded(out, s->service);
	buf_add_str(out, "%2Faws4_request");
}

void sigv4_print_query(const struct sigv4 *s, struct http1_text path, struct buf *out)
{
	struct http1_text query = query_of(path), name, value;
	const char *done = path.ptr;

	while (sigv4_next_param(&query, &name, &value)) {
		bool is_signature = text_equals(name, "X-Amz-Signature");

		if (!value.ptr || (!is_signature && !text_equals(name, "X-Amz-Credential")))
			continue;
		buf_add(out, done, (size_t)(value.ptr - done));
		done = value.ptr + value.len;
		if (is_signature)
			buf_add_str(out, s->signature);
		else
			add_credential(s, out);
	}
	buf_add(out, done, (size_t)(path.ptr + path.len - done));
}
