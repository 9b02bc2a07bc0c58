/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/1 heads, targets, chunked bodies and what goes to the next hop. */
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
#include "../../../user/wire/hop.h"
#include "../../../user/wire/http1.h"
#include "../../../user/wire/target.h"

static struct http1_head head;

static int parse_request(const char *text)
{
	assert_int_equal(http1_head_end(text, strlen(text)), strlen(text));
	return http1_parse_request(text, strlen(text), &head);
}

/* A request with these header lines. */
static int parse_fields(const char *fields)
{
	static char text[70000];

	snprintf(text, sizeof(text), "POST /x HTTP/1.1\r\n%s\r\n", fields);
	return http1_parse_request(text, strlen(text), &head);
}

static void assert_text(struct http1_text t, const char *want)
{
	assert_int_equal(t.len, strlen(want));
	assert_memory_equal(t.ptr, want, t.len);
}

static void request_head_is_split(void **state)
{
	(void)state;
	assert_int_equal(parse_request("GET /a%20b?c=d HTTP/1.1\r\nHost: a.test:80\r\n"
				       "Accept:\t application/json \r\nX:\r\n\r\n"),
		0);
	assert_text(head.method, "GET");
	assert_text(head.target, "/a%20b?c=d");
	assert_text(head.host, "a.test:80");
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.n_fields, 3);
	assert_text(head.fields[2].value, "");
	assert_true(head.wants_json);
	assert_true(head.is_keep_alive);
	assert_int_equal(head.body, HTTP1_BODY_NONE);
}

static void response_head_is_split(void **state)
{
	static const char text[] = "HTTP/1.0 404 Not Found\r\nX: y\r\n\r\n";
	static const char bare[] = "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\n";

	(void)state;
	assert_int_equal(http1_parse_response(text, strlen(text), false, &head), 0);
	assert_int_equal(head.status, 404);
	assert_text(head.phrase, "Not Found");
	assert_int_equal(head.body, HTTP1_BODY_EOF);
	assert_false(head.is_keep_alive);
	assert_int_equal(http1_parse_response(bare, strlen(bare), false, &head), 0);
	assert_int_equal(head.length, 3);
	assert_true(head.is_keep_alive);
}

static void head_ends_at_the_blank_line(void **state)
{
	(void)state;
	assert_int_equal(http1_head_end("GET / HTTP/1.1\r\n\r\nrest", 22), 18);
	assert_int_equal(http1_head_end("GET / HTTP/1.1\r\n\r", 17), 0);
	assert_int_equal(http1_head_end("GET / HTTP/1.1\n\n", 16), 0);
}

static void ambiguous_requests_are_refused(void **state)
{
	static const char *const rows[] = {
		"GET  /x HTTP/1.1\r\n\r\n",
		"GET /x  HTTP/1.1\r\n\r\n",
		"GET\t/x HTTP/1.1\r\n\r\n",
		"GET /x HTTP/1.1 \r\n\r\n",
		"GET /x\r\n\r\n",
		"GET HTTP/1.1\r\n\r\n",
		" GET /x HTTP/1.1\r\n\r\n",
		"get /x HTTP/1.1\r\n\r\n",
		"G\x01T /x HTTP/1.1\r\n\r\n",
		"GET /x HTTP/2.0\r\n\r\n",
		"GET /x HTTP/0.9\r\n\r\n",
		"GET /x HTTP/1.10\r\n\r\n",
		"GET /x HTTX/1.1\r\n\r\n",
		"GET /a\x01 HTTP/1.1\r\n\r\n",
		"GET /x HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
		"GET /x HTTP/1.1\nA: b\r\n\r\n",
		"GET /x HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
		"GET /x HTTP/1.1\r\n A: b\r\n\r\n",
		"GET /x HTTP/1.1\r\nA : b\r\n\r\n",
		"GET /x HTTP/1.1\r\nA\r\n\r\n",
		"GET /x HTTP/1.1\r\n: b\r\n\r\n",
		"GET /x HTTP/1.1\r\nA: b\rB: c\r\n\r\n",
		"GET /x HTTP/1.1\r\nA(: b\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = parse_request(rows[i]);

		if (r >= 0)
			print_error("accepted: %s\n", rows[i]);
		assert_true(r < 0);
	}
	assert_true(http1_parse_request("GET /x HTTP/1.1\r\nA: b\0c\r\n\r\n", 28, &head) < 0);
}

