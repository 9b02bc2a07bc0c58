/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP/2 fields to HTTP/1 text; see h2.h. Strict where two readers could differ: what RFC 9113 calls
 * malformed is refused, and an :authority that differs from Host too, though the RFC lets servers
 * choose.
 */
#include "h2.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct {
	struct h2_text name;
	enum h2_kind kind;
} pseudo_names[H2_N_PSEUDO] = {
	[H2_METHOD] = {TEXT(":method"), H2_REQUEST},
	[H2_SCHEME] = {TEXT(":scheme"), H2_REQUEST},
	[H2_PATH] = {TEXT(":path"), H2_REQUEST},
	[H2_AUTHORITY] = {TEXT(":authority"), H2_REQUEST},
	[H2_PROTOCOL] = {TEXT(":protocol"), H2_REQUEST},
	[H2_STATUS] = {TEXT(":status"), H2_RESPONSE},
};

/* RFC 9113 section 8.2.2. `te` has its own rule. */
static const struct h2_text connection_names[] = {TEXT("connection"), TEXT("keep-alive"),
	TEXT("proxy-connection"), TEXT("transfer-encoding"), TEXT("upgrade"),
	TEXT("http2-settings")};

/* RFC 9110 section 6.5.1: what routes, frames or authenticates is no trailer. */
static const struct h2_text no_trailers[] = {TEXT("host"), TEXT("content-length"), TEXT("te"),
	TEXT("trailer"), TEXT("authorization"), TEXT("proxy-authorization"), TEXT("cookie"),
	TEXT("set-cookie"), TEXT("expect")};

/* Of a token (RFC 9110 section 5.6.2), and of one without capitals: a field's name. */
enum { TOKEN = 1, LOWER = 2 };
static const uint8_t classes[256] = {
	['a' ... 'z'] = TOKEN | LOWER,
	['A' ... 'Z'] = TOKEN,
	['0' ... '9'] = TOKEN | LOWER,
	['!'] = TOKEN | LOWER,
	['#' ... '\''] = TOKEN | LOWER, /* # $ % & ' */
	['*'] = TOKEN | LOWER,
	['+'] = TOKEN | LOWER,
	['-'] = TOKEN | LOWER,
	['.'] = TOKEN | LOWER,
	['^'] = TOKEN | LOWER,
	['_'] = TOKEN | LOWER,
	['`'] = TOKEN | LOWER,
	['|'] = TOKEN | LOWER,
	['~'] = TOKEN | LOWER,
};

void h2_fields_init(struct h2_fields *f)
{
	memset(f, 0, sizeof(*f));
}

void h2_fields_done(struct h2_fields *f)
{
	buf_done(&f->pseudo);
	buf_done(&f->lines);
	buf_done(&f->cookie);
}

void h2_fields_begin(struct h2_fields *f, enum h2_kind kind)
{
	struct h2_fields fresh = {
		.kind = kind, .pseudo = f->pseudo, .lines = f->lines, .cookie = f->cookie};

	buf_clear(&fresh.pseudo);
	buf_clear(&fresh.lines);
	buf_clear(&fresh.cookie);
	*f = fresh;
}

/* --- one field */

static bool is_equal(struct h2_text a, struct h2_text b)
{
	return a.len == b.len && !memcmp(a.ptr, b.ptr, a.len);
}

#define text_is(t, literal) is_equal(t, (struct h2_text)TEXT(literal))

static bool is_in(struct h2_text t, const struct h2_text *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_equal(t, list[i]))
			return true;
	return false;
}

static bool is_of_class(struct h2_text t, uint8_t class)
{
	for (size_t i = 0; i < t.len; i++)
		if (!(classes[(unsigned char)t.ptr[i]] & class))
			return false;
	return t.len > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* No control byte but a tab, no blank at either end (RFC 9113 section 8.2.1). */
static bool is_clean_value(struct h2_text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return !t.len || (!is_blank(t.ptr[0]) && !is_blank(t.ptr[t.len - 1]));
}

/* Nothing that would end the word in a request line. */
static bool is_word(struct h2_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] <= ' ' || t.ptr[i] == 0x7f)
			return false;
	return t.len > 0;
}

