/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of refusals of the running second; see fold.h. All windows are equally long, so entries
 * fall due in the order of a queue. */
#include "fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/htab.h"

#define SITE_BYTES 128

struct fold {
	struct htab_node node;
	struct fold *next;
	uint64_t due_ms;
	uint64_t pending;         /* attempts not written yet */
	bool is_gathered;         /* by site or network: never written alone */
	struct audit_event event; /* the newest; its texts are in `texts` */
	struct buf key, texts;
};

struct folds {
	struct htab table;
	struct fold *first, *last;
	struct buf key;
	uint64_t second_ms; /* start of the second that n_distinct and n_sites count */
	unsigned int n_distinct, n_sites;
	size_t n_pending; /* entries with something to write */
};

int folds_new(struct folds **ret)
{
	struct folds *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	htab_init(&f->table);
	*ret = f;
	return 0;
}

static void free_fold(struct fold *fold)
{
	buf_done(&fold->key);
	buf_done(&fold->texts);
	free(fold);
}

void folds_free(struct folds *f)
{
	if (!f)
		return;
	while (f->first) {
		struct fold *next = f->first->next;

		free_fold(f->first);
		f->first = next;
	}
	htab_done(&f->table);
	buf_done(&f->key);
	free(f);
}

static void add_text(struct buf *b, struct audit_text t, size_t max_bytes)
{
	char cut[AUDIT_MAX_URL + AUDIT_CUT_BYTES];
	size_t len = audit_text_cut(t, max_bytes, cut);

	buf_add(b, &len, sizeof(len));
	buf_add(b, cut, len);
}

/* Everything that makes two refusals the same. */
static void make_key(struct buf *b, const struct audit_event *e)
{
	const uint8_t words[] = {e->kind, e->layer, e->reason, e->app, e->proto, e->has_addr,
		(uint8_t)(e->port >> 8), (uint8_t)e->port};

	buf_clear(b);
	buf_add(b, words, sizeof(words));
	buf_add(b, &e->generation, sizeof(e->generation));
	if (e->has_addr)
		buf_add(b, e->addr.b, sizeof(e->addr.b));
	add_text(b, e->host, AUDIT_MAX_HOST);
	add_text(b, e->method, AUDIT_MAX_METHOD);
	add_text(b, e->url, AUDIT_MAX_URL);
	/* who tried is all that is known of a stranger */
	if ((!e->host.ptr && !e->has_addr) || e->reason == NEJ_REASON_CREDENTIALS)
		add_text(b, e->detail, AUDIT_MAX_DETAIL);
}

static struct fold *find(const struct folds *f, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&f->table, hash); n; n = htab_next(n)) {
		struct fold *fold = CONTAINER_OF(n, struct fold, node);

		if (fold->key.len == f->key.len &&
			memcmp(fold->key.data, f->key.data, f->key.len) == 0)
			return fold;
	}
	return NULL;
}

static void keep_text(struct fold *fold, struct audit_text *t, size_t max_bytes)
{
	char cut[AUDIT_MAX_URL + AUDIT_CUT_BYTES];

	if (!t->ptr)
		return;
	t->len = (uint32_t)audit_text_cut(*t, max_bytes, cut);
	buf_add(&fold->texts, cut, t->len);
}

/* The texts' pointers, once the buffer moves no more. */
static void point_texts(struct fold *fold)
{
	struct audit_event *e = &fold->event;
	struct audit_text *const texts[] = {&e->host, &e->method, &e->url, &e->detail};
	const char *p = fold->texts.data;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i]->ptr)
			continue;
		texts[i]->ptr = p ? p : "";
		p = p ? p + texts[i]->len : p;
	}
}

static struct fold *add(
	struct folds *f, const struct audit_event *e, uint64_t hash, uint64_t now_ms)
{
	struct fold *fold = calloc(1, sizeof(*fold));

	if (!fold)
		return NULL;
	fold->event = *e;
	fold->due_ms = now_ms + FOLD_WINDOW_MS;
	buf_add(&fold->key, f->key.data, f->key.len);
	keep_text(fold, &fold->event.host, AUDIT_MAX_HOST);
	keep_text(fold, &fold->event.method, AUDIT_MAX_METHOD);
	keep_text(fold, &fold->event.url, AUDIT_MAX_URL);
	keep_text(fold, &fold->event.detail, AUDIT_MAX_DETAIL);
	point_texts(fold);
	if (fold->key.is_failed || fold->texts.is_failed ||
		htab_add(&f->table, &fold->node, hash) < 0) {
		free_fold(fold);
		return NULL;
	}
	if (f->last)
		f->last->next = fold;
	else
		f->first = fold;
	f->last = fold;
	return fold;
}

static void gather(struct folds *f, struct fold *fold, const struct audit_event *e)
{
	struct audit_event *to = &fold->event;

	f->n_pending += !fold->pending;
	fold->pending += e->count;
	to->time_us = e->time_us;
	to->pid = e->pid;
	to->uid = e->uid;
	to->cgroup_id = e->cgroup_id;
	to->status = e->status;
	to->rule = e->rule;
	to->generation = e->generation;
	memcpy(to->comm, e->comm, sizeof(to->comm));
	if (fold->pending == e->count) {
		to->bytes_out = to->bytes_in = to->duration_us = 0;
	}
	to->bytes_out += e->bytes_out;
	to->bytes_in += e->bytes_in;
	to->duration_us += e->duration_us;
}

