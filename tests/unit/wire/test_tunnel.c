/* SPDX-License-Identifier: GPL-2.0-only */
/* CONNECT as a client, Basic credentials, base64. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/wire/base64.h"
#include "../../../user/wire/basic.h"
#include "../../../user/wire/tunnel.h"

static int parse(const char *text, struct tunnel_answer *ret)
{
	static struct http1_head head;

	return tunnel_parse(text, strlen(text), &head, ret);
}

static void answer_ends_with_its_head(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint16_t status;
		size_t head_bytes;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\n\r\n", 1, 200, 19},
		{"HTTP/1.0 200 Connection established\r\n\r\nSSH-2.0", 1, 200, 39},
		/* a body is not the answer's, whatever its fields say */
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1, 200, 38},
		{"HTTP/1.1 204 No Content\r\n\r\n", 1, 204, 27},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 1, 200, 44},
		{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 1, 407, 46},
		{"", 0, 0, 0},
		{"HTTP/1.1 200 OK\r\n", 0, 0, 0},
		{"HTTP/1.1 100 Continue\r\n\r\n", 0, 0, 0},
		{"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
			-EBADMSG, 0, 0},
		{"HTTP/2 200 OK\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 20 OK\r\n\r\n", -EBADMSG, 0, 0},
		{"GET / HTTP/1.1\r\n\r\n", -EBADMSG, 0, 0},
		{"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", -EBADMSG, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tunnel_answer a = {0};
		int r = parse(cases[i].text, &a);

		if (r != cases[i].result || a.status != cases[i].status ||
			a.head_bytes != cases[i].head_bytes)
			fail_msg("%s: %d %u %zu", cases[i].text, r, a.status, a.head_bytes);
	}
}

static void answer_without_an_end_is_too_long(void **state)
{
	char *text = malloc(TUNNEL_MAX_ANSWER_BYTES + 1);
	struct tunnel_answer a;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', TUNNEL_MAX_ANSWER_BYTES);
	text[TUNNEL_MAX_ANSWER_BYTES] = 0;
	memcpy(text, "HTTP/1.1 200 ", 13);
	assert_int_equal(parse(text, &a), -E2BIG);
	free(text);
}

static void only_words_are_taken_for_reasons(void **state)
{
	struct tunnel_answer a;

	(void)state;
	assert_int_equal(parse("HTTP/1.1 403 F\r\nX-Nej-Reason: no-rule\r\n\r\n", &a), 1);
	assert_int_equal(a.reason.len, 7);
	assert_int_equal(parse("HTTP/1.1 403 F\r\nX-Nej-Reason: No rule\r\n\r\n", &a), 1);
	assert_int_equal(a.reason.len, 0);
	assert_int_equal(parse("HTTP/1.1 403 F\r\nX-Nej-Reason:\r\n\r\n", &a), 1);
	assert_int_equal(a.reason.len, 0);
}

static void request_names_the_target_twice(void **state)
{
	struct host to, name;
	struct tunnel_request t = {.to = &to, .port = 443};
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(host_parse("[2001:db8::1]", 13, &to), 0);
	assert_int_equal(host_parse("a.example", 9, &name), 0);
	tunnel_print(&t, &out);
	assert_string_equal(
		out.data, "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n");
	buf_clear(&out);
	t.name = &name;
	t.username = "Aladdin";
	t.password = "open sesame";
	tunnel_print(&t, &out);
	assert_string_equal(out.data,
		"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n"
		"Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
		"X-Nej-Name: a.example:443\r\n\r\n");
	buf_done(&out);
}

/* RFC 4648 section 10, and spellings that mean the same to a lax reader. */
static void base64_has_one_spelling(void **state)
{
	static const char *const good[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"}, {"\xfb\xff\xfe", "+//+"}};
	static const char *const bad[] = {"Z", "Zg",
		"Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm-v",
		"Zm_v", " Zm9", "Z\xc3\xa9=="};
	struct buf out;
	char text[32];
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		buf_init(&out);
		base64_encode(good[i][0], strlen(good[i][0]), &out);
		assert_int_equal(out.len, strlen(good[i][1]));
		if (out.len)
			assert_string_equal(out.data, good[i][1]);
		assert_int_equal(base64_decode(good[i][1], strlen(good[i][1]), text, &len), 0);
		assert_int_equal(len, strlen(good[i][0]));
		assert_memory_equal(text, good[i][0], len);
		buf_done(&out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (base64_decode(bad[i], strlen(bad[i]), text, &len) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
}

static void credentials_are_read_strictly(void **state)
{
	static const struct {
		const char *field, *name, *password;
	} cases[] = {
		{"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"},
		{"bASIC  YTo=", "a", ""},
		{"Basic YTpiOmM=", "a", "b:c"},
		{"Basic OmI=", "", "b"},
		{"Basic YQ==", NULL, NULL},     /* no colon */
		{"Basic YTpiCg==", NULL, NULL}, /* a line feed */
		{"Basic YTpiAA==", NULL, NULL}, /* a NUL */
		{"Basic YTpi YTpi", NULL, NULL},
		{"Basic", NULL, NULL},
		{"Basic ", NULL, NULL},
		{"", NULL, NULL},
		{"BasicYTpi", NULL, NULL},
		{"Bearer YTpi", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http1_text field = {cases[i].field, strlen(cases[i].field)};
		struct basic b;
		int r = basic_parse(field, &b);

		assert_int_equal(r, cases[i].name ? 0 : -EINVAL);
		if (r == 0) {
			assert_string_equal(b.name, cases[i].name);
			assert_string_equal(b.password, cases[i].password);
			assert_int_equal(b.name_len, strlen(b.name));
			assert_int_equal(b.password_len, strlen(b.password));
		}
	}
}

static void long_credentials_are_refused(void **state)
{
	static char field[6 + 4 * BASIC_MAX_BYTES];
	struct basic b;

	(void)state;
	memset(field, 'A', sizeof(field));
	memcpy(field, "Basic ", 6);
	assert_int_equal(basic_parse((struct http1_text){field, sizeof(field) - 2}, &b), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_ends_with_its_head),
		cmocka_unit_test(answer_without_an_end_is_too_long),
		cmocka_unit_test(only_words_are_taken_for_reasons),
		cmocka_unit_test(request_names_the_target_twice),
		cmocka_unit_test(base64_has_one_spelling),
		cmocka_unit_test(credentials_are_read_strictly),
		cmocka_unit_test(long_credentials_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
