/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A URL in its parts, and a path in the two readings by which policies compare. Origins disagree
 * on what a path means; each reading is one way an origin may take it.
 */
#ifndef NEJ_WIRE_URL_H
#define NEJ_WIRE_URL_H

#include <stdbool.h>
#include <stddef.h>

#define URL_MAX_PATH_BYTES 65536
#define URL_MAX_ROUNDS 8

/* A `*` of a pattern in its readings; no path holds this byte. */
#define URL_STAR '\x01'

struct url {
	const char *scheme, *authority, *path;      /* point into the text; path may point to "/" */
	size_t scheme_len, authority_len, path_len; /* path with the query, without a fragment */
};

/* `SCHEME://AUTHORITY[/PATH][?QUERY][#FRAGMENT]`. The authority is as it stands (user-info makes
 * it a malformed host later) and ends at a backslash too, as browsers read it. 0 or -EINVAL. */
int url_split(const char *s, size_t len_bytes, struct url *ret);

enum url_reading {
	/* Percent-decoding until nothing changes, backslash to slash, `;parameters` off, dot
	 * segments resolved, slashes folded. */
	URL_FULL,
	/* RFC 3986 section 6.2.2: unreserved characters decoded, escapes in upper case, dot
	 * segments resolved, slashes folded. */
	URL_PLAIN,
};

/* Reads a request target's path (a query is cut off). out holds URL_MAX_PATH_BYTES. 0;
 * -EBADMSG: it can never be told what it means (a fragment, control bytes, no leading slash, too
 * many rounds of encoding, too long); -EILSEQ: origins differ on it (a broken escape, encoded
 * control bytes, overlong UTF-8, `..` behind an empty segment). */
int url_read_path(
	const char *s, size_t len_bytes, enum url_reading reading, char *out, size_t *ret_len);

/* The same of a pattern: each `*` becomes URL_STAR. A query is -EBADMSG. */
int url_read_pattern(
	const char *s, size_t len_bytes, enum url_reading reading, char *out, size_t *ret_len);

#endif
