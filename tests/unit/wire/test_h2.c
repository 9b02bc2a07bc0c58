/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/2 field lists to HTTP/1 text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/wire/h2.h"
#include "../../../user/wire/h2_list.h"
#include "../../../user/wire/http1.h"

#define GET ":method=GET|:scheme=https|:path=/x|:authority=a.test"
#define POST ":method=POST|:scheme=https|:path=/x|:authority=a.test"
#define CONNECT ":method=CONNECT|:protocol=websocket|:scheme=https|:path=/x|:authority=a.test"

static struct h2_fields fields;
static struct h2_list list;
static struct http1_head head;
static struct h2_shape shape;
static struct buf out;

/* `name=value|name=value`; a name may begin with a colon. */
static void add_fields(const char *text)
{
	while (*text) {
		const char *equal = strchr(text + 1, '='), *end = strchr(text, '|');

		end = end ? end : text + strlen(text);
		h2_fields_add(&fields, (struct h2_text){text, (size_t)(equal - text)},
			(struct h2_text){equal + 1, (size_t)(end - equal - 1)});
		text = *end ? end + 1 : end;
	}
}

static int print(enum h2_kind kind, const char *text, bool is_end, bool is_head)
{
	static const uint8_t key[H2_KEY_BYTES] = "0123456789abcdef";

	buf_clear(&out);
	h2_fields_begin(&fields, kind);
	add_fields(text);
	if (kind == H2_REQUEST)
		return h2_print_request(&fields, is_end, key, &out, &shape);
	if (kind == H2_RESPONSE)
		return h2_print_response(&fields, is_end, is_head, &out, &shape);
	return h2_print_trailers(&fields, &out);
}

static int teardown(void **state)
{
	(void)state;
	h2_fields_done(&fields);
	h2_list_done(&list);
	buf_done(&out);
	return 0;
}