static void keep(struct h2_fields *f, struct h2_span *span, struct h2_text value)
{
	*span = (struct h2_span){(uint32_t)f->pseudo.len, (uint32_t)value.len, true};
	buf_add(&f->pseudo, value.ptr, value.len);
}

static struct h2_text kept(const struct h2_fields *f, struct h2_span span)
{
	return (struct h2_text){f->pseudo.data ? f->pseudo.data + span.off : "", span.len};
}

static const char *add_pseudo(struct h2_fields *f, struct h2_text name, struct h2_text value)
{
	if (f->is_past_pseudo)
		return "a pseudo field stands behind a regular one";
	for (size_t i = 0; i < H2_N_PSEUDO; i++) {
		if (!is_equal(name, pseudo_names[i].name))
			continue;
		if (pseudo_names[i].kind != f->kind)
			break;
		if (f->value[i].is_set)
			return "a pseudo field stands there twice";
		if (!is_word(value))
			return "a pseudo field is empty or malformed";
		keep(f, &f->value[i], value);
		return NULL;
	}
	return "a pseudo field does not belong there";
}

static const char *add_length(struct h2_fields *f, struct h2_text value)
{
	uint64_t v = 0;

	if (f->has_length || !value.len || value.len > 18)
		return "content-length is ambiguous or too large";
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return "content-length is no number";
		v = v * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	f->has_length = true;
	f->length = v;
	return NULL;
}

static void add_line(struct buf *out, struct h2_text name, struct h2_text value)
{
	buf_add(out, name.ptr, name.len);
	buf_add(out, ": ", 2);
	buf_add(out, value.ptr, value.len);
	buf_add(out, "\r\n", 2);
}

static const char *add_regular(struct h2_fields *f, struct h2_text name, struct h2_text value)
{
	f->is_past_pseudo = true;
	if (!is_of_class(name, LOWER))
		return "a field's name is malformed or not in lower case";
	if (!is_clean_value(value))
		return "a field's value has a control character or a blank at its end";
	if (is_in(name, connection_names, ARRAY_SIZE(connection_names)))
		return "a field belongs to HTTP/1 connections only";
	if (f->kind == H2_TRAILERS && is_in(name, no_trailers, ARRAY_SIZE(no_trailers)))
		return "a field may not stand in trailers";
	if (text_is(name, "te")) {
		f->has_te = true;
		return text_is(value, "trailers") ? NULL : "te may only say trailers";
	}
	if (text_is(name, "content-length"))
		return add_length(f, value);
	if (f->kind == H2_REQUEST && text_is(name, "host")) {
		if (f->host.is_set)
			return "host stands there twice";
		if (!is_word(value))
			return "host is empty or malformed";
		keep(f, &f->host, value);
		return NULL;
	}
	if (f->kind == H2_REQUEST && text_is(name, "cookie")) {
		if (f->cookie.len)
			buf_add(&f->cookie, "; ", 2);
		buf_add(&f->cookie, value.ptr, value.len);
		return NULL;
	}
	add_line(&f->lines, name, value);
	return NULL;
}

void h2_fields_add(struct h2_fields *f, struct h2_text name, struct h2_text value)
{
	f->size_bytes += name.len + value.len + 32;
	if (f->fault)
		return;
	if (f->size_bytes > NEJ_MAX_HEAD_BYTES || f->n_fields == H2_MAX_FIELDS) {
		f->fault = "the head is too large";
		return;
	}
	f->n_fields++;
	f->fault = name.len && name.ptr[0] == ':' ? add_pseudo(f, name, value)
						  : add_regular(f, name, value);
}

/* --- requests */

static const char *check_target(const struct h2_fields *f, struct h2_text method)
{
	struct h2_text path = kept(f, f->value[H2_PATH]);

	if (*path.ptr == '/' || (text_is(path, "*") && text_is(method, "OPTIONS")))
		return NULL;
	return ":path is not absolute";
}

