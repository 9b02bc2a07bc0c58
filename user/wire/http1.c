/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * llhttp splits a head into fields; everything it lets pass in its lenient builds (bare LF, folded
 * lines, blanks before the colon) is refused here, and what frames the body is decided here, from
 * the fields. Chunked bodies go through llhttp as well. Read hop.c next.
 */
#include "http1.h"

#include <errno.h>
#include <llhttp.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"

_Static_assert(sizeof(llhttp_t) <= sizeof(((struct http1_chunks *)0)->state), "room for llhttp_t");

bool http1_text_is(struct http1_text t, const char *lower)
{
	return t.len == strlen(lower) && !strncasecmp(t.ptr, lower, t.len);
}

size_t http1_head_end(const char *data, size_t len_bytes)
{
	const char *end = memmem(data, len_bytes, "\r\n\r\n", 4);

	return end ? (size_t)(end - data) + 4 : 0;
}

/* --- what llhttp calls while it splits a head */

struct split {
	struct http1_head *head;
	bool is_value;   /* a value of the last field has begun */
	bool is_too_big; /* more fields than there is room for */
};

/* Spans may come in pieces, but the head is one stretch of memory. */
static int extend(struct http1_text *t, const char *at, size_t len)
{
	if (!t->ptr)
		t->ptr = at;
	else if (t->ptr + t->len != at)
		return HPE_USER;
	t->len += len;
	return 0;
}

static int on_target(llhttp_t *parser, const char *at, size_t len)
{
	struct split *s = parser->data;

	return extend(&s->head->target, at, len);
}

static int on_phrase(llhttp_t *parser, const char *at, size_t len)
{
	struct split *s = parser->data;

	return extend(&s->head->phrase, at, len);
}

static int on_name(llhttp_t *parser, const char *at, size_t len)
{
	struct split *s = parser->data;
	struct http1_head *h = s->head;

	if (!h->n_fields || s->is_value) {
		if (h->n_fields == HTTP1_MAX_FIELDS) {
			s->is_too_big = true;
			return HPE_USER;
		}
		h->fields[h->n_fields++] = (struct http1_field){0};
		s->is_value = false;
	}
	return extend(&h->fields[h->n_fields - 1].name, at, len);
}

static int on_name_end(llhttp_t *parser)
{
	struct split *s = parser->data;

	s->is_value = true;
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct split *s = parser->data;

	return extend(&s->head->fields[s->head->n_fields - 1].value, at, len);
}

static int on_head_end(llhttp_t *parser)
{
	(void)parser;
	return HPE_PAUSED;
}

static const llhttp_settings_t split_settings = {
	.on_url = on_target,
	.on_status = on_phrase,
	.on_header_field = on_name,
	.on_header_field_complete = on_name_end,
	.on_header_value = on_value,
	.on_headers_complete = on_head_end,
};

/* --- strictness beyond llhttp's */

static bool is_token_char(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c && strchr("!#$%&'*+-.^_`|~", c);
}

/* Lines end in CRLF, none is a folded continuation, no NUL anywhere. */
static bool has_clean_lines(const char *data, size_t len)
{
	const char *end = data + len, *p = data;
	size_t n_lf = 0, n_cr = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		if (p == data || p[-1] != '\r')
			return false;
		p++;
		n_lf++;
		if (p == end)
			break;
		if (*p == ' ' || *p == '\t')
			return false;
	}
	for (p = data; p < end && (p = memchr(p, '\r', (size_t)(end - p))); p++)
		n_cr++;
	return n_cr == n_lf && !memchr(data, 0, len);
}

static bool has_control(struct http1_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (((unsigned char)t.ptr[i] < ' ' && t.ptr[i] != '\t') || t.ptr[i] == 0x7f)
			return true;
	return false;
}

static const struct {
	const char *name;
	size_t len;
	bool is_hop;
} known[] = {[HTTP1_NAME_OTHER] = {"", 0, false},
#define X(id, text, hop) [HTTP1_NAME_##id] = {text, sizeof(text) - 1, hop},
	HTTP1_NAMES(X)
#undef X
};

static enum http1_name identify(struct http1_text name)
{
	for (size_t i = 1; i < ARRAY_SIZE(known); i++)
		if (known[i].len == name.len && !strncasecmp(name.ptr, known[i].name, name.len))
			return (enum http1_name)i;
	return HTTP1_NAME_OTHER;
}

