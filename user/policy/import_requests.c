/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests as other tools allow and deny them, where denials win and a path without `**` at its end
 * means itself alone. Ours means what is below it too, and the first match wins: so open ends come
 * first, then longer paths before shorter ones, each behind a denial of what is below it. Hosts
 * with entries of their own come before patterns, and are closed at their end.
 */
#include "import_formats.h"

#include <stdlib.h>
#include <string.h>

struct request {
	struct import_request r;
	struct yaml_node entry; /* what r.entry points to dies earlier */
	bool is_deny, is_open, has_inner;
	bool is_closing; /* allows nothing */
	unsigned int n_segments;
	size_t order; /* as added */
};

/* `/` escaped where a glob means what ours do not; NULL when it cannot be said. */
static const char *translate(struct import *im, const char *path, bool is_deny)
{
	struct buf b;
	const char *text = NULL;
	bool is_lost = false;

	buf_init(&b);
	for (const char *s = path; *s && !is_lost; s++) {
		size_t stars = strspn(s, "*");

		if (stars) { /* `**` is more than `*` only as a whole segment */
			bool is_whole =
				stars == 2 && s > path && s[-1] == '/' && (!s[2] || s[2] == '/');

			buf_add_str(&b, is_whole || (is_deny && stars > 1) ? "**" : "*");
			s += stars - 1;
		} else if (*s == '?' || *s == '[' || *s == '{') {
			is_lost = !is_deny;
			buf_add_str(&b, "**");
			break;
		} else if (*s == '#' || (unsigned char)*s <= ' ' || *s == 0x7f) {
			buf_printf(&b, "%%%02X", (unsigned char)*s);
		} else {
			buf_add_char(&b, *s);
		}
	}
	if (!is_lost && b.data)
		text = arena_copy(&im->arena, b.data, b.len);
	buf_done(&b);
	return text;
}

static void measure(struct request *q)
{
	const char *path = q->r.path;
	size_t len = path ? strlen(path) : 0;
	const char *stars = path ? strstr(path, "**") : NULL;

	q->is_open = !len || !strcmp(path, "**") || (len >= 3 && !strcmp(path + len - 3, "/**"));
	q->has_inner = stars && stars + 2 < path + len;
	for (size_t i = 0; i < len; i++)
		q->n_segments += path[i] == '/';
}

void import_add_request(
	struct import *im, struct buf *list, bool is_deny, const struct import_request *request)
{
	struct request q = {
		.r = *request, .entry = *request->entry, .is_deny = is_deny, .order = list->len};
	const char *path = request->path;

	if (path && (!strcmp(path, "**") || !strcmp(path, "/**") || !*path))
		path = q.r.path = NULL;
	if (path && path[0] != '/') {
		import_fail(im, request->entry, "a path begins with /", "`%.64s` is no path", path);
		return;
	}
	if (path && !path[1]) { /* our `/` is every path */
		import_note(im, request->entry->line, true,
			is_deny ? "the path `/` alone cannot be denied: `%s` is denied"
				: "the path `/` alone cannot be allowed at `%s`",
			request->host);
		if (!is_deny)
			return;
		path = q.r.path = NULL;
	}
	if (path) {
		q.r.path = translate(im, path, is_deny);
		if (!q.r.path) {
			import_note(im, request->entry->line, true,
				"the path `%s` cannot be said here, and stays closed", path);
			return;
		}
	}
	measure(&q);
	buf_add(list, &q, sizeof(q));
}

void import_close_host(struct buf *list, const struct import_request *request)
{
	struct request q = {
		.r = *request, .entry = *request->entry, .is_closing = true, .order = list->len};

	buf_add(list, &q, sizeof(q));
}

/* Names before stars, long stars before short ones, equal hosts together. */
static int compare_hosts(const char *x, const char *y)
{
	size_t x_len = strlen(x), y_len = strlen(y);
	bool x_star = x[0] == '*', y_star = y[0] == '*';

	if (x_star != y_star)
		return x_star ? 1 : -1;
	if (x_star && x_len != y_len)
		return x_len > y_len ? -1 : 1;
	return strcmp(x, y);
}

/* Denials, then open ends, then by length; paths with `**` inside last. */
static int compare(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	int hosts;

	if (x->is_deny != y->is_deny)
		return x->is_deny ? -1 : 1;
	hosts = x->r.is_own && y->r.is_own ? compare_hosts(x->r.host, y->r.host) : 0;
	if (!x->is_deny && hosts)
		return hosts;
	if (x->is_closing != y->is_closing)
		return x->is_closing ? 1 : -1;
	if (!x->is_deny && x->is_open != y->is_open)
		return x->is_open ? -1 : 1;
	if (!x->is_deny && !x->is_open && x->has_inner != y->has_inner)
		return x->has_inner ? 1 : -1;
	if (!x->is_deny && !x->is_open && x->n_segments != y->n_segments)
		return x->n_segments > y->n_segments ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void put(struct import *im, const struct request *q, bool is_deny, const char *below)
{
	struct import_rule *rule = import_rule(im, is_deny, q->r.key, &q->entry);
	const char *path = q->r.path ? q->r.path : "";

	import_target(im, rule, &q->entry,
		import_printf(im, "%s%s%s%s%s", q->r.methods ? q->r.methods : "",
			q->r.methods ? " " : "", q->r.host, path, below));
}

/* `*.a.example:443` of `b.a.example:443`, or of `*.b.a.example:443`. */
static bool covers(const char *star, const char *host)
{
	size_t suffix = strlen(star) - 1, len = strlen(host);

	return star[0] == '*' && len > suffix && !strcmp(host + len - suffix, star + 1);
}

/* Would a pattern further down open what this host's own entries leave closed? */
static void close_host(
	struct import *im, const struct request *all, size_t n, size_t begin, size_t end)
{
	struct request rest = {.r = all[end - 1].r, .entry = all[end - 1].entry};
	bool is_covered = false;

	for (size_t i = begin; i < end; i++)
		if (all[i].is_open && !all[i].is_closing && !all[i].r.methods && !all[i].r.path)
			return;
	for (size_t i = end; i < n; i++)
		is_covered = is_covered || covers(all[i].r.host, rest.r.host);
	rest.r.path = rest.r.methods = NULL;
	if (is_covered)
		put(im, &rest, true, "");
}

void import_put_requests(struct import *im, struct buf *list)
{
	size_t n = list->len / sizeof(struct request), begin = 0;
	struct request *all = (struct request *)(void *)list->data;

	if (list->is_failed) {
		im->rules.is_failed = true;
		return;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++) {
		bool is_last = i + 1 == n || strcmp(all[i].r.host, all[i + 1].r.host) != 0;

		if (!all[i].is_deny && !all[i].is_open && !all[i].is_closing)
			put(im, &all[i], true, "/**");
		if (!all[i].is_closing)
			put(im, &all[i], all[i].is_deny, "");
		if (!all[i].is_deny && is_last && all[i].r.is_own)
			close_host(im, all, n, begin, i + 1);
		if (all[i].is_deny || is_last)
			begin = i + 1;
	}
}
