/* SPDX-License-Identifier: GPL-2.0-only */
/* URLs in parts, and paths in both readings. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/wire/url.h"

static void urls_split(void **state)
{
	static const struct {
		const char *url, *scheme, *authority, *path;
	} rows[] = {
		{"https://a.example/x?y=1", "https", "a.example", "/x?y=1"},
		{"https://a.example", "https", "a.example", "/"},
		{"https://a.example?x=/y", "https", "a.example", "/"},
		{"https://a.example/x#y", "https", "a.example", "/x"},
		{"https://a.example#x", "https", "a.example", "/"},
		{"https://u@a.example:8/x", "https", "u@a.example:8", "/x"},
		{"https://evil.example\\@a.example/", "https", "evil.example", "\\@a.example/"},
		{"tcp://[::1]:22", "tcp", "[::1]:22", "/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct url u;

		assert_int_equal(url_split(rows[i].url, strlen(rows[i].url), &u), 0);
		assert_int_equal(u.scheme_len, strlen(rows[i].scheme));
		assert_int_equal(u.authority_len, strlen(rows[i].authority));
		assert_int_equal(u.path_len, strlen(rows[i].path));
		assert_memory_equal(u.scheme, rows[i].scheme, u.scheme_len);
		assert_memory_equal(u.authority, rows[i].authority, u.authority_len);
		assert_memory_equal(u.path, rows[i].path, u.path_len);
	}
}

static void texts_without_scheme_are_no_urls(void **state)
{
	struct url u;

	(void)state;
	assert_int_equal(url_split("a.example/", 10, &u), -EINVAL);
	assert_int_equal(url_split("://a", 4, &u), -EINVAL);
	assert_int_equal(url_split("", 0, &u), -EINVAL);
}

static const struct reading {
	const char *path, *full, *plain; /* NULL: -EILSEQ */
} readings[] = {
	{"/", "/", "/"},
	{"/a/b", "/a/b", "/a/b"},
	{"/a/", "/a/", "/a/"},
	{"/a?b#", NULL, NULL},
	{"/a?b", "/a", "/a"},
	{"/a/../b", "/b", "/b"},
	{"/a/./b", "/a/b", "/a/b"},
	{"/a/.", "/a/", "/a/"},
	{"/a/..", "/", "/"},
	{"/../../b", "/b", "/b"},
	{"//a//b", "/a/b", "/a/b"},
	{"/a;x=1/b;y", "/a/b", "/a;x=1/b;y"},
	{"/a/..;/b", "/b", "/a/..;/b"},
	{"/a\\b", "/a/b", "/a\\b"},
	{"/a/..\\..\\b", "/b", "/a/..\\..\\b"},
	{"/a%2fb", "/a/b", "/a%2Fb"},
	{"/a/..%2f..%2fb", "/b", "/a/..%2F..%2Fb"},
	{"/a/..%5cb", "/b", "/a/..%5Cb"},
	{"/a/%2e%2e/b", "/b", "/b"},
	{"/a/.%2E/b", "/b", "/b"},
	{"/a/%252e%252e/b", "/b", "/a/%252e%252e/b"},
	{"/%61%7E%5f", "/a~_", "/a~_"},
	{"/caf%c3%a9", "/caf\xc3\xa9", "/caf%C3%A9"},
	{"/caf\xc3\xa9", "/caf\xc3\xa9", "/caf%C3%A9"},
	{"/a%20b", "/a b", "/a%20b"},
	{"/@scope%2fname", "/@scope/name", "/@scope%2Fname"},
	{"/100%25", "/100%", "/100%25"},
	{"/a%3fb", "/a?b", "/a%3Fb"},
	/* origins differ */
	{"/%zz", NULL, NULL},
	{"/%", NULL, NULL},
	{"/a%2", NULL, NULL},
	{"/a%00b", NULL, "/a%00b"},
	{"/a%0ab", NULL, "/a%0Ab"},
	{"/a%c0%afb", NULL, "/a%C0%AFb"},
	{"/a%e0%80%afb", NULL, "/a%E0%80%AFb"},
	{"/a//../b", NULL, NULL},
	{"/a/%2f../b", NULL, "/a/%2F../b"},
	{"\\a", "/a", NULL},
};

