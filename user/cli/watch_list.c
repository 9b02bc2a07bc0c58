/* SPDX-License-Identifier: GPL-2.0-only */
/* Folds, sorts and selects; see watch_list.h. */
#include "watch_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"

#define MAX_TEXT 512

void watch_list_init(struct watch_list *l)
{
	*l = (struct watch_list){.order = WATCH_BY_FIRST};
	htab_init(&l->index);
}

static void free_row(struct watch_row *row)
{
	if (!row)
		return;
	free(row->key);
	free(row->target);
	free(row->request);
	free(row->reason);
	free(row->process);
	free(row);
}

DEFINE_CLEANUP(struct watch_row, free_row);

void watch_list_done(struct watch_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free_row(l->rows[i]);
	free(l->rows);
	htab_done(&l->index);
}

void watch_list_clear(struct watch_list *l)
{
	enum watch_order order = l->order;

	watch_list_done(l);
	watch_list_init(l);
	l->order = order;
}

static uint64_t hash(const char *key)
{
	return hash_bytes(key, strlen(key));
}

static struct watch_row *find(const struct watch_list *l, const char *key)
{
	for (struct htab_node *n = htab_find(&l->index, hash(key)); n; n = htab_next(n)) {
		struct watch_row *row = CONTAINER_OF(n, struct watch_row, node);

		if (strcmp(row->key, key) == 0)
			return row;
	}
	return NULL;
}

/* --- taking rows away */

/* The one that moves up into its place, or the last, is selected then. */
static void select_other(struct watch_list *l, const struct watch_row *gone)
{
	struct watch_row *view[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];
	size_t n = watch_list_view(l, view, ARRAY_SIZE(view)), i = 0;

	if (l->selected != gone)
		return;
	while (i < n && view[i] != gone)
		i++;
	l->selected = i + 1 < n ? view[i + 1] : i > 0 && i < n ? view[i - 1] : NULL;
}

static void remove_row(struct watch_list *l, struct watch_row *row)
{
	size_t i = 0;

	select_other(l, row);
	while (l->rows[i] != row)
		i++;
	memmove(l->rows + i, l->rows + i + 1, (--l->n - i) * sizeof(*l->rows));
	htab_del(&l->index, &row->node);
	l->n_ignored -= row->is_ignored;
	free_row(row);
}

void watch_list_forget(struct watch_list *l, struct watch_row *row)
{
	remove_row(l, row);
}

/* What is ignored would come back: it stays, if it is not too much. */
static void make_room(struct watch_list *l)
{
	bool may_take_ignored = l->n_ignored > WATCH_MAX_ROWS / 2;
	struct watch_row *oldest = NULL;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct watch_row *row = l->rows[i];

		if (row->grant)
			continue;
		n++;
		if (row == l->selected || (row->is_ignored && !may_take_ignored))
			continue;
		if (!oldest || row->last < oldest->last)
			oldest = row;
	}
	if (n < WATCH_MAX_ROWS || !oldest)
		return;
	l->n_dropped++;
	remove_row(l, oldest);
}

/* --- adding */

/* Owned by the list when 0 is returned. */
static int append(struct watch_list *l, struct watch_row *row)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct watch_row **rows = reallocarray(l->rows, cap, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		l->rows = rows;
		l->cap = cap;
	}
	if (htab_add(&l->index, &row->node, hash(row->key)) < 0)
		return -ENOMEM;
	l->rows[l->n++] = row;
	return 0;
}