static int check_field(struct http1_field *f)
{
	for (size_t i = 0; i < f->name.len; i++)
		if (!is_token_char((unsigned char)f->name.ptr[i]))
			return -EBADMSG;
	if (!f->name.len || f->name.ptr[f->name.len] != ':')
		return -EBADMSG; /* `Transfer-Encoding : chunked` */
	if (!f->value.ptr)
		f->value.ptr = "";
	while (f->value.len && strchr(" \t", f->value.ptr[f->value.len - 1]))
		f->value.len--;
	if (has_control(f->value))
		return -EBADMSG;
	f->id = identify(f->name);
	f->is_hop = known[f->id].is_hop;
	return 0;
}

static int split_head(const char *data, size_t len, llhttp_type_t type, struct http1_head *ret)
{
	struct split s = {.head = ret};
	llhttp_t parser;
	int r;

	memset(ret, 0, offsetof(struct http1_head, fields));
	if (!has_clean_lines(data, len))
		return -EBADMSG;
	llhttp_init(&parser, type, &split_settings);
	parser.data = &s;
	if (llhttp_execute(&parser, data, len) != HPE_PAUSED)
		return s.is_too_big ? -E2BIG : -EBADMSG;
	/* llhttp and we must agree where the head ends */
	if (llhttp_get_error_pos(&parser) < data + len - 1)
		return -EBADMSG;
	if (parser.http_major != 1 || parser.http_minor > 1)
		return -EPROTONOSUPPORT;
	ret->minor = parser.http_minor;
	ret->status = parser.status_code;
	for (size_t i = 0; i < ret->n_fields; i++) {
		r = check_field(&ret->fields[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- comma lists */

/* The next element of a list, without blanks; false at the end. Empty elements are skipped. */
static bool next_token(struct http1_text *list, struct http1_text *ret)
{
	while (list->len) {
		const char *comma = memchr(list->ptr, ',', list->len);
		size_t n = comma ? (size_t)(comma - list->ptr) : list->len;
		struct http1_text t = {list->ptr, n};

		list->ptr += comma ? n + 1 : n;
		list->len -= comma ? n + 1 : n;
		while (t.len && strchr(" \t", *t.ptr)) {
			t.ptr++;
			t.len--;
		}
		while (t.len && strchr(" \t", t.ptr[t.len - 1]))
			t.len--;
		if (t.len) {
			*ret = t;
			return true;
		}
	}
	return false;
}

static bool has_token(struct http1_text list, const char *lower)
{
	struct http1_text t;

	while (next_token(&list, &t))
		if (http1_text_is(t, lower))
			return true;
	return false;
}

/* --- the fields that frame and route */

struct framing {
	const struct http1_field *length, *encoding;
	bool is_close, is_keep_alive, is_upgrade, is_websocket;
	size_t n_upgrades;
};

/* A sender may not declare a field that routes or frames to be hop-by-hop: a later hop would then
 * read another message. */
static bool is_vital(struct http1_text name)
{
	enum http1_name id = identify(name);

	return id == HTTP1_NAME_HOST || id == HTTP1_NAME_CONTENT_LENGTH ||
		id == HTTP1_NAME_TRANSFER_ENCODING;
}

static int apply_connection(struct http1_head *h, struct http1_text list, struct framing *f)
{
	struct http1_text t;

	while (next_token(&list, &t)) {
		if (is_vital(t))
			return -EBADMSG;
		if (http1_text_is(t, "close"))
			f->is_close = true;
		else if (http1_text_is(t, "keep-alive"))
			f->is_keep_alive = true;
		else if (http1_text_is(t, "upgrade"))
			f->is_upgrade = true;
		for (size_t i = 0; i < h->n_fields; i++)
			if (h->fields[i].name.len == t.len &&
				!strncasecmp(h->fields[i].name.ptr, t.ptr, t.len))
				h->fields[i].is_hop = true;
	}
	return 0;
}

static void apply_upgrade(struct http1_text list, struct framing *f)
{
	struct http1_text t;

	while (next_token(&list, &t)) {
		f->n_upgrades++;
		if (http1_text_is(t, "websocket"))
			f->is_websocket = true;
	}
}

static int apply_field(struct http1_head *h, const struct http1_field *field, struct framing *f)
{
	switch (field->id) {
	case HTTP1_NAME_HOST:
		if (h->host.ptr)
			return -EBADMSG;
		h->host = field->value;
		return 0;
	case HTTP1_NAME_CONTENT_LENGTH:
		if (f->length)
			return -EBADMSG;
		f->length = field;
		return 0;
	case HTTP1_NAME_TRANSFER_ENCODING:
		if (f->encoding)
			return -EBADMSG;
		f->encoding = field;
		return 0;
	case HTTP1_NAME_CONNECTION:
		return apply_connection(h, field->value, f);
	case HTTP1_NAME_UPGRADE:
		apply_upgrade(field->value, f);
		return 0;
	case HTTP1_NAME_TE:
		h->has_te_trailers |= has_token(field->value, "trailers");
		return 0;
	case HTTP1_NAME_EXPECT:
		h->has_expect |= http1_text_is(field->value, "100-continue");
		return 0;
	case HTTP1_NAME_ACCEPT:
		h->wants_json |=
			memmem(field->value.ptr, field->value.len, "application/json", 16) != NULL;
		return 0;
	default:
		return 0;
	}
}

static int parse_length(struct http1_text t, uint64_t *ret)
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

/* RFC 9112 section 6.3, without its leniencies: one coding, one length, never both. */
static int apply_framing(struct http1_head *h, const struct framing *f)
{
	h->is_keep_alive = h->minor ? !f->is_close : f->is_keep_alive && !f->is_close;
	if (f->encoding) {
		if (f->length || !h->minor || !http1_text_is(f->encoding->value, "chunked"))
			return -EBADMSG;
		h->body = HTTP1_BODY_CHUNKED;
	} else if (f->length) {
		if (parse_length(f->length->value, &h->length) < 0)
			return -EBADMSG;
		h->has_length = true;
		h->body = h->length ? HTTP1_BODY_LENGTH : HTTP1_BODY_NONE;
	}
	return 0;
}

static int read_fields(struct http1_head *h, struct framing *f)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		int r = apply_field(h, &h->fields[i], f);

		if (r < 0)
			return r;
	}
	return apply_framing(h, f);
}

int http1_parse_request(const char *data, size_t len_bytes, struct http1_head *ret)
{
	struct framing f = {0};
	const char *blank;
	int r = split_head(data, len_bytes, HTTP_REQUEST, ret);

	if (r == 0)
		r = read_fields(ret, &f);
	if (r < 0)
		return r;
	blank = memchr(data, ' ', len_bytes);
	ret->method = (struct http1_text){data, blank ? (size_t)(blank - data) : 0};
	/* the target is exactly what stands between the two blanks */
	if (!blank || ret->target.ptr != blank + 1 || !ret->target.len ||
		strncmp(ret->target.ptr + ret->target.len, " HTTP/1.", 8) ||
		has_control(ret->target))
		return -EBADMSG;
	if (http1_text_is(ret->method, "connect") && ret->body != HTTP1_BODY_NONE)
		return -EBADMSG;
	ret->is_websocket = ret->minor && f.is_upgrade && f.is_websocket &&
		ret->body == HTTP1_BODY_NONE && http1_text_is(ret->method, "get");
	return 0;
}

int http1_parse_response(const char *data, size_t len_bytes, bool is_head, struct http1_head *ret)
{
	struct framing f = {0};
	int r = split_head(data, len_bytes, HTTP_RESPONSE, ret);

	if (r == 0)
		r = read_fields(ret, &f);
	if (r < 0)
		return r;
	if (ret->status < 100 || ret->status > 999 || has_control(ret->phrase))
		return -EBADMSG;
	if (is_head || ret->status < 200 || ret->status == 204 || ret->status == 304)
		ret->body = HTTP1_BODY_NONE;
	else if (!f.encoding && !f.length)
		ret->body = HTTP1_BODY_EOF;
	if (ret->body == HTTP1_BODY_EOF)
		ret->is_keep_alive = false;
	ret->is_websocket =
		ret->status == 101 && f.is_upgrade && f.is_websocket && f.n_upgrades == 1;
	return 0;
}

/* --- chunked bodies */

static llhttp_t *parser_of(struct http1_chunks *c)
{
	return (llhttp_t *)(void *)c->state;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct http1_chunks *c = parser->data;

	if (!len)
		return 0;
	c->body_bytes += len;
	if (!c->is_plain)
		buf_printf(c->out, "%zx\r\n", len);
	buf_add(c->out, at, len);
	if (!c->is_plain)
		buf_add(c->out, "\r\n", 2);
	return 0;
}

/* Fields that change what a message is or who sent it: some receivers merge trailers into the head. */
static bool is_refused_trailer(struct http1_text name)
{
	static const char *const refused[] = {"authorization", "cookie", "set-cookie",
		"content-encoding", "content-type", "content-range", "range", "cache-control",
		"www-authenticate", "location", "x-forwarded-for", "x-forwarded-host",
		"x-forwarded-proto", "forwarded"};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (http1_text_is(name, refused[i]))
			return true;
	return identify(name) != HTTP1_NAME_OTHER;
}

/* A trailer line is kept unless it is one of those that may not stand there
 * (RFC 9110 section 6.5.1): all that route, frame or steer. */
static void close_trailer(struct http1_chunks *c)
{
	struct buf *t = &c->trailers;
	const char *colon;

	if (c->line == t->len)
		return;
	colon = memchr(t->data + c->line, ':', t->len - c->line);
	if (!colon ||
		is_refused_trailer((struct http1_text){
			t->data + c->line, (size_t)(colon - t->data) - c->line}))
		t->len = c->line;
	else
		buf_add(t, "\r\n", 2);
	c->line = t->len;
}

static int add_trailer(struct http1_chunks *c, const char *at, size_t len)
{
	buf_add(&c->trailers, at, len);
	return c->trailers.len > HTTP1_MAX_TRAILER_BYTES || c->trailers.is_failed ? HPE_USER : 0;
}

static int on_trailer_name(llhttp_t *parser, const char *at, size_t len)
{
	struct http1_chunks *c = parser->data;

	if (!c->is_primed)
		return 0;
	if (c->is_value)
		close_trailer(c);
	c->is_value = false;
	for (size_t i = 0; i < len; i++)
		if (!is_token_char((unsigned char)at[i]))
			return HPE_USER;
	return add_trailer(c, at, len);
}

static int on_trailer_name_end(llhttp_t *parser)
{
	struct http1_chunks *c = parser->data;

	if (!c->is_primed)
		return 0;
	c->is_value = true;
	return add_trailer(c, ": ", 2);
}

static int on_trailer_value(llhttp_t *parser, const char *at, size_t len)
{
	struct http1_chunks *c = parser->data;

	if (!c->is_primed)
		return 0;
	return has_control((struct http1_text){at, len}) ? HPE_USER : add_trailer(c, at, len);
}

static int on_body_end(llhttp_t *parser)
{
	struct http1_chunks *c = parser->data;

	close_trailer(c);
	c->is_done = true;
	if (!c->is_plain) {
		buf_add(c->out, "0\r\n", 3);
		buf_add(c->out, c->trailers.data, c->trailers.len);
		buf_add(c->out, "\r\n", 2);
	}
	return HPE_PAUSED;
}

static const llhttp_settings_t chunk_settings = {
	.on_body = on_body,
	.on_header_field = on_trailer_name,
	.on_header_field_complete = on_trailer_name_end,
	.on_header_value = on_trailer_value,
	.on_message_complete = on_body_end,
};

void http1_chunks_init(struct http1_chunks *c, bool is_plain)
{
	static const char head[] = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

	memset(c, 0, sizeof(*c));
	buf_init(&c->trailers);
	c->is_plain = is_plain;
	llhttp_init(parser_of(c), HTTP_REQUEST, &chunk_settings);
	parser_of(c)->data = c;
	c->is_bad = llhttp_execute(parser_of(c), head, sizeof(head) - 1) != HPE_OK;
	c->is_primed = true;
}

void http1_chunks_done(struct http1_chunks *c)
{
	buf_done(&c->trailers);
}

int http1_chunks_feed(struct http1_chunks *c, const char *data, size_t len_bytes, struct buf *out,
	size_t *ret_used)
{
	llhttp_errno_t e;

	if (c->is_bad || c->is_done)
		return -EBADMSG;
	c->out = out;
	parser_of(c)->data = c; /* the owner may have been moved */
	e = llhttp_execute(parser_of(c), data, len_bytes);
	if (e == HPE_PAUSED && c->is_done) {
		*ret_used = (size_t)(llhttp_get_error_pos(parser_of(c)) - data);
		return 1;
	}
	if (e != HPE_OK || out->is_failed) {
		c->is_bad = true;
		return -EBADMSG;
	}
	*ret_used = len_bytes;
	return 0;
}

void http1_set_body(struct http1_head *h, enum http1_body body, uint64_t length)
{
	h->body = body;
	h->has_length = body == HTTP1_BODY_LENGTH;
	h->length = length;
}