static void check(const char *path, enum url_reading reading, const char *want)
{
	char out[URL_MAX_PATH_BYTES];
	size_t len = 0;
	int r = url_read_path(path, strlen(path), reading, out, &len);

	if (strchr(path, '#')) {
		assert_int_equal(r, -EBADMSG);
		return;
	}
	if (r != (want ? 0 : -EILSEQ))
		fail_msg("%s: %d", path, r);
	if (want && (len != strlen(want) || memcmp(out, want, len) != 0))
		fail_msg("%s: `%.*s`, not `%s`", path, (int)len, out, want);
}

static void paths_are_read_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		check(readings[i].path, URL_FULL, readings[i].full);
		check(readings[i].path, URL_PLAIN, readings[i].plain);
	}
}

static void readings_are_their_own_reading(void **state)
{
	char once[URL_MAX_PATH_BYTES], twice[URL_MAX_PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		size_t len, len2;

		if (url_read_path(
			    readings[i].path, strlen(readings[i].path), URL_PLAIN, once, &len))
			continue;
		assert_int_equal(url_read_path(once, len, URL_PLAIN, twice, &len2), 0);
		assert_int_equal(len, len2);
		assert_memory_equal(once, twice, len);
	}
}

static void unreadable_paths_are_refused(void **state)
{
	static const char *const rows[] = {
		"", "a", "*", "/a b", "/a\tb", "/a\x7f", "/a#b", "?x", "#", "/a?b c#d"};
	char out[URL_MAX_PATH_BYTES];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (url_read_path(rows[i], strlen(rows[i]), URL_FULL, out, &len) != -EBADMSG)
			fail_msg("`%s` is read", rows[i]);
	assert_int_equal(url_read_path("/a\0b", 4, URL_FULL, out, &len), -EBADMSG);
}

/* The path that needs this many rounds to become `/A`. */
static size_t encode(char *out, int rounds)
{
	size_t len = (size_t)sprintf(out, "/%%");

	for (int i = 1; i < rounds; i++)
		len += (size_t)sprintf(out + len, "25");
	return len + (size_t)sprintf(out + len, "41");
}

static void eight_rounds_are_decoded_nine_refused(void **state)
{
	char path[64], out[URL_MAX_PATH_BYTES];
	size_t len;

	(void)state;
	assert_int_equal(url_read_path(path, encode(path, 8), URL_FULL, out, &len), 0);
	assert_int_equal(len, 2);
	assert_memory_equal(out, "/A", 2);
	assert_int_equal(url_read_path(path, encode(path, 9), URL_FULL, out, &len), -EBADMSG);
}

static void long_paths_are_refused(void **state)
{
	static char path[URL_MAX_PATH_BYTES + 1], out[URL_MAX_PATH_BYTES];
	size_t len;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	assert_int_equal(url_read_path(path, URL_MAX_PATH_BYTES, URL_FULL, out, &len), 0);
	assert_int_equal(len, URL_MAX_PATH_BYTES);
	assert_int_equal(url_read_path(path, sizeof(path), URL_FULL, out, &len), -EBADMSG);
	memset(path + 1, 0xc3, sizeof(path) - 1); /* three times as long when escaped */
	assert_int_equal(url_read_path(path, URL_MAX_PATH_BYTES, URL_PLAIN, out, &len), -EBADMSG);
}

static void stars_are_marked_in_patterns_only(void **state)
{
	char out[URL_MAX_PATH_BYTES];
	size_t len;

	(void)state;
	assert_int_equal(url_read_pattern("/a/*/%2a", 8, URL_FULL, out, &len), 0);
	assert_memory_equal(out, "/a/\x01/*", len);
	assert_int_equal(url_read_path("/a/*", 4, URL_FULL, out, &len), 0);
	assert_memory_equal(out, "/a/*", len);
	assert_int_equal(url_read_pattern("/a/\x01", 4, URL_FULL, out, &len), -EBADMSG);
	assert_int_equal(url_read_pattern("/a/%01", 6, URL_FULL, out, &len), -EILSEQ);
	assert_int_equal(url_read_pattern("/a?b", 4, URL_FULL, out, &len), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_split),
		cmocka_unit_test(texts_without_scheme_are_no_urls),
		cmocka_unit_test(paths_are_read_twice),
		cmocka_unit_test(readings_are_their_own_reading),
		cmocka_unit_test(unreadable_paths_are_refused),
		cmocka_unit_test(eight_rounds_are_decoded_nine_refused),
		cmocka_unit_test(long_paths_are_refused),
		cmocka_unit_test(stars_are_marked_in_patterns_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
