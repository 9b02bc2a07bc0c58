/* SPDX-License-Identifier: GPL-2.0-only */
/* The grammar of targets; see pattern.h. Each error says what to write instead. */
#include "pattern.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/num.h"
#include "../wire/host.h"
#include "../wire/url.h"
#include "idn.h"

struct scan {
	struct arena *arena;
	const char *begin, *at, *end;
	struct pattern *p;
	struct pattern_error *why;
};

__attribute__((format(printf, 4, 5))) static int fail(
	struct scan *s, const char *at, const char *mend, const char *what, ...)
{
	va_list args;

	s->why->at = (size_t)(at - s->begin);
	va_start(args, what);
	vsnprintf(s->why->what, sizeof(s->why->what), what, args);
	va_end(args);
	snprintf(s->why->mend, sizeof(s->why->mend), "%s", mend ? mend : "");
	return -EINVAL;
}

static int shown(const char *from, const char *end)
{
	return end - from > 80 ? 80 : (int)(end - from);
}

static size_t left(const struct scan *s)
{
	return (size_t)(s->end - s->at);
}

/* --- methods */

static bool is_method(const char *s, size_t len)
{
	if (!len || len > 32)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!(s[i] >= 'A' && s[i] <= 'Z') && !(i && (s[i] == '-' || s[i] == '_')))
			return false;
	return true;
}

static int scan_methods(struct scan *s)
{
	const char *space = memchr(s->at, ' ', left(s));

	if (!space)
		return 0;
	for (const char *word = s->at; word < space;) {
		const char *comma = memchr(word, ',', (size_t)(space - word));
		const char *end = comma ? comma : space;

		if (!is_method(word, (size_t)(end - word)))
			return fail(s, word,
				"methods stand in capitals: GET,HEAD https://host/path",
				"`%.*s` is not an HTTP method", shown(word, end), word);
		if (comma && comma + 1 == space)
			return fail(s, comma, "take the last comma away", "a method is missing");
		word = end + 1;
	}
	s->p->methods_len = (size_t)(space - s->at);
	if (!s->p->methods_len)
		return fail(s, s->at, "take the space away", "a target begins with a space");
	s->p->methods = arena_copy(s->arena, s->at, s->p->methods_len);
	s->at = space;
	while (left(s) && *s->at == ' ')
		s->at++;
	return s->p->methods ? 0 : -ENOMEM;
}

/* --- scheme */

static const struct scheme_row {
	const char *text;
	enum pattern_scheme scheme;
} scheme_rows[] = {
	{"https", PATTERN_HTTPS},
	{"http", PATTERN_HTTP},
	{"tcp", PATTERN_TCP},
	{"udp", PATTERN_UDP},
};

static int scan_scheme(struct scan *s)
{
	const char *sep = memmem(s->at, left(s), "://", 3);

	if (!sep)
		return 0;
	for (size_t i = 0; i < sizeof(scheme_rows) / sizeof(scheme_rows[0]); i++) {
		const struct scheme_row *row = &scheme_rows[i];

		if (strlen(row->text) == (size_t)(sep - s->at) &&
			!memcmp(row->text, s->at, (size_t)(sep - s->at))) {
			s->p->scheme = row->scheme;
			s->at = sep + 3;
			return 0;
		}
	}
	return fail(s, s->at, "schemes are https, http, tcp and udp", "unknown scheme `%.*s`",
		shown(s->at, sep), s->at);
}

/* --- host */

static const char star_mend[] =
	"a `*` stands alone (every name) or as `*.` before a name (every name under it)";

/* The end of the host: the first colon or slash outside brackets. */
static const char *host_end(const struct scan *s)
{
	const char *from = s->at, *p;

	if (left(s) && *from == '[') {
		from = memchr(from, ']', left(s));
		if (!from)
			return s->end;
	}
	for (p = from; p < s->end && *p != ':' && *p != '/'; p++)
		;
	return p;
}