static const char *check_authority(const struct h2_fields *f)
{
	struct h2_text authority = kept(f, f->value[H2_AUTHORITY]), host = kept(f, f->host);

	if (!f->value[H2_AUTHORITY].is_set && !f->host.is_set)
		return "neither :authority nor host names a host";
	if (f->value[H2_AUTHORITY].is_set && f->host.is_set &&
		(authority.len != host.len || strncasecmp(authority.ptr, host.ptr, host.len)))
		return ":authority and host differ";
	if (f->value[H2_AUTHORITY].is_set && memchr(authority.ptr, '@', authority.len))
		return ":authority carries user-info";
	return NULL;
}

static const char *check_connect(const struct h2_fields *f, bool is_end)
{
	if (!f->value[H2_PROTOCOL].is_set)
		return "CONNECT is for the proxy's own address";
	if (!text_is(kept(f, f->value[H2_PROTOCOL]), "websocket"))
		return "extended CONNECT is for websockets only";
	return is_end || f->has_length ? "a websocket's request has a body or is over" : NULL;
}

static const char *check_request(const struct h2_fields *f, bool is_end)
{
	struct h2_text method = kept(f, f->value[H2_METHOD]);
	const char *fault;

	if (!f->value[H2_METHOD].is_set || !is_of_class(method, TOKEN))
		return ":method is missing or malformed";
	if (text_is(method, "CONNECT"))
		fault = check_connect(f, is_end);
	else
		fault = f->value[H2_PROTOCOL].is_set ? ":protocol without CONNECT" : NULL;
	if (fault)
		return fault;
	/* the connection is TLS; a request that says otherwise would be judged as what it is not */
	if (!text_is(kept(f, f->value[H2_SCHEME]), "https"))
		return ":scheme is not https";
	if (!f->value[H2_PATH].is_set)
		return ":path is missing";
	fault = check_target(f, method);
	if (!fault)
		fault = check_authority(f);
	if (!fault && is_end && f->length)
		fault = "content-length announces a body that does not come";
	return fault;
}

static int refuse(struct h2_fields *f, const char *fault)
{
	if (!f->fault)
		f->fault = fault;
	return f->fault ? -EBADMSG : 0;
}

static void add_text(struct buf *out, struct h2_text t)
{
	buf_add(out, t.ptr, t.len);
}

static void add_length_line(struct buf *out, uint64_t length)
{
	buf_add_str(out, "content-length: ");
	buf_add_u64(out, length);
	buf_add(out, "\r\n", 2);
}

/* RFC 6455 section 4.1: what a WebSocket handshake needs and HTTP/2 leaves out. */
static void add_upgrade(struct buf *out, const uint8_t key[H2_KEY_BYTES])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t bytes[H2_KEY_BYTES + 2] = {0};

	memcpy(bytes, key, H2_KEY_BYTES);
	buf_add_str(out, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ");
	for (size_t i = 0; i < 22; i++) {
		size_t bit = i * 6;
		unsigned int two = bytes[bit / 8] << 8 | bytes[bit / 8 + 1];

		buf_add_char(out, digits[two >> (10 - bit % 8) & 63]);
	}
	buf_add_str(out, "==\r\n");
}

static struct h2_shape request_shape(const struct h2_fields *f, bool is_end)
{
	struct h2_text method = kept(f, f->value[H2_METHOD]);
	struct h2_shape shape = {.length = f->length,
		.is_head = text_is(method, "HEAD"),
		.is_websocket = f->value[H2_PROTOCOL].is_set};

	if (shape.is_websocket)
		shape.framing = H2_RAW;
	else if (is_end)
		shape.framing = H2_NO_BODY;
	else
		shape.framing = f->has_length ? H2_LENGTH : H2_CHUNKED;
	return shape;
}

/* A request without a body says so where HTTP/1 servers expect one (RFC 9110 section 8.6). */
static bool wants_zero_length(const struct h2_fields *f)
{
	struct h2_text method = kept(f, f->value[H2_METHOD]);

	return text_is(method, "POST") || text_is(method, "PUT") || text_is(method, "PATCH");
}

int h2_print_request(struct h2_fields *f, bool is_end, const uint8_t key[H2_KEY_BYTES],
	struct buf *out, struct h2_shape *ret)
{
	struct h2_shape shape = request_shape(f, is_end);
	bool is_websocket = shape.is_websocket;

