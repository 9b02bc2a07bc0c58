/* SPDX-License-Identifier: GPL-2.0-only */
/* Method lists and path patterns, against a plain matcher that tries everything. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/policy/match.h"
#include "../../../user/wire/url.h"

static bool match(const char *pattern, const char *path)
{
	char marked[64];
	size_t n = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		marked[i] = pattern[i] == '*' ? URL_STAR : pattern[i];
	return match_path(marked, n, path, strlen(path));
}

static void patterns_cover_segments(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool is_match;
	} rows[] = {
		{"/repos", "/repos", true},
		{"/repos", "/repos/x", true},
		{"/repos", "/reposx", false},
		{"/repos/", "/repos/x", true},
		{"/repos/", "/repos", false},
		{"/", "/anything", true},
		{"/repos/*/issues", "/repos/a/issues", true},
		{"/repos/*/issues", "/repos/a/issues/7", true},
		{"/repos/*/issues", "/repos/a/b/issues", false},
		{"/repos/**/issues", "/repos/a/b/issues", true},
		{"/q/*.json", "/q/a.json", true},
		{"/q/*.json", "/q/a.jsonx", false},
		{"/q/*.json", "/q/a.json.json", true},
		{"/q/*.json", "/q/a/b.json", false},
		{"/a*b", "/axxb", true},
		{"/a*b", "/axx/b", false},
		{"/a**b", "/axx/b", true},
		{"/private/**", "/private/x", true},
		{"/private/**", "/private/", true},
		{"/private/**", "/private", false},
		{"/*/*/c", "/a/b/c", true},
		{"/*/*/c", "/a/c", false},
		{"/**/x*y/**/z", "/1/2/xay/3/4/z/5", true},
		{"/**/x*y/**/z", "/1/2/xa/y/3/4/z", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (match(rows[i].pattern, rows[i].path) != rows[i].is_match)
			fail_msg("%s on %s", rows[i].pattern, rows[i].path);
}

/* The definition, tried in every way. */
static bool match_slowly(const char *pattern, const char *begin, const char *path)
{
	if (!*pattern)
		return !*path || *path == '/' || (path > begin && path[-1] == '/');
	if (pattern[0] == '*' && pattern[1] == '*') {
		for (const char *p = path;; p++) {
			if (match_slowly(pattern + 2 + strspn(pattern + 2, "*"), begin, p))
				return true;
			if (!*p)
				return false;
		}
	}
	if (pattern[0] == '*') {
		for (const char *p = path;; p++) {
			if (match_slowly(pattern + 1, begin, p))
				return true;
			if (!*p || *p == '/')
				return false;
		}
	}
	return *pattern == *path && match_slowly(pattern + 1, begin, path + 1);
}

static void greedy_matching_finds_what_trying_finds(void **state)
{
	static const char letters[] = "ab/*", plain[] = "ab/";
	char pattern[10], path[12];

	(void)state;
	srandom(7);
	for (int i = 0; i < 300000; i++) {
		size_t n = 1 + (size_t)random() % 8, m = 1 + (size_t)random() % 10;

		pattern[0] = path[0] = '/';
		for (size_t k = 1; k < n; k++)
			pattern[k] = letters[random() % 4];
		for (size_t k = 1; k < m; k++)
			path[k] = plain[random() % 3];
		pattern[n] = path[m] = 0;
		if (match(pattern, path) != match_slowly(pattern, path, path))
			fail_msg("%s on %s", pattern, path);
	}
}

static void methods_are_compared_whole(void **state)
{
	(void)state;
	assert_true(match_method("GET,HEAD", 8, "GET", 3));
	assert_true(match_method("GET,HEAD", 8, "HEAD", 4));
	assert_false(match_method("GET,HEAD", 8, "HEA", 3));
	assert_false(match_method("GET,HEAD", 8, "GET,HEAD", 8));
	assert_false(match_method("GET,HEAD", 8, "get", 3));
	assert_false(match_method("GET", 3, "", 0));
}

static void tools_match_whole_names(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool is_match;
	} rows[] = {
		{"search", "search", true},
		{"search", "Search", false},
		{"search", "search2", false},
		{"search", "", false},
		{"read_*", "read_", true},
		{"read_*", "read_file", true},
		{"read_*", "xread_file", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"*_file", "read_file", true},
		{"*_file", "a_file_b", false},
		{"*_file", "a_file_b_file", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXbYcZ", false},
		{"a**c", "abc", true},
		{"**", "x", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (match_tool(rows[i].pattern, strlen(rows[i].pattern), rows[i].name,
			    strlen(rows[i].name)) != rows[i].is_match)
			fail_msg("%s on %s", rows[i].pattern, rows[i].name);
}

static void case_is_ignored_only_where_asked(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool is_match;
	} rows[] = {
		{"/org/paper", "/Org/PAPER/x", true}, {"/org/paper", "/org/paperx", false},
		{"/a\x01/b", "/AxY/B", true}, {"/%2f", "/%2F", true},
		{"/[", "/{", false}, /* only letters have a case */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(match_path_caseless(rows[i].pattern, strlen(rows[i].pattern),
					 rows[i].path, strlen(rows[i].path)),
			rows[i].is_match);
	assert_false(match("/org/paper", "/Org/PAPER"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_cover_segments),
		cmocka_unit_test(case_is_ignored_only_where_asked),
		cmocka_unit_test(greedy_matching_finds_what_trying_finds),
		cmocka_unit_test(methods_are_compared_whole),
		cmocka_unit_test(tools_match_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
