/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/1 text of our own to HTTP/2 fields and plain body bytes; see h2_list.h. */
#include "h2_list.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "http1.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* Fields of one hop (RFC 9113 section 8.2.2) and of a WebSocket's handshake that HTTP/2 does without
 * (RFC 8441 section 5). */
static const struct h2_text dropped[] = {TEXT("connection"), TEXT("keep-alive"),
	TEXT("proxy-connection"), TEXT("transfer-encoding"), TEXT("upgrade"),
	TEXT("http2-settings"), TEXT("sec-websocket-key"), TEXT("sec-websocket-accept")};

/* A name with one of these in it carries what must not be guessed from compressed sizes. */
static const struct h2_text sensitive[] = {TEXT("auth"), TEXT("cookie"), TEXT("token"), TEXT("key"),
	TEXT("secret"), TEXT("password"), TEXT("signature")};

static bool is_equal(struct h2_text a, struct h2_text b)
{
	return a.len == b.len && !memcmp(a.ptr, b.ptr, a.len);
}

#define text_of(literal) ((struct h2_text)TEXT(literal))
#define text_is(t, literal) is_equal(t, text_of(literal))

/* Their first letters: most letters of most names are none. */
static const bool firsts[256] = {
	['a'] = true, ['c'] = true, ['t'] = true, ['k'] = true, ['s'] = true, ['p'] = true};

static bool begins_sensitive(struct h2_text rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(sensitive); i++)
		if (*rest.ptr == *sensitive[i].ptr && rest.len >= sensitive[i].len &&
			!memcmp(rest.ptr, sensitive[i].ptr, sensitive[i].len))
			return true;
	return false;
}

static bool is_sensitive(struct h2_text name)
{
	if (*name.ptr == ':')
		return false;
	for (size_t i = 0; i + 2 < name.len; i++)
		if (firsts[(unsigned char)name.ptr[i]] &&
			begins_sensitive((struct h2_text){name.ptr + i, name.len - i}))
			return true;
	return false;
}

static bool is_dropped(struct h2_text name)
{
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		if (is_equal(name, dropped[i]))
			return true;
	return false;
}

static int add(struct h2_list *l, struct h2_text name, struct h2_text value)
{
	if (l->n == H2_LIST_FIELDS)
		return -E2BIG;
	l->fields[l->n++] = (struct h2_field){name, value, is_sensitive(name)};
	return 0;
}

static int begin(struct h2_list *l, size_t len)
{
	l->n = 0;
	l->shape = (struct h2_shape){.framing = H2_EOF};
	buf_clear(&l->names);
	/* names point into it: it must not move while it fills */
	return buf_reserve(&l->names, len + 1);
}

void h2_list_done(struct h2_list *l)
{
	buf_done(&l->names);
}

/* The next line without its end, taken off the front of rest. */
static int next_line(struct h2_text *rest, struct h2_text *ret)
{
	const char *end = memchr(rest->ptr, '\n', rest->len);
	size_t n = end ? (size_t)(end - rest->ptr) : 0;

	if (!n || end[-1] != '\r')
		return -EBADMSG;
	*ret = (struct h2_text){rest->ptr, n - 1};
	rest->ptr += n + 1;
	rest->len -= n + 1;
	return memchr(ret->ptr, '\r', ret->len) || memchr(ret->ptr, 0, ret->len) ? -EBADMSG : 0;
}

static int split_line(
	struct h2_list *l, struct h2_text line, struct h2_text *ret_name, struct h2_text *ret_value)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	size_t n = colon ? (size_t)(colon - line.ptr) : 0;
	char *name;

	if (!n)
		return -EBADMSG;
	name = l->names.data + l->names.len;
	for (size_t i = 0; i < n; i++) {
		char c = line.ptr[i];

		if (c <= ' ' || c == 0x7f)
			return -EBADMSG;
		name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	l->names.len += n;
	*ret_name = (struct h2_text){name, n};
	line.ptr += n + 1;
	line.len -= n + 1;
	while (line.len && (*line.ptr == ' ' || *line.ptr == '\t')) {
		line.ptr++;
		line.len--;
	}
	while (line.len && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\t'))
		line.len--;
	*ret_value = line;
	return 0;
}

static int read_number(struct h2_text t, uint64_t *ret)
{
	uint64_t v = 0;

	if (!t.len || t.len > 18)
		return -EBADMSG;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			return -EBADMSG;
		v = v * 10 + (uint64_t)(t.ptr[i] - '0');
	}
	*ret = v;
	return 0;
}

/* One field. authority: where Host goes, NULL in a response. */
static int take_field(
	struct h2_list *l, struct h2_text name, struct h2_text value, struct h2_text *authority)
{
	if (text_is(name, "transfer-encoding"))
		l->shape.framing = H2_CHUNKED;
	if (authority && text_is(name, "upgrade"))
		l->shape.is_websocket = true;
	if (authority && text_is(name, "host")) {
		*authority = value;
		return 0;
	}
	if (is_dropped(name))
		return 0;
	if (text_is(name, "te") && !text_is(value, "trailers"))
		return 0;
	if (text_is(name, "content-length")) {
		if (read_number(value, &l->shape.length) < 0)
			return -EBADMSG;
		l->shape.framing = l->shape.length ? H2_LENGTH : H2_NO_BODY;
	}
	return add(l, name, value);
}

static int take_fields(struct h2_list *l, struct h2_text rest, struct h2_text *authority)
{
	struct h2_text line, name, value;
	int r;

	for (;;) {
		r = next_line(&rest, &line);
		if (r < 0)
			return r;
		if (!line.len)
			return rest.len ? -EBADMSG : 0;
		r = split_line(l, line, &name, &value);
		if (r == 0)
			r = take_field(l, name, value, authority);
		if (r < 0)
			return r;
	}
}