	if (refuse(f, check_request(f, is_end)) < 0)
		return -EBADMSG;
	add_text(out, is_websocket ? (struct h2_text){"GET", 3} : kept(f, f->value[H2_METHOD]));
	buf_add_char(out, ' ');
	add_text(out, kept(f, f->value[H2_PATH]));
	buf_add_str(out, " HTTP/1.1\r\nHost: ");
	add_text(out, kept(f, f->value[H2_AUTHORITY].is_set ? f->value[H2_AUTHORITY] : f->host));
	buf_add(out, "\r\n", 2);
	buf_add(out, f->lines.data, f->lines.len);
	if (f->cookie.len)
		add_line(out, (struct h2_text){"cookie", 6},
			(struct h2_text){f->cookie.data, f->cookie.len});
	if (is_websocket)
		add_upgrade(out, key);
	else if (shape.framing == H2_CHUNKED)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (f->has_length || (is_end && wants_zero_length(f)))
		add_length_line(out, f->length);
	/* a stream carries one exchange */
	if (f->has_te)
		buf_add_str(out, "TE: trailers\r\nConnection: close, TE\r\n");
	else if (!is_websocket)
		buf_add_str(out, "Connection: close\r\n");
	buf_add(out, "\r\n", 2);
	if (f->pseudo.is_failed || f->lines.is_failed || f->cookie.is_failed || out->is_failed)
		return -ENOMEM;
	*ret = shape;
	return 0;
}

/* --- responses */

static const char *read_status(const struct h2_fields *f, uint16_t *ret)
{
	struct h2_text t = kept(f, f->value[H2_STATUS]);
	uint16_t v = 0;

	if (!f->value[H2_STATUS].is_set || t.len != 3)
		return ":status is missing or malformed";
	for (size_t i = 0; i < 3; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			return ":status is missing or malformed";
		v = (uint16_t)(v * 10 + (t.ptr[i] - '0'));
	}
	if (v < 100 || v == 101)
		return ":status has no meaning in HTTP/2";
	*ret = v;
	return NULL;
}

static const char *check_response(const struct h2_fields *f, bool is_end, struct h2_shape *shape)
{
	const char *fault = read_status(f, &shape->status);

	if (fault)
		return fault;
	if (shape->status < 200)
		return is_end ? "an interim response ends its stream" : NULL;
	if (shape->is_head || shape->status == 204 || shape->status == 304)
		return NULL;
	if (is_end && f->length)
		return "content-length announces a body that does not come";
	if (!is_end)
		shape->framing = f->has_length ? H2_LENGTH : H2_CHUNKED;
	return NULL;
}

int h2_print_response(
	struct h2_fields *f, bool is_end, bool is_head, struct buf *out, struct h2_shape *ret)
{
	struct h2_shape shape = {.length = f->length, .is_head = is_head};
	bool is_bodiless;

	if (refuse(f, check_response(f, is_end, &shape)) < 0)
		return -EBADMSG;
	is_bodiless = is_head || shape.status < 200 || shape.status == 204 || shape.status == 304;
	buf_add_str(out, "HTTP/1.1 ");
	buf_add_u64(out, shape.status);
	buf_add(out, " \r\n", 3); /* HTTP/2 has no phrase */
	buf_add(out, f->lines.data, f->lines.len);
	if (shape.framing == H2_CHUNKED)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (f->has_length || !is_bodiless)
		add_length_line(out, f->length);
	if (shape.status >= 200)
		buf_add_str(out, "Connection: close\r\n");
	buf_add(out, "\r\n", 2);
	if (f->pseudo.is_failed || f->lines.is_failed || out->is_failed)
		return -ENOMEM;
	*ret = shape;
	return 0;
}

int h2_print_trailers(struct h2_fields *f, struct buf *out)
{
	if (refuse(f, NULL) < 0)
		return -EBADMSG;
	buf_add(out, f->lines.data, f->lines.len);
	return f->lines.is_failed || out->is_failed ? -ENOMEM : 0;
}
