/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON that all readers understand alike is read; anything else is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/wire/json.h"

static int parse(const char *text, size_t len)
{
	/* behind the text begins what the sanitizer guards */
	char *copy = malloc(len ? len : 1);
	struct json j;
	int r;

	assert_non_null(copy);
	memcpy(copy, text, len);
	r = json_parse(copy, len, &j);
	json_done(&j);
	free(copy);
	return r;
}

static void one_reading_is_taken(void **state)
{
	static const char *const rows[] = {"{}", "[]", " \t\r\n{ } ", "0", "-0", "12.50e+3", "1E-2",
		"null", "true", "false", "\"\"", "\"a\\u0000b\\ud83d\\ude00\\n\\/\"",
		"{\"a\":{\"a\":[1,{\"b\":null}]},\"b\":[]}", "{\"A\":1,\"a\":2}",
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\"",
		"123456789012345678901234567890", "[[],[[]],{},{\"\":{}}]", "\"\x7f\""};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i], strlen(rows[i])) != 0)
			fail_msg("refused: %s", rows[i]);
}

static void other_readings_are_refused(void **state)
{
	static const char *const rows[] = {"", " ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"}",
		"{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "[1 2]", "{}{}",
		"{} x", "nul", "nulll", "True", "NaN", "Infinity", "01", "+1", "1.", ".5", "1e",
		"1e+", "-", "0x1", "\"", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"",
		"\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"a\tb\"",
		"\"\x01\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe0\x80\xaf\"",
		"\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\"\xc3\"", "\xef\xbb\xbf{}",
		"// x\n{}", "{}/**/", "]", "}", "[}", "{]", ",", ":", "{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}", "[{\"b\":{\"x\":1,\"y\":2,\"x\":3}}]",
		"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,"
		"\"\\u0063\":1}",
		"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"g\":1}", "{1:2}",
		"{null:1}"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i], strlen(rows[i])) != -EBADMSG)
			fail_msg("taken: %s", rows[i]);
	assert_int_equal(parse("{}\0", 3), -EBADMSG);
	assert_int_equal(parse("\"a\0b\"", 5), -EBADMSG);
}

static void many_keys_are_compared_too(void **state)
{
	enum { N = 20000 };
	char *text = malloc(N * 12 + 64);
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "{");
	for (int i = 0; i < N; i++)
		n += (size_t)sprintf(text + n, "\"k%d\":0,", i);
	assert_int_equal(parse(text, n), -EBADMSG);
	text[n - 1] = '}';
	assert_int_equal(parse(text, n), 0);
	n += (size_t)sprintf(text + n - 1, ",\"k%d\":1}", N / 2) - 1;
	assert_int_equal(parse(text, n), -EBADMSG);
	free(text);
}

static void depth_and_values_have_bounds(void **state)
{
	char deep[2 * JSON_MAX_DEPTH + 2];
	size_t n = 2 * (JSON_MAX_TOKENS + 1);
	char *many = malloc(n);

	(void)state;
	memset(deep, '[', JSON_MAX_DEPTH);
	memset(deep + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
	assert_int_equal(parse(deep, 2 * JSON_MAX_DEPTH), 0);
	memset(deep, '[', JSON_MAX_DEPTH + 1);
	memset(deep + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
	assert_int_equal(parse(deep, 2 * JSON_MAX_DEPTH + 2), -ELOOP);
	assert_non_null(many);
	for (size_t i = 0; i < n; i += 2)
		memcpy(many + i, "0,", 2);
	many[0] = '[';
	many[1] = ' ';
	assert_int_equal(parse(many, n), -EFBIG);
	free(many);
}

static void members_are_found_by_what_they_mean(void **state)
{
	static const char text[] = "{\"n\\u0061me\":\"s\\u0065arch\",\"Too_LS\":[1,[2,3],4],"
				   "\"tool\xc5\xbf\":null,\"\xe2\x84\xaa-x\":true,\"\\u212A\":1}";
	static const char *const folded[] = {"name", "tools", "tools", "kx", "k"};
	struct json j;
	struct buf b;
	uint32_t list, n = 0;
	char out[16];

	(void)state;
	assert_int_equal(json_parse(text, sizeof(text) - 1, &j), 0);
	assert_true(json_is(&j, json_member(&j, 0, "name"), "search"));
	assert_false(json_is(&j, json_member(&j, 0, "name"), "searc"));
	assert_false(json_is(&j, json_member(&j, 0, "name"), "search2"));
	assert_int_equal(json_member(&j, 0, "tools"), JSON_NONE);
	for (uint32_t k = json_first(&j, 0); k != JSON_NONE; k = json_after(&j, 0, k)) {
		assert_true(json_fold(&j, k, sizeof(out), out));
		assert_string_equal(out, folded[n++]);
	}
	assert_int_equal(n, 5);
	assert_false(json_fold(&j, json_member(&j, 0, "name"), 6, out));
	list = json_member(&j, 0, "Too_LS");
	n = 0;
	for (uint32_t t = json_first(&j, list); t != JSON_NONE; t = json_after(&j, list, t))
		n++;
	assert_int_equal(n, 3);
	buf_init(&b);
	json_add_text(&j, json_member(&j, 0, "name"), &b);
	assert_string_equal(b.data, "search");
	buf_done(&b);
	json_done(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reading_is_taken),
		cmocka_unit_test(other_readings_are_refused),
		cmocka_unit_test(many_keys_are_compared_too),
		cmocka_unit_test(depth_and_values_have_bounds),
		cmocka_unit_test(members_are_found_by_what_they_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