static void body_framing_has_one_reading(void **state)
{
	static const struct {
		const char *fields;
		int result;
		enum http1_body body;
	} rows[] = {
		{"", 0, HTTP1_BODY_NONE},
		{"Content-Length: 0\r\n", 0, HTTP1_BODY_NONE},
		{"Content-Length: 5\r\n", 0, HTTP1_BODY_LENGTH},
		{"Content-Length:   5  \r\n", 0, HTTP1_BODY_LENGTH},
		{"content-length: 5\r\n", 0, HTTP1_BODY_LENGTH},
		{"Transfer-Encoding: chunked\r\n", 0, HTTP1_BODY_CHUNKED},
		{"Transfer-Encoding: CHUNKED\r\n", 0, HTTP1_BODY_CHUNKED},
		{"Content-Length: 34\r\nContent-Length: 0\r\n", -EBADMSG, 0},
		{"Content-Length: 5\r\nContent-Length: 5\r\n", -EBADMSG, 0},
		{"Content-Length: 5, 5\r\n", -EBADMSG, 0},
		{"Content-Length: +5\r\n", -EBADMSG, 0},
		{"Content-Length: -5\r\n", -EBADMSG, 0},
		{"Content-Length: 0x5\r\n", -EBADMSG, 0},
		{"Content-Length: 5 6\r\n", -EBADMSG, 0},
		{"Content-Length: \r\n", -EBADMSG, 0},
		{"Content-Length: 99999999999999999999\r\n", -EBADMSG, 0},
		{"Content-Length: 18446744073709551617\r\n", -EBADMSG, 0},
		{"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: identity\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: xchunked\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: \"chunked\"\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: chunked, identity\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: gzip, chunked\r\n", -EBADMSG, 0},
		{"Transfer-Encoding:\r\n", -EBADMSG, 0},
		{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", -EBADMSG, 0},
		{"Transfer-Encoding\t: chunked\r\n", -EBADMSG, 0},
		{"Connection: host\r\n", -EBADMSG, 0},
		{"Connection: close, Content-Length\r\nContent-Length: 5\r\n", -EBADMSG, 0},
		{"Connection: transfer-encoding\r\n", -EBADMSG, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = parse_fields(rows[i].fields);

		if (r != rows[i].result)
			print_error("%s: %d\n", rows[i].fields, r);
		assert_int_equal(r, rows[i].result);
		if (r == 0)
			assert_int_equal(head.body, rows[i].body);
	}
}

static void responses_without_a_body_have_none(void **state)
{
	static const struct {
		const char *text;
		bool is_head;
		enum http1_body body;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, HTTP1_BODY_NONE},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, HTTP1_BODY_NONE},
		{"HTTP/1.1 200 OK\r\n\r\n", true, HTTP1_BODY_NONE},
		{"HTTP/1.1 204 No Content\r\n\r\n", false, HTTP1_BODY_NONE},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, HTTP1_BODY_NONE},
		{"HTTP/1.1 100 Continue\r\n\r\n", false, HTTP1_BODY_NONE},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false,
			HTTP1_BODY_CHUNKED},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, HTTP1_BODY_LENGTH},
		{"HTTP/1.1 200 OK\r\n\r\n", false, HTTP1_BODY_EOF},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(http1_parse_response(rows[i].text, strlen(rows[i].text),
					 rows[i].is_head, &head),
			0);
		assert_int_equal(head.body, rows[i].body);
	}
}

