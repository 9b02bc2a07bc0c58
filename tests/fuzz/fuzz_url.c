/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `PATTERN LF PATH`: both are read in both ways, the readings are canonical, and a path is covered
 * by itself taken as a pattern.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../../user/policy/match.h"
#include "../../user/wire/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[URL_MAX_PATH_BYTES], pattern[URL_MAX_PATH_BYTES], again[URL_MAX_PATH_BYTES];

static void check_form(const char *s, size_t len)
{
	assert(len && s[0] == '/');
	for (size_t i = 0; i + 1 < len; i++) {
		assert(s[i] != '/' || s[i + 1] != '/');
		/* no dot segment is left */
		if (s[i] == '/' && s[i + 1] == '.')
			assert(i + 2 < len && s[i + 2] != '/');
		if (s[i] == '/' && i + 2 < len && s[i + 1] == '.' && s[i + 2] == '.')
			assert(i + 3 < len && s[i + 3] != '/');
	}
}

static void check_path(const char *s, size_t len, enum url_reading reading, size_t *ret_len)
{
	int r = url_read_path(s, len, reading, path, ret_len);
	size_t again_len;

	assert(r == 0 || r == -EBADMSG || r == -EILSEQ);
	if (r < 0) {
		*ret_len = 0;
		return;
	}
	check_form(path, *ret_len);
	assert(match_path(path, *ret_len, path, *ret_len));
	if (reading != URL_PLAIN)
		return;
	assert(!url_read_path(path, *ret_len, reading, again, &again_len));
	assert(again_len == *ret_len && !memcmp(path, again, again_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *line = memchr(text, '\n', size);
	size_t n = line ? (size_t)(line - text) : 0, skip = line ? n + 1 : 0;
	struct url u;

	if (!url_split(text + skip, size - skip, &u)) {
		assert(u.scheme_len && u.path_len);
		assert(!memchr(u.authority, '/', u.authority_len));
		assert(!memchr(u.path, '#', u.path_len));
	}
	for (int reading = URL_FULL; reading <= URL_PLAIN; reading++) {
		size_t path_len, pattern_len;

		check_path(text + skip, size - skip, (enum url_reading)reading, &path_len);
		if (url_read_pattern(text, n, (enum url_reading)reading, pattern, &pattern_len) < 0)
			continue;
		check_form(pattern, pattern_len);
		if (path_len && n < 256)
			match_path(pattern, pattern_len, path, path_len);
	}
	return 0;
}
