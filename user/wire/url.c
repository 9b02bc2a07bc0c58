/* SPDX-License-Identifier: GPL-2.0-only */
/* Splits URLs and reads paths in both ways; see url.h. */
#include "url.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static size_t span_until(const char *s, size_t len, const char *stops)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] && strchr(stops, s[i]))
			return i;
	return len;
}

int url_split(const char *s, size_t len_bytes, struct url *ret)
{
	const char *sep = memmem(s, len_bytes, "://", 3);
	struct url u = {.scheme = s};
	const char *rest, *hash;
	size_t left;

	if (!sep || sep == s)
		return -EINVAL;
	u.scheme_len = (size_t)(sep - s);
	u.authority = sep + 3;
	left = len_bytes - u.scheme_len - 3;
	u.authority_len = span_until(u.authority, left, "/?#\\");
	rest = u.authority + u.authority_len;
	left -= u.authority_len;
	hash = memchr(rest, '#', left);
	if (hash)
		left = (size_t)(hash - rest);
	u.path = left && *rest != '?' ? rest : "/";
	u.path_len = left && *rest != '?' ? left : 1;
	*ret = u;
	return 0;
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of an escape at s, or -1. */
static int escape_at(const char *s, size_t len)
{
	int high, low;

	if (len < 3 || s[0] != '%')
		return -1;
	high = hex_of(s[1]);
	low = hex_of(s[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool is_control(int byte)
{
	return byte < 0x20 || byte == 0x7f;
}

/* One round of decoding in place. True when something changed; encoded controls show in ret_bad. */
static bool decode_round(char *s, size_t *len, bool *ret_bad)
{
	size_t n = 0, i = 0;

	while (i < *len) {
		int byte = escape_at(s + i, *len - i);

		if (byte >= 0 && is_control(byte))
			*ret_bad = true;
		s[n++] = byte >= 0 ? (char)byte : s[i];
		i += byte >= 0 ? 3 : 1;
	}
	if (n == *len)
		return false;
	*len = n;
	return true;
}

/* UTF-8 that is longer than need be: some decoders make a slash or dot of it (RFC 3629 section 3). */
static bool has_overlong(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)s[i], next = i + 1 < len ? (uint8_t)s[i + 1] : 0;

		if (c == 0xc0 || c == 0xc1)
			return true;
		if ((c == 0xe0 && next >= 0x80 && next < 0xa0) ||
			(c == 0xf0 && next >= 0x80 && next < 0x90))
			return true;
	}
	return false;
}

static int decode_all(char *s, size_t *len)
{
	bool is_bad = false;

	for (int round = 0; decode_round(s, len, &is_bad); round++)
		if (round == URL_MAX_ROUNDS)
			return -EBADMSG;
	return is_bad || has_overlong(s, *len) ? -EILSEQ : 0;
}

static void strip_parameters(char *s, size_t *len)
{
	bool is_parameter = false;
	size_t n = 0;

	for (size_t i = 0; i < *len; i++) {
		if (s[i] == '/')
			is_parameter = false;
		else if (s[i] == ';')
			is_parameter = true;
		if (!is_parameter)
			s[n++] = s[i];
	}
	*len = n;
}

static bool is_unreserved(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '-' || c == '.' || c == '_' || c == '~';
}

/* Escapes in their one form. A byte over 0x7f is the same as its escape. */
static int decode_unreserved(const char *s, size_t len, char *out, size_t *ret_len)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int byte = escape_at(s + i, len - i);
		bool is_escape = byte >= 0;

		if (n + 3 > URL_MAX_PATH_BYTES)
			return -EBADMSG;
		if (!is_escape)
			byte = (unsigned char)s[i];
		if (is_escape ? is_unreserved(byte) : byte < 0x80) {
			out[n++] = (char)byte;
		} else {
			out[n++] = '%';
			out[n++] = digits[byte >> 4];
			out[n++] = digits[byte & 15];
		}
		i += is_escape ? 2 : 0;
	}
	*ret_len = n;
	return 0;
}

/* Drops the last segment with its slash. False: that segment is empty, so whether slashes are
 * folded before or after decides what goes, and origins differ. */