static void persistence_follows_version_and_connection(void **state)
{
	static const struct {
		const char *text;
		bool is_keep_alive;
	} rows[] = {
		{"GET / HTTP/1.1\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_request(rows[i].text), 0);
		assert_int_equal(head.is_keep_alive, rows[i].is_keep_alive);
	}
}

static void only_websocket_is_an_upgrade(void **state)
{
	(void)state;
	assert_int_equal(parse_request("GET / HTTP/1.1\r\nConnection: Upgrade\r\n"
				       "Upgrade: h2c, WebSocket\r\n\r\n"),
		0);
	assert_true(head.is_websocket);
	assert_int_equal(
		parse_request("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"), 0);
	assert_false(head.is_websocket);
	assert_int_equal(parse_request("GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"), 0);
	assert_false(head.is_websocket);
	assert_int_equal(parse_request("POST / HTTP/1.1\r\nConnection: Upgrade\r\n"
				       "Upgrade: websocket\r\n\r\n"),
		0);
	assert_false(head.is_websocket);
}

static void more_fields_than_fit_are_refused(void **state)
{
	static char fields[HTTP1_MAX_FIELDS * 8 + 100];

	(void)state;
	for (int i = 0; i < HTTP1_MAX_FIELDS; i++)
		strcat(fields, "A: b\r\n");
	assert_int_equal(parse_fields(fields), 0);
	strcat(fields, "A: b\r\n");
	assert_int_equal(parse_fields(fields), -E2BIG);
}

/* --- targets */

static int parse_target(const char *method, const char *text, struct target *ret)
{
	return target_parse((struct http1_text){method, strlen(method)},
		(struct http1_text){text, strlen(text)}, ret);
}

static void targets_have_four_forms(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(parse_target("GET", "/a?b", &t), 0);
	assert_int_equal(t.form, TARGET_ORIGIN);
	assert_int_equal(parse_target("GET", "HTTP://A.Test:8080/a?b", &t), 0);
	assert_int_equal(t.form, TARGET_ABSOLUTE);
	assert_string_equal(t.host.name, "a.test");
	assert_int_equal(t.port, 8080);
	assert_text(t.path, "/a?b");
	assert_int_equal(parse_target("GET", "http://a.test", &t), 0);
	assert_int_equal(t.port, 80);
	assert_text(t.path, "/");
	assert_int_equal(parse_target("GET", "http://a.test?x", &t), 0);
	assert_true(t.is_rooted);
	assert_text(t.path, "?x");
	assert_text(t.decide, "/");
	assert_int_equal(parse_target("OPTIONS", "*", &t), 0);
	assert_int_equal(t.form, TARGET_ASTERISK);
	assert_int_equal(parse_target("OPTIONS", "http://a.test", &t), 0);
	assert_text(t.path, "*");
	assert_text(t.decide, "/");
	assert_int_equal(parse_target("CONNECT", "a.test:443", &t), 0);
	assert_int_equal(t.form, TARGET_AUTHORITY);
	assert_int_equal(t.port, 443);
}

static void targets_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *method, *text;
		int result;
	} rows[] = {
		{"GET", "/a#b", -EBADMSG},
		{"GET", "*", -EBADMSG},
		{"GET", "a.test:443", -EBADMSG},
		{"GET", "https://a.test/", -EPROTONOSUPPORT},
		{"GET", "http://", -EINVAL},
		{"GET", "http:///a", -EINVAL},
		{"GET", "http://u@a.test/", -EINVAL},
		{"GET", "http://u:p@a.test/", -EINVAL},
		{"GET", "http://[a.test]/", -EINVAL},
		{"GET", "http://a.test:/", -EINVAL},
		{"GET", "http://a.test:080/", -EINVAL},
		{"GET", "http://evil.test\\.a.test/", -EINVAL},
		{"GET", "http://evil.test%2f.a.test/", -EINVAL},
		{"CONNECT", "a.test", -EINVAL},
		{"CONNECT", "a.test:0", -EINVAL},
		{"CONNECT", "http://a.test:443", -EINVAL},
		{"CONNECT", "/", -EINVAL},
	};
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = parse_target(rows[i].method, rows[i].text, &t);

		if (r != rows[i].result)
			print_error("%s %s: %d\n", rows[i].method, rows[i].text, r);
		assert_int_equal(r, rows[i].result);
	}
}

/* --- the next hop */

static void next_hops_request_has_one_host_and_one_framing(void **state)
{
	struct host host;
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(host_parse("a.test", 6, &host), 0);
	assert_int_equal(parse_request("PUT /x HTTP/1.0\r\nhost: b.test\r\nKeep-Alive: 1\r\n"
				       "Connection: X-Gone\r\nX-Gone: 1\r\nX-Kept:  2 \r\n"
				       "Content-Length: 007\r\nUpgrade: h2c\r\n"
				       "Proxy-Connection: close\r\nTE: gzip\r\n\r\n"),
		0);
	hop_print_request(&head, &host, 8080, 80, head.target, &out);
	assert_string_equal(out.data,
		"PUT /x HTTP/1.1\r\nHost: a.test:8080\r\nX-Kept: 2\r\n"
		"Content-Length: 7\r\n\r\n");
	buf_done(&out);
}

static void addresses_in_host_stand_in_brackets(void **state)
{
	struct host host;
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(host_parse("[2001:db8::1]", 13, &host), 0);
	hop_print_authority(&host, 80, 80, &out);
	assert_string_equal(out.data, "[2001:db8::1]");
	buf_clear(&out);
	assert_int_equal(host_parse("1.2.3.4", 7, &host), 0);
	hop_print_authority(&host, 8080, 80, &out);
	assert_string_equal(out.data, "1.2.3.4:8080");
	buf_done(&out);
}

/* --- chunked bodies */

/* Feeds in pieces of n bytes. The result of the last feed; *ret_used over all. */
static int feed(
	struct http1_chunks *c, const char *text, size_t n, struct buf *out, size_t *ret_used)
{
	size_t len = strlen(text), at = 0;
	int r = 0;

