/* SPDX-License-Identifier: GPL-2.0-only */
/* Remembers the names of synthetic addresses; see names.h. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/htab.h"

#define MAX_NAME_BYTES 255

struct entry {
	struct htab_node node;
	struct addr addr;
	uint8_t len;
	char name[MAX_NAME_BYTES];
};

struct names {
	struct htab table;
};

struct names *names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n)
		htab_init(&n->table);
	return n;
}

void names_free(struct names *names)
{
	struct htab_node *node, *tmp;

	if (!names)
		return;
	htab_for_each (&names->table, node, tmp) {
		free(CONTAINER_OF(node, struct entry, node));
	}
	htab_done(&names->table);
	free(names);
}

static struct entry *find(const struct names *names, const struct addr *addr)
{
	struct htab_node *node = htab_find(&names->table, hash_bytes(addr->b, sizeof(addr->b)));

	for (; node; node = htab_next(node)) {
		struct entry *e = CONTAINER_OF(node, struct entry, node);

		if (addr_equal(&e->addr, addr))
			return e;
	}
	return NULL;
}

void names_learn(struct names *names, const struct audit_event *event)
{
	struct entry *e = find(names, &event->addr);

	if (!event->host.ptr || !event->host.len || event->host.len > MAX_NAME_BYTES)
		return;
	if (!e) {
		if (names->table.n_nodes >= 2 * (size_t)NEJ_MAX_SYNTH)
			return;
		e = malloc(sizeof(*e));
		if (!e)
			return;
		e->addr = event->addr;
		if (htab_add(&names->table, &e->node, hash_bytes(e->addr.b, sizeof(e->addr.b))) <
			0) {
			free(e);
			return;
		}
	}
	e->len = (uint8_t)event->host.len;
	memcpy(e->name, event->host.ptr, e->len);
}

struct audit_text names_find(const struct names *names, const struct addr *addr)
{
	const struct entry *e = find(names, addr);

	return e ? (struct audit_text){e->name, e->len} : (struct audit_text){NULL, 0};
}