static void requests_become_text(void **state)
{
	static const struct {
		const char *fields;
		bool is_end;
		const char *text;
	} rows[] = {
		{GET, true, "GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
		{GET "|host=A.test|accept=*/*", true,
			"GET /x HTTP/1.1\r\nHost: a.test\r\naccept: */*\r\nConnection: "
			"close\r\n\r\n"},
		{":method=GET|:scheme=https|:path=/?q|host=b.test", true,
			"GET /?q HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n"},
		{GET "|cookie=a=1|x=y|cookie=b=2", true,
			"GET /x HTTP/1.1\r\nHost: a.test\r\nx: y\r\ncookie: a=1; b=2\r\n"
			"Connection: close\r\n\r\n"},
		{POST, true,
			"POST /x HTTP/1.1\r\nHost: a.test\r\ncontent-length: 0\r\n"
			"Connection: close\r\n\r\n"},
		{POST "|content-length=5", false,
			"POST /x HTTP/1.1\r\nHost: a.test\r\ncontent-length: 5\r\n"
			"Connection: close\r\n\r\n"},
		{POST "|te=trailers", false,
			"POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
			"TE: trailers\r\nConnection: close, TE\r\n\r\n"},
		{":method=OPTIONS|:scheme=https|:path=*|:authority=a.test", true,
			"OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
		{CONNECT "|sec-websocket-version=13", false,
			"GET /x HTTP/1.1\r\nHost: a.test\r\nsec-websocket-version: 13\r\n"
			"Connection: Upgrade\r\nUpgrade: websocket\r\n"
			"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(print(H2_REQUEST, rows[i].fields, rows[i].is_end, false), 0);
		assert_string_equal(out.data, rows[i].text);
		assert_int_equal(http1_parse_request(out.data, out.len, &head), 0);
		assert_int_equal(head.is_websocket, shape.is_websocket);
	}
}

static void malformed_requests_are_refused(void **state)
{
	static const char *const rows[] = {
		":scheme=https|:path=/|:authority=a.test",
		":method=GET|:path=/|:authority=a.test",
		":method=GET|:scheme=https|:authority=a.test",
		":method=GET|:scheme=https|:path=/",
		":method=GET|:scheme=http|:path=/|:authority=a.test",
		":method=GET|:scheme=https|:path=|:authority=a.test",
		":method=GET|:scheme=https|:path=x|:authority=a.test",
		":method=GET|:scheme=https|:path=*|:authority=a.test",
		":method=GET|:scheme=https|:path=https://b.test/|:authority=a.test",
		":method=GET|:scheme=https|:path=/a b|:authority=a.test",
		":method=G T|:scheme=https|:path=/|:authority=a.test",
		":method=GET|:scheme=https|:path=/|:authority=",
		":method=GET|:scheme=https|:path=/|:authority=u@a.test",
		":method=GET|:scheme=https|:path=/|:authority=a.test b",
		GET "|:path=/y",
		GET "|x=y|:path=/y",
		GET "|:status=200",
		GET "|:unknown=1",
		GET "|host=b.test",
		GET "|host=a.test|host=a.test",
		GET "|host=",
		GET "|:authority=a.test",
		GET "|X=y",
		GET "|x y=z",
		GET "|x:y=z",
		GET "|x=a\rb",
		GET "|x=a\nb",
		GET "|x=a\r\ny: z",
		GET "|x= a",
		GET "|x=a\t",
		GET "|connection=close",
		GET "|keep-alive=1",
		GET "|proxy-connection=close",
		GET "|transfer-encoding=chunked",
		GET "|upgrade=websocket",
		GET "|te=gzip",
		GET "|te=trailers, gzip",
		GET "|content-length=5",
		GET "|content-length=0|content-length=0",
		GET "|content-length=+1",
		GET "|content-length=1,1",
		GET "|content-length=9999999999999999999",
		GET "|:protocol=websocket",
		":method=CONNECT|:authority=a.test:443",
		":method=CONNECT|:protocol=connect-udp|:scheme=https|:path=/|:authority=a.test",
		CONNECT,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (print(H2_REQUEST, rows[i], true, false) != -EBADMSG)
			fail_msg("accepted: %s", rows[i]);
		assert_non_null(fields.fault);
	}
	/* NUL and DEL have no place in these tables' text */
	h2_fields_begin(&fields, H2_REQUEST);
	add_fields(GET);
	h2_fields_add(&fields, (struct h2_text){"x", 1}, (struct h2_text){"a\0b", 3});
	assert_non_null(fields.fault);
}

static void heads_too_large_are_refused(void **state)
{
	static char value[70000];

	(void)state;
	memset(value, 'x', sizeof(value));
	h2_fields_begin(&fields, H2_REQUEST);
	add_fields(GET);
	h2_fields_add(&fields, (struct h2_text){"x", 1}, (struct h2_text){value, sizeof(value)});
	assert_non_null(fields.fault);
	assert_true(fields.size_bytes > sizeof(value));
	assert_true(fields.lines.len < 100);

	h2_fields_begin(&fields, H2_REQUEST);
	add_fields(GET);
	assert_null(fields.fault);
	for (int i = 0; i < H2_MAX_FIELDS; i++)
		h2_fields_add(&fields, (struct h2_text){"x", 1}, (struct h2_text){"y", 1});
	assert_non_null(fields.fault);
}

static void responses_become_text(void **state)
{
	static const struct {
		const char *fields;
		bool is_end, is_head;
		const char *text;
	} rows[] = {
		{":status=200|x=y", false, false,
			"HTTP/1.1 200 \r\nx: y\r\nTransfer-Encoding: chunked\r\n"
			"Connection: close\r\n\r\n"},
		{":status=200|content-length=3", false, false,
			"HTTP/1.1 200 \r\ncontent-length: 3\r\nConnection: close\r\n\r\n"},
		{":status=200|grpc-status=5", true, false,
			"HTTP/1.1 200 \r\ngrpc-status: 5\r\ncontent-length: 0\r\n"
			"Connection: close\r\n\r\n"},
		{":status=200|content-length=9", true, true,
			"HTTP/1.1 200 \r\ncontent-length: 9\r\nConnection: close\r\n\r\n"},
		{":status=204", true, false, "HTTP/1.1 204 \r\nConnection: close\r\n\r\n"},
		{":status=103|link=x", false, false, "HTTP/1.1 103 \r\nlink: x\r\n\r\n"},
		{":status=200|set-cookie=a|set-cookie=b|content-length=0", true, false,
			"HTTP/1.1 200 \r\nset-cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n"
			"Connection: close\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			print(H2_RESPONSE, rows[i].fields, rows[i].is_end, rows[i].is_head), 0);
		assert_string_equal(out.data, rows[i].text);
		assert_int_equal(
			http1_parse_response(out.data, out.len, rows[i].is_head, &head), 0);
	}
}

static void malformed_responses_are_refused(void **state)
{
	static const char *const rows[] = {"x=y", ":status=20", ":status=2000", ":status=abc",
		":status=101", ":status=099", ":status=200|:status=200", ":status=200|:path=/",
		"x=y|:status=200", ":status=200|connection=close", ":status=200|content-length=1",
		":status=200|x=a\r\nb"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (print(H2_RESPONSE, rows[i], true, false) != -EBADMSG)
			fail_msg("accepted: %s", rows[i]);
	assert_int_equal(print(H2_RESPONSE, ":status=100", true, false), -EBADMSG);
}

static void trailers_carry_no_routing(void **state)
{
	static const char *const rows[] = {":path=/", "host=a", "content-length=1",
		"transfer-encoding=chunked", "authorization=x", "te=trailers", "cookie=x", "X=y"};

	(void)state;
	assert_int_equal(print(H2_TRAILERS, "grpc-status=0|grpc-message=", true, false), 0);
	assert_string_equal(out.data, "grpc-status: 0\r\ngrpc-message: \r\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (print(H2_TRAILERS, rows[i], true, false) != -EBADMSG)
			fail_msg("accepted: %s", rows[i]);
}

/* `name=value|…` of the list, * behind a name that is kept out of tables. */
static const char *list_text(void)
{
	buf_clear(&out);
	for (size_t i = 0; i < list.n; i++) {
		const struct h2_field *f = &list.fields[i];

		if (i)
			buf_add_char(&out, '|');
		buf_add(&out, f->name.ptr, f->name.len);
		buf_add_str(&out, f->is_sensitive ? "*=" : "=");
		buf_add(&out, f->value.ptr, f->value.len);
	}
	return out.data;
}

static void request_text_becomes_fields(void **state)
{
	static const struct {
		const char *text, *fields;
		enum h2_framing framing;
	} rows[] = {
		{"GET /x HTTP/1.1\r\nHost: a.test:8443\r\nAccept: */*\r\n\r\n",
			":method=GET|:scheme=https|:path=/x|:authority=a.test:8443|accept=*/*",
			H2_NO_BODY},
		{"POST /x HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer t\r\nX-Api-Key: k\r\n"
		 "Cookie: c\r\nContent-Length: 7\r\n\r\n",
			":method=POST|:scheme=https|:path=/x|:authority=a.test|authorization*="
			"Bearer t|x-api-key*=k|cookie*=c|content-length=7",
			H2_LENGTH},
		{"POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
		 "TE: trailers\r\nConnection: TE\r\n\r\n",
			":method=POST|:scheme=https|:path=/x|:authority=a.test|te=trailers",
			H2_CHUNKED},
		{"POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n",
			":method=POST|:scheme=https|:path=/x|:authority=a.test|content-length=0",
			H2_NO_BODY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(h2_list_request(&list, rows[i].text, strlen(rows[i].text)), 0);
		assert_string_equal(list_text(), rows[i].fields);
		assert_int_equal(list.shape.framing, rows[i].framing);
	}
}

static void response_text_becomes_fields(void **state)
{
	static const struct {
		const char *text, *fields;
		bool is_head;
		enum h2_framing framing;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nA:b\r\nConnection: close\r\n\r\n", ":status=200|a=b", false,
			H2_EOF},
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nKeep-Alive: 1\r\n\r\n",
			":status=200|content-length=4", false, H2_LENGTH},
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", ":status=200|content-length=4",
			true, H2_NO_BODY},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ":status=200", false,
			H2_CHUNKED},
		{"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", ":status=304|etag=x", false,
			H2_NO_BODY},
		{"HTTP/1.1 100 Continue\r\n\r\n", ":status=100", false, H2_NO_BODY},
		{"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n"
		 "Sec-WebSocket-Protocol: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
			":status=200|sec-websocket-protocol=p", false, H2_RAW},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(h2_list_response(&list, rows[i].text, strlen(rows[i].text),
					 rows[i].is_head),
			0);
		assert_string_equal(list_text(), rows[i].fields);
		assert_int_equal(list.shape.framing, rows[i].framing);
	}
}

static void text_that_is_not_ours_is_refused(void **state)
{
	static const char *const rows[] = {"", "\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", "GET / HTTP/1.1\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nx: y\rz\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nmore"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (h2_list_request(&list, rows[i], strlen(rows[i])) == 0)
			fail_msg("accepted: %s", rows[i]);
	assert_int_equal(h2_list_response(&list, "HTTP/1.1 2 x\r\n\r\n", 16, false), -EBADMSG);
}

static void chunks_are_taken_off_in_any_pieces(void **state)
{
	static const char text[] =
		"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\nC: d\r\n\r\n";

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct h2_dechunk d = {0};
		size_t at = 0;
		int r = 0;

		buf_clear(&out);
		while (r == 0 && at < sizeof(text) - 1) {
			size_t used,
				n = sizeof(text) - 1 - at < step ? sizeof(text) - 1 - at : step;

			r = h2_dechunk_feed(&d, text + at, n, 7, &out, &used);
			at += used;
		}
		assert_int_equal(r, 1);
		assert_int_equal(at, sizeof(text) - 1);
		assert_string_equal(out.data, "hello0123456789abcdef");
		assert_int_equal(d.trailers.len, 12);
		assert_memory_equal(d.trailers.data, "A: b\r\nC: d\r\n", 12);
		h2_dechunk_done(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_become_text),
		cmocka_unit_test(malformed_requests_are_refused),
		cmocka_unit_test(heads_too_large_are_refused),
		cmocka_unit_test(responses_become_text),
		cmocka_unit_test(malformed_responses_are_refused),
		cmocka_unit_test(trailers_carry_no_routing),
		cmocka_unit_test(request_text_becomes_fields),
		cmocka_unit_test(response_text_becomes_fields),
		cmocka_unit_test(text_that_is_not_ours_is_refused),
		cmocka_unit_test(chunks_are_taken_off_in_any_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
