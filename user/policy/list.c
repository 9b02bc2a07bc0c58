/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads lists of hosts, a million lines at a time; see list.h. */
#include "list.h"

#include <errno.h>
#include <string.h>

#include "../wire/host.h"
#include "idn.h"
#include "key.h"

struct lister {
	struct arena *arena;
	struct draft_list *list;
	struct err_list *errs;
	struct buf *names;
	size_t max;
	unsigned int line;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void fail(struct lister *l, const char *token, size_t len, const char *what)
{
	err_add(l->errs, l->list->line, l->list->column,
		"one host a line, or an address and its names", "%.120s:%u: `%.*s` %s",
		l->list->path, l->line, len > 60 ? 60 : (int)len, token, what);
}

static void add_record(struct lister *l, const char *key, size_t len)
{
	struct buf *b = l->names;

	if (buf_reserve(b, len + 1) < 0) /* it remembers, see list_read */
		return;
	b->data[b->len++] = (char)len;
	for (size_t i = 0; i < len; i++) /* shorter than a call, most of the time */
		b->data[b->len + i] = key[i];
	b->len += len;
	l->list->n_names++;
}

static void add_host(struct lister *l, const struct host *h)
{
	char key[KEY_PREFIX_BYTES];

	if (h->kind == HOST_ADDR) {
		key_of_prefix(&h->addr, 128, key);
		add_record(l, key, sizeof(key));
		return;
	}
	if (!l->list->top && !memchr(h->name, '.', h->len)) {
		l->list->top = arena_copy(l->arena, h->name, h->len);
		l->list->top_line = l->line;
	}
	add_record(l, h->name, h->len);
}

/* Names in the writer's script; false when it is none either. */
static bool parse_idn(const char *token, size_t len, struct host *ret)
{
	char ascii[IDN_MAX_BYTES];
	bool is_wide = false;

	for (size_t i = 0; i < len; i++)
		is_wide |= (unsigned char)token[i] >= 0x80;
	return is_wide && !idn_to_ascii(token, len, ascii) &&
		!host_parse(ascii, strlen(ascii), ret);
}

static void add_token(struct lister *l, const char *token, size_t len, bool is_hosts_line)
{
	struct host h;

	if (len > 1 && *token == '.') {
		token++;
		len--;
	}
	if (host_parse(token, len, &h) < 0 && !parse_idn(token, len, &h)) {
		fail(l, token, len, "is not a host name");
		return;
	}
	/* Every hosts file names the machine itself, and that is never a destination. */
	if (is_hosts_line && (h.is_local || (h.kind == HOST_ADDR && !h.is_embedded)))
		return;
	add_host(l, &h);
}

static bool is_address(const char *token, size_t len)
{
	const char *zone = memchr(token, '%', len);
	struct addr a;

	return !addr_parse(token, zone ? (size_t)(zone - token) : len, &a);
}

/* A line without comment and blanks around it. */
static void add_line(struct lister *l, const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && !is_blank(s[n]))
		n++;
	if (n == len) {
		add_token(l, s, len, false);
		return;
	}
	if (!is_address(s, n)) {
		fail(l, s, len, "is more than a host name");
		return;
	}
	while (n < len) {
		size_t begin;

		while (is_blank(s[n]))
			n++;
		begin = n;
		while (n < len && !is_blank(s[n]))
			n++;
		add_token(l, s + begin, n - begin, true);
	}
}

static void read_line(struct lister *l, const char *s, size_t len)
{
	const char *comment = memchr(s, '#', len);

	if (comment)
		len = (size_t)(comment - s);
	while (len && (is_blank(s[len - 1]) || s[len - 1] == '\r'))
		len--;
	while (len && is_blank(*s)) {
		s++;
		len--;
	}
	if (len)
		add_line(l, s, len);
}

int list_read(struct arena *a, struct draft_list *list, size_t max, struct err_list *errs,
	struct buf *names)
{
	struct lister l = {.arena = a, .list = list, .errs = errs, .names = names, .max = max};
	const char *s = list->data, *end = s + list->len;
	size_t errors = errs->n_errors;

	if (buf_reserve(names, list->len + 1) < 0)
		return -ENOMEM;
	if (list->len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3))
		s += 3;
	while (s < end) {
		const char *eol = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((eol ? eol : end) - s);

		l.line++;
		read_line(&l, s, len);
		s += len + 1;
		if (list->n_names > max) {
			err_add(errs, list->line, list->column, "split it over several sandboxes",
				"the lists name more than %d hosts", NEJ_MAX_LIST_HOSTS);
			break;
		}
	}
	if (names->is_failed || a->is_failed)
		return -ENOMEM;
	return errs->n_errors > errors ? -EINVAL : 0;
}