__attribute__((format(printf, 1, 2))) static char *text_of(const char *fmt, ...)
{
	char text[MAX_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return strdup(text);
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* Where a URL's query begins, or its end: what was asked for, not with what. */
static int path_len(const char *url)
{
	return url ? (int)strcspn(url, "?#") : 0;
}

static char *key_of(const struct audit_record *r)
{
	const char *to = r->host ? r->host : r->addr ? r->addr : or_empty(r->detail);

	return text_of("%.32s|%.253s|%u|%.32s|%.*s|%.32s|%u", or_empty(r->event), to, r->port,
		or_empty(r->method), path_len(r->url), or_empty(r->url), or_empty(r->reason),
		r->rule_line);
}

static char *destination_of(const struct audit_record *r)
{
	const char *host = r->host ? r->host : r->addr;
	bool is_dns = r->event && strcmp(r->event, "dns_blocked") == 0;
	bool is_v6 = host && strchr(host, ':');

	if (!host)
		return text_of("%.80s", r->detail ? r->detail : "-");
	if (is_dns)
		return text_of("%.253s (name)", host);
	return r->port ? text_of(is_v6 ? "[%.253s]:%u" : "%.253s:%u", host, r->port)
		       : text_of("%.253s", host);
}

/* Without scheme and host, which stand before it. */
static char *request_of(const struct audit_record *r)
{
	const char *url = r->url, *path = url ? strstr(url, "://") : NULL;

	if (!url && !r->method)
		return NULL;
	path = path ? strchr(path + 3, '/') : url;
	return text_of("%.32s %.*s", or_empty(r->method), path_len(path), or_empty(path));
}

static char *reason_of(const struct audit_record *r)
{
	if (!r->rule_text)
		return text_of("%.32s", r->reason ? r->reason : "?");
	return r->rule_line ? text_of("line %u: %.200s", r->rule_line, r->rule_text)
			    : text_of("%.200s", r->rule_text);
}

static struct watch_row *make_row(const struct audit_record *r, const char *key)
{
	_cleanup_(free_row_ptr)
	struct watch_row *row = calloc(1, sizeof(*row));

	if (!row)
		return NULL;
	row->key = strdup(key);
	row->target = destination_of(r);
	row->request = request_of(r);
	row->reason = reason_of(r);
	if (!row->key || !row->target || !row->reason || target_of(r, &row->wanted) < 0)
		return NULL;
	return TAKE_PTR(row);
}

/* `2026-11-30T22:36:57.123456Z` */
static void take_time(struct watch_row *row, const char *time)
{
	if (time && strlen(time) >= 19)
		snprintf(row->time, sizeof(row->time), "%.8s", time + 11);
}

int watch_list_add(struct watch_list *l, const struct audit_record *r)
{
	_cleanup_free_ char *key = r->is_denied ? key_of(r) : NULL;
	struct watch_row *row;
	char *process;

	if (!r->is_denied)
		return 0;
	if (!key)
		return -ENOMEM;
	row = find(l, key);
	if (!row) {
		make_room(l);
		row = make_row(r, key);
		if (!row)
			return -ENOMEM;
		if (append(l, row) < 0) {
			free_row(row);
			return -ENOMEM;
		}
		row->first = ++l->n_attempts;
	}
	l->n_denied += r->count;
	row->count += r->count;
	row->last = l->n_denied;
	take_time(row, r->time);
	process = r->comm || r->pid
		? text_of("%.16s[%llu]", r->comm ? r->comm : "?", (unsigned long long)r->pid)
		: NULL;
	if (process) {
		free(row->process);
		row->process = process;
	}
	return 1;
}

/* --- grants */

static uint64_t number_at(const json_t *j, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(j, key));

	return n > 0 ? (uint64_t)n : 0;
}

static int set_grant(struct watch_list *l, const json_t *grant, uint64_t now_ms)
{
	const char *target = json_string_value(json_object_get(grant, "target"));
	const char *note = json_string_value(json_object_get(grant, "note"));
	uint32_t id = (uint32_t)number_at(grant, "id");
	struct watch_row *row;
	char key[32];

	if (!id || !target)
		return 0;
	snprintf(key, sizeof(key), "grant %u", id);
	row = find(l, key);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->key = strdup(key);
		row->target = strdup(target);
		row->reason = note ? strdup(note) : NULL;
		if (!row->key || !row->target || append(l, row) < 0) {
			free_row(row);
			return -ENOMEM;
		}
	}
	row->grant = id;
	row->uid = (uint32_t)number_at(grant, "uid");
	row->expiry_ms = now_ms + number_at(grant, "remaining_s") * 1000;
	row->is_stale = false;
	return 0;
}

int watch_list_set_grants(struct watch_list *l, const json_t *grants, uint64_t now_ms)
{
	int r = 0;

	for (size_t i = 0; i < l->n; i++)
		l->rows[i]->is_stale = l->rows[i]->grant != 0;
	for (size_t i = 0; i < json_array_size(grants) && r >= 0; i++)
		r = set_grant(l, json_array_get(grants, i), now_ms);
	for (size_t i = l->n; i-- > 0;)
		if (l->rows[i]->is_stale)
			remove_row(l, l->rows[i]);
	return r;
}

/* --- what is seen */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct watch_row *a = *(const struct watch_row *const *)x;
	const struct watch_row *b = *(const struct watch_row *const *)y;
	enum watch_order order = *(const enum watch_order *)arg;
	int r = 0;

	if (!a->grant != !b->grant)
		return a->grant ? -1 : 1;
	if (a->grant)
		return compare(a->grant, b->grant);
	if (order == WATCH_BY_COUNT)
		r = compare(a->count, b->count);
	else if (order == WATCH_BY_LAST)
		r = compare(a->last, b->last);
	return r ? r : compare(a->first, b->first);
}

size_t watch_list_view(struct watch_list *l, struct watch_row **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n && n < max; i++)
		if (!l->rows[i]->is_ignored)
			ret[n++] = l->rows[i];
	qsort_r(ret, n, sizeof(*ret), compare_rows, &l->order);
	return n;
}

struct watch_row *watch_list_selected(struct watch_list *l, size_t *ret_place)
{
	struct watch_row *view[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];
	size_t n = watch_list_view(l, view, ARRAY_SIZE(view)), i = 0;

	while (i < n && view[i] != l->selected)
		i++;
	if (i == n) /* nothing was, or it is not to be seen: the first that was denied */
		for (i = 0; i + 1 < n && view[i]->grant;)
			i++;
	if (!n)
		return NULL;
	*ret_place = i;
	return view[i];
}

void watch_list_move(struct watch_list *l, long by)
{
	struct watch_row *view[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];
	size_t n = watch_list_view(l, view, ARRAY_SIZE(view)), place;

	if (!watch_list_selected(l, &place))
		return;
	if (by < 0)
		place = place > (size_t)-by ? place - (size_t)-by : 0;
	else
		place = place + (size_t)by < n ? place + (size_t)by : n - 1;
	l->selected = view[place];
}

void watch_list_ignore(struct watch_list *l, struct watch_row *row)
{
	select_other(l, row);
	l->n_ignored += !row->is_ignored;
	row->is_ignored = true;
}

void watch_list_show_all(struct watch_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->rows[i]->is_ignored = false;
	l->n_ignored = 0;
}