/* `/BITS` behind an address; a slash with anything else begins a path. */
static int scan_bits(struct scan *s, const struct host *h)
{
	const char *addr = h->name, *end = s->at + 1;
	size_t addr_len = h->len;
	char text[2 * ADDR_TEXT_BYTES];
	int n;

	s->p->kind = PATTERN_RANGE;
	s->p->prefix = (struct prefix){.addr = h->addr, .bits = 128};
	if (!left(s) || *s->at != '/')
		return 0;
	while (end < s->end && *end >= '0' && *end <= '9')
		end++;
	if (end == s->at + 1 || (end < s->end && *end != ':' && *end != '/'))
		return 0;
	if (s->at[-1] == ']') { /* as written: bits of a mapped address count from its start */
		addr = memrchr(s->begin, '[', (size_t)(s->at - s->begin)) + 1;
		addr_len = (size_t)(s->at - 1 - addr);
	}
	n = snprintf(text, sizeof(text), "%.*s%.*s", (int)addr_len, addr,
		end - s->at > 5 ? 5 : (int)(end - s->at), s->at);
	if (h->is_embedded || n >= (int)sizeof(text) ||
		prefix_parse(text, (size_t)n, &s->p->prefix) < 0)
		return fail(s, s->at, "bits behind the prefix must be zero: 10.0.0.0/8",
			"`%s` is not an address range", text);
	s->at = end;
	return 0;
}

static int convert_idn(struct scan *s, const char **from, const char **end)
{
	char ascii[IDN_MAX_BYTES];
	int r = -ENOENT;

	for (const char *p = *from; p < *end && r == -ENOENT; p++)
		if ((unsigned char)*p >= 0x80)
			r = idn_to_ascii(*from, (size_t)(*end - *from), ascii);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r == -ENOMEM
			? r
			: fail(s, *from, "write its A-label form (xn--...)",
				  "`%.*s` is not a host name", shown(*from, *end), *from);
	*from = arena_copy(s->arena, ascii, strlen(ascii));
	if (!*from)
		return -ENOMEM;
	*end = *from + strlen(ascii);
	return 0;
}

static int take_name(struct scan *s, const struct host *h, enum pattern_kind kind)
{
	s->p->kind = (uint8_t)kind;
	s->p->name = arena_copy(s->arena, h->name, h->len);
	s->p->name_len = h->len;
	return s->p->name ? 0 : -ENOMEM;
}

static int fail_host(struct scan *s, const char *from, const char *end)
{
	if (from == end)
		return fail(
			s, s->at, "write a host, such as api.example.com", "the host is missing");
	if (memchr(from, '*', (size_t)(end - from)))
		return fail(s, s->at, star_mend, "a `*` inside the name `%.*s`", shown(from, end),
			from);
	if (memchr(from, '@', (size_t)(end - from)))
		return fail(s, s->at, "credentials belong under `secrets`",
			"user-info before the host");
	return fail(s, s->at, "letters, digits, `-` and `_` between single dots",
		"`%.*s` is not a host name", shown(from, end), from);
}

static int scan_host(struct scan *s)
{
	const char *from = s->at, *end = host_end(s);
	enum pattern_kind kind = PATTERN_NAME;
	struct host h;
	int r;

	if (end - from == 1 && *from == '*') {
		s->p->kind = PATTERN_ANY;
		s->at = end;
		return 0;
	}
	if (end - from > 2 && from[0] == '*' && from[1] == '.') {
		kind = PATTERN_UNDER;
		from += 2;
	} else if (end - from > 1 && *from == '.') {
		kind = PATTERN_TREE;
		from += 1;
	}
	r = convert_idn(s, &from, &end);
	if (r < 0)
		return r;
	if (host_parse(from, (size_t)(end - from), &h) < 0 ||
		(kind != PATTERN_NAME && h.kind == HOST_ADDR && !h.is_embedded))
		return fail_host(s, from, end);
	if (h.kind == HOST_ADDR && h.is_embedded && kind != PATTERN_NAME)
		return fail(s, s->at, "write the address itself",
			"names under `%s` are addresses, not names", h.name);
	s->at = host_end(s);
	return h.kind == HOST_ADDR ? scan_bits(s, &h) : take_name(s, &h, kind);
}

/* --- port */

static const char port_mend[] = "a port is 1 to 65535, a range 8000-8099, or `*`";

static int scan_port(struct scan *s)
{
	const char *from = s->at + 1, *end, *dash;

	if (!left(s) || *s->at != ':')
		return 0;
	for (end = from; end < s->end && *end != '/'; end++)
		;
	s->p->has_port = true;
	s->p->first = 1;
	s->p->last = 65535;
	s->at = end;
	if (end - from == 1 && *from == '*')
		return 0;
	dash = memchr(from, '-', (size_t)(end - from));
	if (num_parse_port(from, (size_t)((dash ? dash : end) - from), &s->p->first) < 0)
		return fail(s, from, port_mend, "`%.*s` is not a port", shown(from, end), from);
	s->p->last = s->p->first;
	if (dash && num_parse_port(dash + 1, (size_t)(end - dash - 1), &s->p->last) < 0)
		return fail(s, from, port_mend, "`%.*s` is not a range of ports", shown(from, end),
			from);
	if (s->p->last < s->p->first)
		return fail(s, from, "write the smaller port first", "the range `%.*s` is empty",
			shown(from, end), from);
	return 0;
}

