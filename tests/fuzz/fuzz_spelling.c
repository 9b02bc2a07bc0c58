/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `PATTERN LF PATH LF HOW`: however a path is spelled, a pattern that denies it still does, and one
 * that does not allow it still does not. The full reading of a path is its own full reading.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../../user/base/buf.h"
#include "../../user/policy/match.h"
#include "../../user/policy/policy.h"
#include "../../user/wire/url.h"

#define MAX_BYTES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char pattern[URL_MAX_PATH_BYTES], path[URL_MAX_PATH_BYTES], again[URL_MAX_PATH_BYTES];

/* One policy that denies the pattern, whatever its case if asked, and one that allows it. */
static struct policy *policy_of(const char *text, size_t len, bool is_deny, bool is_caseless)
{
	struct policy *p = NULL;
	struct err_list errs;
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "default: %s\nrules:\n  - %s: \"https://a.example",
		is_deny ? "allow" : "deny", is_deny ? "deny" : "allow");
	for (size_t i = 0; i < len; i++)
		buf_printf(&b, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
	buf_printf(&b, "\"\n%s", is_caseless ? "    ignore_case: true\n" : "");
	err_init(&errs, "policy");
	if (policy_load_text(b.data, b.len, NULL, &errs, &p) < 0)
		p = NULL;
	buf_done(&b);
	return p;
}

static bool is_allowed(const struct policy *p, const char *s, size_t len)
{
	struct policy_decision d;
	struct host host;
	struct policy_ask ask = {.scheme = POLICY_SCHEME_HTTPS,
		.host = &host,
		.port = 443,
		.has_url = true,
		.method = "GET",
		.method_len = 3,
		.path = s,
		.path_len = len};

	assert(!host_parse("a.example", 9, &host));
	policy_decide(p, &ask, &d);
	return d.verdict != POLICY_DENY;
}

static void respell_slash(struct buf *b, int how)
{
	static const char *const ways[] = {
		"/", "%2f", "%252F", "//", "/./", "/q/%2e./", ";p=1/", "\\"};

	buf_add_str(b, ways[how]);
}

/* Another spelling of s, up to its query, as the bytes of how say. */
static void respell(
	const char *s, size_t len, const uint8_t *how, size_t n, bool is_caseless, struct buf *ret)
{
	for (size_t i = 0; i < len && s[i] != '?'; i++) {
		uint8_t way = n ? how[i % n] : 0;
		char c = s[i];

		if (c == '/') {
			respell_slash(ret, i ? way & 7 : way % 5 == 4 ? 4 : 0);
			continue;
		}
		if (is_caseless && way & 8 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			c ^= 0x20;
		if ((way & 7) == 1)
			buf_printf(ret, "%%%02x", (uint8_t)c);
		else if ((way & 7) == 2)
			buf_printf(ret, "%%25%02X", (uint8_t)c);
		else
			buf_add_char(ret, c);
	}
	if (n && how[0] & 16)
		buf_add_str(ret, "?x=1");
	buf_add(ret, "", 0);
}

static bool is_printable(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return len > 0 && s[0] == '/';
}

/* What was read in full and has nothing left that means something is read as it is. */
static void check_idempotence(size_t len)
{
	size_t again_len;

	for (size_t i = 0; i < len; i++)
		if (strchr("?#% ", path[i]))
			return;
	if (!is_printable(path, len))
		return;
	assert(!url_read_path(path, len, URL_FULL, again, &again_len));
	assert(again_len == len && !memcmp(again, path, len));
}

static void check_spelling(const char *p, size_t p_len, const char *s, size_t len,
	const uint8_t *how, size_t n, bool is_caseless)
{
	struct policy *denies = policy_of(p, p_len, true, is_caseless);
	struct policy *allows = policy_of(p, p_len, false, false);
	size_t path_len, pattern_len, again_len;
	struct buf other;
	bool is_covered;

	buf_init(&other);
	respell(s, len, how, n, is_caseless, &other);
	if (denies && allows && !url_read_path(s, len, URL_FULL, path, &path_len) &&
		!url_read_pattern(p, p_len, URL_FULL, pattern, &pattern_len)) {
		is_covered = match_path(pattern, pattern_len, path, path_len);
		check_idempotence(path_len);
		assert(!is_covered || !is_allowed(denies, s, len));
		assert(!is_covered || !is_allowed(denies, other.data, other.len));
		if (!is_caseless) {
			assert(is_covered || !is_allowed(allows, s, len));
			assert(is_covered || !is_allowed(allows, other.data, other.len));
			if (!url_read_path(other.data, other.len, URL_FULL, again, &again_len))
				assert(again_len == path_len && !memcmp(again, path, path_len));
		}
	}
	policy_free(denies);
	policy_free(allows);
	buf_done(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;
	const char *line = memchr(text, '\n', size), *next;

	if (!line || line - text > MAX_BYTES)
		return 0;
	next = memchr(line + 1, '\n', (size_t)(end - line - 1));
	if (!next || next - line > MAX_BYTES || !is_printable(text, (size_t)(line - text)) ||
		!is_printable(line + 1, (size_t)(next - line - 1)))
		return 0;
	for (int is_caseless = 0; is_caseless < 2; is_caseless++)
		check_spelling(text, (size_t)(line - text), line + 1, (size_t)(next - line - 1),
			(const uint8_t *)next + 1, (size_t)(end - next - 1), is_caseless);
	return 0;
}
