/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries of the maps `allow4` and `allow6`, whichever an address belongs to. */
#ifndef NEJ_KERNEL_ALLOW_H
#define NEJ_KERNEL_ALLOW_H

#include "../base/addr.h"
#include "object.h"

struct allow_entry {
	struct prefix prefix;
	uint8_t proto;
	uint16_t port; /* 0: every port that has no entry of its own for the address */
	struct nej_allow value;
};

/* 0, -ENOSPC when the map is full, other negative errno. */
int allow_add(struct object *o, const struct allow_entry *e);

/* Would the programs let a connection to it straight out? Also by an entry that has expired. */
bool allow_has(const struct object *o, const struct endpoint *to, uint8_t proto);

/* Deletes the entries `is_stale` picks. */
int allow_del(struct object *o, bool (*is_stale)(const struct nej_allow *value, uint64_t arg),
	uint64_t arg);

#endif
