/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The targets that name a host, in the order of the policy, found without looking at any other
 * target: one look into the host table for each suffix of the name (or each length of range).
 * Those of grants in force come first.
 */
#ifndef NEJ_POLICY_WALK_H
#define NEJ_POLICY_WALK_H

#include "image.h"

/* Suffixes of a name (127 labels), or lengths of ranges (129); lists; every name; of grants the
 * first and the last. */
#define WALK_MAX (129 + IMAGE_MAX_LISTS + 1 + 129 + 1)

struct walk_cursor {
	const uint32_t *at, *end; /* ascending targets */
	bool is_whole;            /* the key is the whole host, not a name above it */
};

struct walk {
	const struct policy *policy;
	uint64_t now_ns;     /* CLOCK_BOOTTIME, if n_granted */
	size_t n, n_granted; /* cursors; those of grants are the first */
	uint64_t lists_seen[IMAGE_MAX_LISTS / 64];
	bool has_secret; /* a secret may go to this host */
	struct walk_cursor cursors[WALK_MAX];
};

void walk_host(const struct policy *p, const struct host *host, struct walk *ret);
/* The same for an address, decided as `a` itself. */
void walk_addr(const struct policy *p, const struct addr *a, struct walk *ret);

/* Sets the bit of each secret that may go to a name. */
void walk_secrets(const struct policy *p, const struct host *name,
	uint64_t found[static POLICY_MAX_SECRETS / 64]);

/* A walk at its beginning is kept and copied for each time over its targets. */
static inline void walk_copy(struct walk *to, const struct walk *from)
{
	to->policy = from->policy;
	to->now_ns = from->now_ns;
	to->n = from->n;
	to->n_granted = from->n_granted;
	memcpy(to->cursors, from->cursors, from->n * sizeof(from->cursors[0]));
}

/* The next target, or NULL. */
const struct image_target *walk_next(struct walk *w);

static inline bool walk_is_granted(const struct policy *p, const struct image_target *t)
{
	return p->overlay && t >= p->overlay->targets &&
		t < p->overlay->targets + p->overlay->n_targets;
}

#endif