/* The last two labels of a name as `.example.com`; 0 if it has no two. */
static size_t site_of(struct audit_text host, char out[SITE_BYTES])
{
	size_t at = host.len, dots = 0, len;

	while (at > 0 && dots < 2) {
		at--;
		dots += host.ptr[at] == '.' && at + 1 < host.len;
	}
	if (dots < 2) {
		if (!dots || host.len + 1 >= SITE_BYTES)
			return 0;
		out[0] = '.';
		memcpy(out + 1, host.ptr, host.len);
		return host.len + 1;
	}
	len = host.len - at;
	if (len >= SITE_BYTES)
		return 0;
	memcpy(out, host.ptr + at, len);
	return len;
}

/* What many different refusals become: their site, or their /24 or /48, or only layer and reason. */
static void widen(const struct folds *f, const struct audit_event *e, struct audit_event *ret,
	char site[SITE_BYTES])
{
	static const char told[] = "many destinations in one second, folded by site or network";
	struct addr addr;
	size_t len;

	*ret = *e;
	ret->port = 0;
	ret->app = AUDIT_APP_NONE;
	ret->method = ret->url = ret->host = (struct audit_text){NULL, 0};
	ret->detail = (struct audit_text){told, sizeof(told) - 1};
	ret->has_addr = 0;
	if (f->n_sites >= FOLD_MAX_SITES)
		return;
	if (e->host.ptr && addr_parse(e->host.ptr, e->host.len, &addr) < 0) {
		len = site_of(e->host, site);
		if (len)
			ret->host = (struct audit_text){site, (uint32_t)len};
		return;
	}
	if (!e->host.ptr && !e->has_addr)
		return;
	ret->addr = e->host.ptr ? addr : e->addr;
	ret->has_addr = 1;
	memset(ret->addr.b + (addr_is_v4(&ret->addr) ? 15 : 6), 0, addr_is_v4(&ret->addr) ? 1 : 10);
}

static bool take_wide(struct folds *f, const struct audit_event *e, uint64_t now_ms)
{
	char site[SITE_BYTES];
	struct audit_event wide;
	struct fold *fold;
	uint64_t hash;

	widen(f, e, &wide, site);
	make_key(&f->key, &wide);
	buf_add_char(&f->key, 'w'); /* never the same as one written alone */
	hash = hash_bytes(f->key.data, f->key.len);
	fold = find(f, hash);
	if (!fold) {
		fold = add(f, &wide, hash, now_ms);
		if (!fold)
			return false;
		fold->is_gathered = true;
		f->n_sites++;
	}
	gather(f, fold, &wide);
	return true;
}

bool folds_take(struct folds *f, const struct audit_event *e, uint64_t now_ms)
{
	struct fold *fold;
	uint64_t hash;

	if (e->kind != AUDIT_NETWORK_BLOCKED && e->kind != AUDIT_DNS_BLOCKED)
		return false;
	if (now_ms - f->second_ms >= FOLD_WINDOW_MS) {
		f->second_ms = now_ms;
		f->n_distinct = f->n_sites = 0;
	}
	make_key(&f->key, e);
	if (f->key.is_failed)
		return false;
	hash = hash_bytes(f->key.data, f->key.len);
	fold = find(f, hash);
	if (fold && now_ms < fold->due_ms) {
		gather(f, fold, e);
		return true;
	}
	if (fold && fold->pending) { /* overdue: folds_close was late */
		gather(f, fold, e);
		return true;
	}
	if (f->n_distinct >= FOLD_MAX_DISTINCT)
		return take_wide(f, e, now_ms);
	f->n_distinct++;
	if (!fold)
		add(f, e, hash, now_ms); /* without memory: not folded */
	return false;
}

static void pop(struct folds *f)
{
	struct fold *fold = f->first;

	f->first = fold->next;
	if (!f->first)
		f->last = NULL;
	fold->next = NULL;
}

void folds_close(struct folds *f, uint64_t now_ms,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg)
{
	while (f->first && f->first->due_ms <= now_ms) {
		struct fold *fold = f->first;
		bool had_repeats = fold->pending > 0;

		pop(f);
		if (had_repeats) {
			fold->event.count = fold->pending;
			on_event(&fold->event, arg);
			fold->pending = 0;
			f->n_pending--;
		}
		/* Who goes on goes on being gathered. */
		if (had_repeats && !fold->is_gathered && now_ms != UINT64_MAX) {
			fold->due_ms = now_ms + FOLD_WINDOW_MS;
			if (f->last)
				f->last->next = fold;
			else
				f->first = fold;
			f->last = fold;
			continue;
		}
		htab_del(&f->table, &fold->node);
		free_fold(fold);
	}
}

int folds_next_ms(const struct folds *f, uint64_t now_ms)
{
	uint64_t due;

	if (!f->first || !f->n_pending)
		return -1;
	due = f->first->due_ms;
	return due > now_ms ? (int)(due - now_ms) : 0;
}
