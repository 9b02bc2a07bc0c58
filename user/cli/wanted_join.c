/* SPDX-License-Identifier: GPL-2.0-only */
/* Joins what belongs together, so that few lines say it; see wanted.h. Never widens a name to a
 * suffix that strangers share. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../policy/psl.h"
#include "wanted.h"

#define MAX_PATHS 4 /* of one host; with more the host is wanted */
#define MIN_NAMES 3 /* of one site before it is suggested whole */

/* The longest suffix under which strangers can register, and the name right below it. NULL: host is
 * such a suffix itself. */
static const char *site_of(const char *host, const char **ret_suffix, enum psl_kind *ret_kind)
{
	const char *below = NULL, *last = strrchr(host, '.');

	for (const char *at = host;; at = strchr(at, '.') + 1) {
		enum psl_kind kind = psl_kind_of(at);

		/* The last label is a registry's, whether the list knows it or not. */
		if (kind == PSL_NONE && (!last || at == last + 1))
			kind = PSL_PUBLIC;
		if (kind != PSL_NONE) {
			*ret_suffix = at;
			*ret_kind = kind;
			return below;
		}
		below = at;
	}
}

static void mark_shared(struct wanted *w)
{
	enum psl_kind kind;
	const char *suffix;

	if (w->kind > WANTED_SITE)
		return;
	site_of(w->host, &suffix, &kind);
	if (kind == PSL_SHARED)
		snprintf(w->shared, sizeof(w->shared), "%s", suffix);
}

static int order_by_host(const void *a, const void *b)
{
	const struct wanted *x = *(struct wanted *const *)a, *y = *(struct wanted *const *)b;
	int d = strcmp(x->host, y->host);

	d = d ? d : (int)x->kind - (int)y->kind;
	d = d ? d : (int)x->is_by_name - (int)y->is_by_name;
	d = d ? d : strcmp(x->scheme, y->scheme);
	d = d ? d : (int)x->port - (int)y->port;
	d = d ? d : strcmp(x->path, y->path);
	return d ? d : strcmp(x->methods, y->methods);
}

static int order_by_count(const void *a, const void *b)
{
	const struct wanted *x = *(struct wanted *const *)a, *y = *(struct wanted *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return order_by_host(a, b);
}

static void drop_into(struct wanted *from, struct wanted *to)
{
	to->count += from->count;
	from->is_dropped = true;
}

/* Items [begin, end) have one host. Its paths become the host, where the host is wanted anyway or
 * they are many. */
static void join_paths(struct wanted **items, size_t n)
{
	struct wanted *host = NULL, *first = NULL;
	size_t n_paths = 0;

	for (size_t i = 0; i < n; i++) {
		if (items[i]->kind == WANTED_HOST && !items[i]->port && !host)
			host = items[i];
		if (items[i]->kind == WANTED_URL) {
			n_paths += !items[i]->port;
			first = first ? first : items[i]->port ? NULL : items[i];
		}
	}
	if (!host && n_paths > MAX_PATHS) {
		host = first;
		host->kind = WANTED_HOST;
		host->scheme = "";
		host->methods[0] = host->path[0] = 0;
	}
	for (size_t i = 0; host && i < n; i++)
		if (items[i]->kind == WANTED_URL && !items[i]->port)
			drop_into(items[i], host);
}

/* One path, several methods. */
static void join_methods(struct wanted **items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct wanted *a = items[i];

		for (size_t k = i + 1; k < n && a->kind == WANTED_URL && !a->is_dropped; k++) {
			struct wanted *b = items[k];
			size_t len = strlen(a->methods);

			if (b->kind != WANTED_URL || b->is_dropped || a->port != b->port ||
				strcmp(a->scheme, b->scheme) != 0 ||
				strcmp(a->path, b->path) != 0 ||
				len + strlen(b->methods) + 2 > sizeof(a->methods))
				continue;
			snprintf(a->methods + len, sizeof(a->methods) - len, ",%s", b->methods);
			drop_into(b, a);
		}
	}
}

/* A name that was only asked of the resolver goes to what was tried with it, if anything was. */
static void join_lookups(struct wanted **items, size_t n)
{
	struct wanted *best = NULL, *lookup = NULL;

	for (size_t i = 0; i < n; i++) {
		if (items[i]->is_dropped)
			continue;
		if (items[i]->is_by_name)
			lookup = items[i];
		else if (items[i]->kind <= WANTED_URL && (!best || items[i]->count > best->count))
			best = items[i];
	}
	if (lookup && best)
		drop_into(lookup, best);
}

/* Compacts the list; dropped ones are freed. */
static void sweep(struct wanted_list *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->items[i]->is_dropped)
			free(l->items[i]);
		else
			l->items[kept++] = l->items[i];
	}
	l->n = kept;
}

/* A candidate for joining by site. */
struct member {
	const char *site; /* in item->host */
	struct wanted *item;
};

static int order_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int d = strcmp(x->site, y->site);

	d = d ? d : strcmp(x->item->scheme, y->item->scheme);
	d = d ? d : (int)x->item->port - (int)y->item->port;
	return d ? d : strcmp(x->item->host, y->item->host);
}

static bool is_same_group(const struct member *a, const struct member *b)
{
	return strcmp(a->site, b->site) == 0 && strcmp(a->item->scheme, b->item->scheme) == 0 &&
		a->item->port == b->item->port;
}

static void join_group(struct member *m, size_t n)
{
	struct wanted *first = m[0].item;
	char site[HOST_MAX_BYTES + 1];

	if (n < MIN_NAMES)
		return;
	snprintf(site, sizeof(site), "%s", m[0].site);
	for (size_t i = 1; i < n; i++)
		drop_into(m[i].item, first);
	first->kind = WANTED_SITE;
	first->n_hosts = (unsigned int)n;
	snprintf(first->host, sizeof(first->host), "%s", site);
}

static int join_sites(struct wanted_list *l)
{
	struct member *members = calloc(l->n + 1, sizeof(*members));
	size_t n = 0;

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		struct wanted *w = l->items[i];
		enum psl_kind kind;
		const char *suffix, *site = site_of(w->host, &suffix, &kind);

		if (w->kind == WANTED_HOST && site)
			members[n++] = (struct member){site, w};
	}
	qsort(members, n, sizeof(*members), order_members);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && is_same_group(&members[i], &members[end]); end++)
			;
		join_group(members + i, end - i);
	}
	free(members);
	return 0;
}

int wanted_settle(struct wanted_list *l)
{
	int r;

	if (!l->n)
		return 0;
	qsort(l->items, l->n, sizeof(*l->items), order_by_host);
	for (size_t i = 0, end; i < l->n; i = end) {
		struct wanted **items = l->items + i;

		for (end = i + 1; end < l->n && strcmp(l->items[end]->host, items[0]->host) == 0;
			end++)
			;
		if (!items[0]->host[0])
			continue;
		join_paths(items, end - i);
		join_methods(items, end - i);
		join_lookups(items, end - i);
	}
	sweep(l);
	r = join_sites(l);
	if (r < 0)
		return r;
	sweep(l);
	for (size_t i = 0; i < l->n; i++)
		mark_shared(l->items[i]);
	qsort(l->items, l->n, sizeof(*l->items), order_by_count);
	return 0;
}