int h2_list_request(struct h2_list *l, const char *text, size_t len_bytes)
{
	struct h2_text rest = {text, len_bytes}, line = {"", 0}, authority = {NULL, 0};
	const char *blank, *end;
	int r = begin(l, len_bytes);

	if (r == 0)
		r = next_line(&rest, &line);
	if (r < 0)
		return r;
	blank = memchr(line.ptr, ' ', line.len);
	end = memmem(line.ptr, line.len, " HTTP/1.1", 9);
	if (!blank || !end || end <= blank || end + 9 != line.ptr + line.len)
		return -EBADMSG;
	r = add(l, text_of(":method"), (struct h2_text){line.ptr, (size_t)(blank - line.ptr)});
	if (r == 0)
		r = add(l, text_of(":scheme"), text_of("https"));
	if (r == 0)
		r = add(l, text_of(":path"),
			(struct h2_text){blank + 1, (size_t)(end - blank - 1)});
	if (r == 0)
		r = add(l, text_of(":authority"), authority);
	l->shape.framing = H2_NO_BODY;
	l->shape.is_head = blank - line.ptr == 4 && !memcmp(line.ptr, "HEAD", 4);
	if (r == 0)
		r = take_fields(l, rest, &authority);
	if (r < 0)
		return r;
	if (!authority.len)
		return -EBADMSG;
	l->fields[3].value = authority;
	return 0;
}

int h2_list_response(struct h2_list *l, const char *text, size_t len_bytes, bool is_head)
{
	struct h2_text rest = {text, len_bytes}, line = {"", 0};
	uint64_t status;
	int r = begin(l, len_bytes);

	if (r == 0)
		r = next_line(&rest, &line);
	if (r < 0)
		return r;
	if (line.len < 12 || memcmp(line.ptr, "HTTP/1.1 ", 9) ||
		read_number((struct h2_text){line.ptr + 9, 3}, &status) < 0 || status < 100)
		return -EBADMSG;
	r = add(l, text_of(":status"),
		status == 101 ? text_of("200") : (struct h2_text){line.ptr + 9, 3});
	if (r == 0)
		r = take_fields(l, rest, NULL);
	l->shape.status = (uint16_t)status;
	l->shape.is_head = is_head;
	if (status == 101)
		l->shape.framing = H2_RAW;
	else if (is_head || status < 200 || status == 204 || status == 304)
		l->shape.framing = H2_NO_BODY;
	return r;
}

int h2_list_trailers(struct h2_list *l, const char *text, size_t len_bytes)
{
	struct h2_text rest = {text, len_bytes}, line, name, value;
	int r = begin(l, len_bytes);

	while (r == 0 && rest.len) {
		r = next_line(&rest, &line);
		if (r == 0)
			r = split_line(l, line, &name, &value);
		if (r == 0 && !is_dropped(name))
			r = add(l, name, value);
	}
	return r;
}

/* --- chunks */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_size(struct h2_dechunk *d, char c)
{
	int digit = digit_of(c);

	if (digit >= 0 && !d->is_cr && d->n_digits < 15) {
		d->left = d->left << 4 | (unsigned int)digit;
		d->n_digits++;
		return 0;
	}
	if (c == '\r' && d->n_digits && !d->is_cr) {
		d->is_cr = true;
		return 0;
	}
	if (c != '\n' || !d->is_cr)
		return -EBADMSG;
	d->is_cr = false;
	d->n_digits = 0;
	d->state = d->left ? H2_DECHUNK_DATA : H2_DECHUNK_TRAILERS;
	return 0;
}

static int take_data_end(struct h2_dechunk *d, char c)
{
	if (c != (d->is_cr ? '\n' : '\r'))
		return -EBADMSG;
	if (d->is_cr)
		d->state = H2_DECHUNK_SIZE;
	d->is_cr = !d->is_cr;
	return 0;
}

/* Lines up to the blank one. */
static int take_trailer(struct h2_dechunk *d, char c)
{
	struct buf *t = &d->trailers;

	buf_add_char(t, c);
	if (t->is_failed || t->len > HTTP1_MAX_TRAILER_BYTES + 2)
		return -EBADMSG;
	if (c != '\n' || t->len < 2 || t->data[t->len - 2] != '\r')
		return 0;
	if (t->len > 2 && t->data[t->len - 3] != '\n')
		return 0;
	t->len -= 2;
	d->state = H2_DECHUNK_DONE;
	return 1;
}

static int take_char(struct h2_dechunk *d, char c)
{
	switch (d->state) {
	case H2_DECHUNK_SIZE:
		return take_size(d, c);
	case H2_DECHUNK_DATA_END:
		return take_data_end(d, c);
	case H2_DECHUNK_TRAILERS:
		return take_trailer(d, c);
	default:
		return -EBADMSG;
	}
}

int h2_dechunk_feed(struct h2_dechunk *d, const char *data, size_t len_bytes, size_t room,
	struct buf *out, size_t *ret_used)
{
	size_t at = 0;
	int r = 0;

	while (at < len_bytes && r == 0) {
		size_t n = len_bytes - at;

		if (d->state != H2_DECHUNK_DATA) {
			r = take_char(d, data[at++]);
			continue;
		}
		if (n > d->left)
			n = d->left;
		if (n > room)
			n = room;
		if (!n)
			break;
		buf_add(out, data + at, n);
		at += n;
		room -= n;
		d->left -= n;
		if (!d->left)
			d->state = H2_DECHUNK_DATA_END;
	}
	*ret_used = at;
	return r;
}

void h2_dechunk_done(struct h2_dechunk *d)
{
	buf_done(&d->trailers);
}