	while (at < len && r == 0) {
		size_t used = 0, piece = len - at < n ? len - at : n;

		r = http1_chunks_feed(c, text + at, piece, out, &used);
		at += used;
	}
	*ret_used = at;
	return r;
}

static void chunks_are_framed_anew_at_every_split(void **state)
{
	static const char text[] = "5;x=\"y\"\r\nhello\r\n00006\r\n world\r\n0\r\n\r\nGET /next";
	struct http1_chunks c;
	struct buf out;
	size_t used;

	(void)state;
	for (size_t n = 1; n <= sizeof(text); n++) {
		buf_init(&out);
		http1_chunks_init(&c, true);
		assert_int_equal(feed(&c, text, n, &out, &used), 1);
		assert_int_equal(used, strlen(text) - 9);
		assert_string_equal(out.data, "hello world");
		assert_int_equal(c.body_bytes, 11);
		http1_chunks_done(&c);
		buf_done(&out);
	}
	buf_init(&out);
	http1_chunks_init(&c, false);
	assert_int_equal(feed(&c, text, 1000, &out, &used), 1);
	assert_string_equal(out.data, "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
	http1_chunks_done(&c);
	buf_done(&out);
}

static void trailers_pass_but_those_that_route_or_frame(void **state)
{
	static const char text[] =
		"1\r\na\r\n0\r\nX-A: b\r\nHost: evil.test\r\nX-C:\r\n"
		"Connection: close\r\nAuthorization: other\r\ncookie: a\r\nX-D: e f\r\n\r\n";
	struct http1_chunks c;
	struct buf out;
	size_t used;

	(void)state;
	for (size_t n = 1; n <= sizeof(text); n++) {
		buf_init(&out);
		http1_chunks_init(&c, false);
		assert_int_equal(feed(&c, text, n, &out, &used), 1);
		assert_int_equal(used, strlen(text));
		assert_string_equal(out.data, "1\r\na\r\n0\r\nX-A: b\r\nX-C: \r\nX-D: e f\r\n\r\n");
		http1_chunks_done(&c);
		buf_done(&out);
	}
}

static void malformed_chunks_are_refused(void **state)
{
	static const char *const rows[] = {
		"x\r\n",
		"-1\r\n",
		"5\r\nhelloX\r\n",
		"ffffffffffffffffff\r\n",
		"5\r\nhello\r\n0\r\nA b: c\r\n\r\n",
		"\r\n5\r\nhello\r\n",
	};
	struct http1_chunks c;
	struct buf out;
	size_t used;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_init(&out);
		http1_chunks_init(&c, false);
		if (feed(&c, rows[i], 1000, &out, &used) != -EBADMSG)
			print_error("accepted: %s\n", rows[i]);
		assert_int_equal(http1_chunks_feed(&c, "0\r\n\r\n", 5, &out, &used), -EBADMSG);
		http1_chunks_done(&c);
		buf_done(&out);
	}
}

static void trailers_beyond_the_bound_are_refused(void **state)
{
	char line[2000];
	struct http1_chunks c;
	struct buf out;
	size_t used;
	int r;

	(void)state;
	buf_init(&out);
	http1_chunks_init(&c, false);
	assert_int_equal(feed(&c, "0\r\n", 100, &out, &used), 0);
	snprintf(line, sizeof(line), "X: %01900d\r\n", 0);
	do
		r = feed(&c, line, 5000, &out, &used);
	while (r == 0);
	assert_int_equal(r, -EBADMSG);
	assert_true(c.trailers.len < HTTP1_MAX_TRAILER_BYTES + 4000);
	http1_chunks_done(&c);
	buf_done(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_head_is_split),
		cmocka_unit_test(response_head_is_split),
		cmocka_unit_test(head_ends_at_the_blank_line),
		cmocka_unit_test(ambiguous_requests_are_refused),
		cmocka_unit_test(body_framing_has_one_reading),
		cmocka_unit_test(responses_without_a_body_have_none),
		cmocka_unit_test(persistence_follows_version_and_connection),
		cmocka_unit_test(only_websocket_is_an_upgrade),
		cmocka_unit_test(more_fields_than_fit_are_refused),
		cmocka_unit_test(targets_have_four_forms),
		cmocka_unit_test(targets_that_are_none_are_refused),
		cmocka_unit_test(next_hops_request_has_one_host_and_one_framing),
		cmocka_unit_test(addresses_in_host_stand_in_brackets),
		cmocka_unit_test(chunks_are_framed_anew_at_every_split),
		cmocka_unit_test(trailers_pass_but_those_that_route_or_frame),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(trailers_beyond_the_bound_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
