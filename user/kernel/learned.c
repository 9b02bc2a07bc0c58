/* SPDX-License-Identifier: GPL-2.0-only */
/* An array without order; see learned.h. */
#include "learned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"

static struct learned_row *find(struct learned *l, const struct host *name, const struct addr *addr)
{
	for (size_t i = 0; i < l->n; i++) {
		struct learned_row *row = &l->rows[i];

		if (addr_equal(&row->addr, addr) && row->len == name->len &&
			memcmp(row->name, name->name, name->len) == 0)
			return row;
	}
	return NULL;
}

static struct learned_row *find_oldest(struct learned *l)
{
	struct learned_row *oldest = &l->rows[0];

	for (size_t i = 1; i < l->n; i++)
		if (l->rows[i].expiry_ns < oldest->expiry_ns)
			oldest = &l->rows[i];
	return oldest;
}

static struct learned_row *new_row(struct learned *l)
{
	if (l->n == NEJ_MAX_LEARNED)
		return find_oldest(l);
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		void *more = reallocarray(l->rows, cap, sizeof(*l->rows));

		if (!more)
			return NULL;
		l->rows = more;
		l->cap = cap;
	}
	return &l->rows[l->n++];
}

int learned_add(
	struct learned *l, const struct host *name, const struct addr *addr, uint64_t expiry_ns)
{
	struct learned_row *row = find(l, name, addr);

	if (row) {
		row->expiry_ns = expiry_ns;
		return 0;
	}
	row = new_row(l);
	if (!row)
		return -ENOMEM;
	*row = (struct learned_row){.addr = *addr, .expiry_ns = expiry_ns, .len = name->len};
	memcpy(row->name, name->name, name->len);
	return 0;
}

void learned_filter(
	struct learned *l, bool (*keep)(void *arg, const struct learned_row *row), void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++)
		if (keep(arg, &l->rows[i]))
			l->rows[kept++] = l->rows[i];
	l->n = kept;
}

void learned_done(struct learned *l)
{
	free(l->rows);
	*l = (struct learned){0};
}
