/* SPDX-License-Identifier: GPL-2.0-only */
/* Methods and path patterns; see match.h. */
#include "match.h"

#include <string.h>

#include "../wire/url.h"

bool match_method(const char *list, size_t list_len, const char *method, size_t method_len)
{
	const char *end = list + list_len;

	for (;;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t len = (size_t)((comma ? comma : end) - list);

		if (len == method_len && !memcmp(list, method, len))
			return true;
		if (!comma)
			return false;
		list = comma + 1;
	}
}

/* The pattern is used up: what is left of the path must begin a new segment. */
static bool is_boundary(const char *path, size_t len, size_t at)
{
	return at == len || path[at] == '/' || (at && path[at - 1] == '/');
}

struct retry { /* where a star may take one more byte */
	size_t pattern, path;
	bool is_set;
};

static inline char fold(char c, bool is_caseless)
{
	return is_caseless && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/*
 * Greedy with two places to go back to: the last star of a segment and the last of segments. A
 * star that was followed by another of its kind never has to be tried again: the shortest match of
 * what stands between leaves most to the rest.
 */
static inline bool match_with(const char *pattern, size_t pattern_len, const char *path,
	size_t path_len, bool is_caseless)
{
	struct retry star = {0}, stars = {0};
	size_t i = 0, at = 0;

	for (;;) {
		if (i == pattern_len && is_boundary(path, path_len, at))
			return true;
		if (i < pattern_len && pattern[i] == URL_STAR) {
			size_t n = i;

			while (n < pattern_len && pattern[n] == URL_STAR)
				n++;
			if (n - i > 1) {
				stars = (struct retry){n, at, true};
				star.is_set = false;
			} else {
				star = (struct retry){n, at, true};
			}
			i = n;
			continue;
		}
		if (i < pattern_len && at < path_len && pattern[i] == fold(path[at], is_caseless)) {
			i++;
			at++;
			continue;
		}
		if (star.is_set && star.path < path_len && path[star.path] != '/') {
			i = star.pattern;
			at = ++star.path;
		} else if (stars.is_set && stars.path < path_len) {
			i = stars.pattern;
			at = ++stars.path;
			star.is_set = false;
		} else {
			return false;
		}
	}
}

bool match_path(const char *pattern, size_t pattern_len, const char *path, size_t path_len)
{
	return match_with(pattern, pattern_len, path, path_len, false);
}

bool match_path_caseless(const char *pattern, size_t pattern_len, const char *path, size_t path_len)
{
	return match_with(pattern, pattern_len, path, path_len, true);
}

bool match_tool(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
	struct retry star = {0};
	size_t i = 0, at = 0;

	while (at < name_len) {
		if (i < pattern_len && pattern[i] == '*') {
			star = (struct retry){++i, at, true};
		} else if (i < pattern_len && pattern[i] == name[at]) {
			i++;
			at++;
		} else if (star.is_set) {
			i = star.pattern;
			at = ++star.path;
		} else {
			return false;
		}
	}
	while (i < pattern_len && pattern[i] == '*')
		i++;
	return i == pattern_len;
}