static bool pop_segment(const char *s, size_t *n)
{
	if (!*n)
		return true;
	if (s[*n - 1] == '/')
		return false;
	while (s[*n - 1] != '/')
		--*n;
	--*n;
	return true;
}

static bool has_dots(const char *s, size_t len, size_t dots)
{
	return len == dots && !memcmp(s, "..", dots);
}

/* RFC 3986 section 5.2.4 in place. s begins with a slash. */
static int resolve_dots(char *s, size_t *len)
{
	size_t n = 0, i = 0;

	while (i < *len) {
		size_t begin = i + 1, end;
		const char *slash = memchr(s + begin, '/', *len - begin);
		bool is_dot, is_up;

		end = slash ? (size_t)(slash - s) : *len;
		is_dot = has_dots(s + begin, end - begin, 1);
		is_up = has_dots(s + begin, end - begin, 2);
		if (is_up && !pop_segment(s, &n))
			return -EILSEQ;
		if (!is_dot && !is_up) {
			memmove(s + n, s + i, end - i);
			n += end - i;
		} else if (end == *len) {
			s[n++] = '/';
		}
		i = end;
	}
	*len = n;
	return 0;
}

static void fold_slashes(char *s, size_t *len)
{
	size_t n = 0;

	for (size_t i = 0; i < *len; i++)
		if (s[i] != '/' || !n || s[n - 1] != '/')
			s[n++] = s[i];
	*len = n;
}

static int read_full(char *out, size_t *len)
{
	int r = decode_all(out, len);

	if (r < 0)
		return r;
	for (size_t i = 0; i < *len; i++)
		if (out[i] == '\\')
			out[i] = '/';
	strip_parameters(out, len);
	return 0;
}

/* Bytes that make a path unreadable in any reading, and escapes that are none. */
static int check_raw(const char *s, size_t len)
{
	bool is_broken = false;

	if (!len || len > URL_MAX_PATH_BYTES || (s[0] != '/' && s[0] != '\\'))
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) {
		if (is_control((unsigned char)s[i]) || s[i] == ' ' || s[i] == '#')
			return -EBADMSG;
		if (s[i] == '%' && escape_at(s + i, len - i) < 0)
			is_broken = true;
	}
	return is_broken ? -EILSEQ : 0;
}

static int read_marked(
	const char *s, size_t len, enum url_reading reading, char *out, size_t *ret_len)
{
	size_t n = len;
	int r;

	if (reading == URL_FULL) {
		if (out != s)
			memcpy(out, s, len);
		r = read_full(out, &n);
	} else {
		r = decode_unreserved(s, len, out, &n);
	}
	if (r < 0)
		return r;
	if (out[0] != '/')
		return -EILSEQ;
	r = resolve_dots(out, &n);
	if (r < 0)
		return r;
	fold_slashes(out, &n);
	*ret_len = n;
	return 0;
}

int url_read_path(
	const char *s, size_t len_bytes, enum url_reading reading, char *out, size_t *ret_len)
{
	const char *hash = memchr(s, '#', len_bytes);
	const char *query = memchr(s, '?', len_bytes);
	size_t len = query ? (size_t)(query - s) : len_bytes, n;
	int broken, r;

	if (hash)
		return -EBADMSG;
	broken = check_raw(s, len);
	if (broken == -EBADMSG)
		return broken;
	r = read_marked(s, len, reading, out, &n);
	if (r < 0 || broken < 0)
		return r == -EBADMSG ? r : -EILSEQ;
	*ret_len = n;
	return 0;
}

int url_read_pattern(
	const char *s, size_t len_bytes, enum url_reading reading, char *out, size_t *ret_len)
{
	char marked[URL_MAX_PATH_BYTES];
	int r = check_raw(s, len_bytes);

	if (r < 0 || memchr(s, '?', len_bytes))
		return r < 0 ? r : -EBADMSG;
	for (size_t i = 0; i < len_bytes; i++)
		marked[i] = s[i] == '*' ? URL_STAR : s[i];
	return read_marked(marked, len_bytes, reading, out, ret_len);
}