/* --- path */

static bool has_dot_segment(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t end = i + 1;

		if (s[i] != '/')
			continue;
		while (end < len && s[end] != '/')
			end++;
		if ((end - i == 2 && s[i + 1] == '.') ||
			(end - i == 3 && s[i + 1] == '.' && s[i + 2] == '.'))
			return true;
	}
	return false;
}

static int read_path(struct scan *s, enum url_reading reading, struct pattern_path *ret)
{
	char out[URL_MAX_PATH_BYTES];
	size_t len;

	if (url_read_pattern(s->at, left(s), reading, out, &len) < 0)
		return fail(s, s->at, "write the path decoded, or with %XX escapes",
			"`%.*s` is not a path", shown(s->at, s->end), s->at);
	ret->text = arena_copy(s->arena, out, len);
	ret->len = len;
	return ret->text ? 0 : -ENOMEM;
}

/* `/` and `/`+`**` match every path: such a target asks for no URL. */
static bool is_every_path(const struct pattern_path *p)
{
	return p->len == 1 || (p->len == 3 && p->text[1] == URL_STAR && p->text[2] == URL_STAR);
}

static int scan_path(struct scan *s)
{
	const char *query;
	int r;

	if (!left(s))
		return 0;
	if (s->p->scheme == PATTERN_TCP || s->p->scheme == PATTERN_UDP)
		return fail(s, s->at, "a path needs https or http; take it away",
			"a path on a %s target", s->p->scheme == PATTERN_TCP ? "tcp" : "udp");
	query = memchr(s->at, '?', left(s));
	if (!query)
		query = memchr(s->at, '#', left(s));
	if (query)
		return fail(s, query, "end the path before it",
			"a path is compared without query and fragment");
	if (has_dot_segment(s->at, left(s)))
		return fail(s, s->at, "write the path it resolves to",
			"`.` or `..` as a segment of a path");
	r = read_path(s, URL_FULL, &s->p->full);
	if (r < 0)
		return r;
	r = read_path(s, URL_PLAIN, &s->p->plain);
	if (r < 0)
		return r;
	s->p->has_path = !is_every_path(&s->p->full) || !is_every_path(&s->p->plain);
	s->at = s->end;
	return 0;
}

/* --- the whole */

static int check_scheme(struct scan *s)
{
	bool is_raw = s->p->scheme == PATTERN_TCP || s->p->scheme == PATTERN_UDP;

	if (is_raw && !s->p->has_port)
		return fail(s, s->begin, "write it behind the host: tcp://git.example.com:22",
			"a %s target needs a port", s->p->scheme == PATTERN_TCP ? "tcp" : "udp");
	if (is_raw && s->p->methods)
		return fail(s, s->begin, "a method needs https or http", "a method on a %s target",
			s->p->scheme == PATTERN_TCP ? "tcp" : "udp");
	return 0;
}

int pattern_parse(struct arena *a, const char *text, size_t len_bytes, struct pattern *ret,
	struct pattern_error *why)
{
	static int (*const steps[])(struct scan *) = {
		scan_methods, scan_scheme, scan_host, scan_port, scan_path, check_scheme};
	struct scan s = {.arena = a,
		.begin = text,
		.at = text,
		.end = text + len_bytes,
		.p = ret,
		.why = why};

	if (!len_bytes)
		return fail(&s, text, "write a host, such as api.example.com", "an empty target");
	if (len_bytes > URL_MAX_PATH_BYTES / 2)
		return fail(&s, text, NULL, "a target of %zu bytes is too long", len_bytes);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](&s);

		if (r < 0)
			return r;
	}
	return 0;
}

int pattern_parse_host(struct arena *a, const char *text, size_t len_bytes, struct pattern *ret,
	struct pattern_error *why)
{
	struct scan s = {.arena = a,
		.begin = text,
		.at = text,
		.end = text + len_bytes,
		.p = ret,
		.why = why};
	int r;

	if (!len_bytes)
		return fail(&s, text, "write a host, such as api.example.com", "an empty host");
	r = scan_host(&s);
	if (r < 0)
		return r;
	if (left(&s))
		return fail(&s, s.at, "write the host alone", "`%.*s` behind the host",
			shown(s.at, s.end), s.at);
	if (ret->kind == PATTERN_ANY || ret->kind == PATTERN_RANGE)
		return fail(&s, text, "name the hosts that may get it", "`%.*s` is not a host name",
			shown(text, s.end), text);
	return 0;
}
