/* SPDX-License-Identifier: GPL-2.0-only */
/* The canonical request in its readings. test_resign.c holds AWS's own examples. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/wire/canonical.h"

static struct http1_head head;

static const char *print(
	const char *text, const char *names, struct canonical_reading reading, bool is_up)
{
	static char out[4096];
	struct canonical_request c = {.head = &head, .payload = "PAYLOAD", .is_up = is_up};
	struct sigv4 s = {.form = SIGV4_QUERY};
	struct buf b;

	assert_int_equal(http1_parse_request(text, strlen(text), &head), 0);
	c.method = head.method;
	c.path = head.target;
	c.host = head.host;
	strcpy(s.names, names);
	buf_init(&b);
	if (is_up)
		canonical_drop_hop_names(&head, &s);
	assert_int_equal(canonical_print(&s, &c, reading, &b), 0);
	assert_true(b.len < sizeof(out));
	strcpy(out, b.data);
	buf_done(&b);
	return out;
}

static void assert_target(const char *target, struct canonical_reading reading, const char *wanted)
{
	char text[1024], whole[1024];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n", target);
	snprintf(whole, sizeof(whole), "GET\n%s\nhost:a.example\n\nhost\nPAYLOAD", wanted);
	assert_string_equal(print(text, "host", reading, false), whole);
}

static void paths_have_four_readings(void **state)
{
	static const struct {
		const char *path, *as_sent, *encoded, *twice, *normalised;
	} rows[] = {
		{"/", "/", "/", "/", "/"},
		{"/a/b/", "/a/b/", "/a/b/", "/a/b/", "/a/b/"},
		{"//a///b", "//a///b", "//a///b", "//a///b", "/a/b"},
		{"/a/./b/../c", "/a/./b/../c", "/a/./b/../c", "/a/./b/../c", "/a/c"},
		{"/a/..", "/a/..", "/a/..", "/a/..", "/"},
		{"/a/b/.", "/a/b/.", "/a/b/.", "/a/b/.", "/a/b"},
		{"/a/./", "/a/./", "/a/./", "/a/./", "/a/"},
		{"/../x", "/../x", "/../x", "/../x", "/x"},
		{"/a%20b", "/a%20b", "/a%20b", "/a%2520b", "/a%2520b"},
		{"/a%2fb~", "/a%2fb~", "/a%2Fb~", "/a%252fb~", "/a%252fb~"},
		{"/a$b=c:d", "/a$b=c:d", "/a%24b%3Dc%3Ad", "/a%24b%3Dc%3Ad", "/a%24b%3Dc%3Ad"},
		{"/%7Ex%zz", "/%7Ex%zz", "/~x%25zz", "/%257Ex%25zz", "/%257Ex%25zz"},
		{"/...", "/...", "/...", "/...", "/..."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const wanted[] = {
			rows[i].as_sent, rows[i].encoded, rows[i].twice, rows[i].normalised};

		for (uint8_t n = 0; n < 4; n++) {
			char line[256];

			snprintf(line, sizeof(line), "%s\n", wanted[n]);
			assert_target(rows[i].path, (struct canonical_reading){.path = n}, line);
		}
	}
}

static void queries_are_sorted_by_name_then_value(void **state)
{
	static const struct {
		const char *query, *encoded, *as_sent;
	} rows[] = {
		{"b=2&a=1&a=0", "a=0&a=1&b=2", "a=0&a=1&b=2"},
		{"a-=1&a=2&a1=3", "a=2&a-=1&a1=3", "a=2&a-=1&a1=3"},
		{"x&y=&&", "x=&y=", "x=&y="},
		{"a=1+2&b=%7e%2f", "a=1%202&b=~%2F", "a=1+2&b=%7e%2f"},
		{"a=b=c&d=/", "a=b%3Dc&d=%2F", "a=b=c&d=/"},
		{"z=1&X-Amz-Signature=00&A=1", "A=1&z=1", "A=1&z=1"},
		{"%c3%a9=1&e=2", "%C3%A9=1&e=2", "%c3%a9=1&e=2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char target[256], wanted[256];

		snprintf(target, sizeof(target), "/?%s", rows[i].query);
		snprintf(wanted, sizeof(wanted), "/\n%s", rows[i].encoded);
		assert_target(target, (struct canonical_reading){0}, wanted);
		snprintf(wanted, sizeof(wanted), "/\n%s", rows[i].as_sent);
		assert_target(target, (struct canonical_reading){.is_query_as_sent = true}, wanted);
	}
}

static void fields_are_joined_and_their_blanks_folded(void **state)
{
	const char text[] = "PUT / HTTP/1.1\r\nHost: a.example:81\r\nX-A:   b   c \t d  \r\n"
			    "Content-Length: 0005\r\nx-a: e\r\nConnection: x-b\r\nX-B: hop\r\n\r\n";

	(void)state;
	assert_string_equal(print(text, "content-length;host;none;x-a;x-b",
				    (struct canonical_reading){0}, false),
		"PUT\n/\n\ncontent-length:0005\nhost:a.example:81\nnone:\nx-a:b c d,e\nx-b:hop\n\n"
		"content-length;host;none;x-a;x-b\nPAYLOAD");
	/* the next hop sees no field of this one */
	assert_string_equal(print(text, "connection;content-length;host;none;x-a;x-b",
				    (struct canonical_reading){0}, true),
		"PUT\n/\n\ncontent-length:5\nhost:a.example:81\nnone:\nx-a:b c d,e\n\n"
		"content-length;host;none;x-a\nPAYLOAD");
}

static void the_service_decides_which_reading_comes_first(void **state)
{
	struct canonical_reading reading;
	size_t n = 0;

	(void)state;
	assert_true(canonical_reading(true, 0, &reading));
	assert_int_equal(reading.path, CANONICAL_AS_SENT);
	assert_true(canonical_reading(false, 0, &reading));
	assert_int_equal(reading.path, CANONICAL_NORMALISED);
	while (canonical_reading(false, n, &reading))
		n++;
	assert_int_equal(n, 8);
	assert_false(canonical_reading(true, 4, &reading));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_have_four_readings),
		cmocka_unit_test(queries_are_sorted_by_name_then_value),
		cmocka_unit_test(fields_are_joined_and_their_blanks_folded),
		cmocka_unit_test(the_service_decides_which_reading_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
