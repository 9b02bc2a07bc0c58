/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds shadowed targets through the compiled table: whoever names all of a target's hosts is among
 * the names above it; see shadow.h.
 */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "walk.h"

/* Comparing ranges pair by pair is for policies that people write. */
#define MAX_RANGES 2000

struct shadow {
	const struct draft *draft;
	const struct policy *policy;
	const struct pattern *pattern;
	const struct image_target *target;
	uint32_t index; /* of the target */
};

static bool covers_ports(const struct opens *a, const struct opens *b)
{
	for (int i = 0; i < OPENS_COUNT; i++)
		if (b->ports[i].first &&
			(!a->ports[i].first || a->ports[i].first > b->ports[i].first ||
				a->ports[i].last < b->ports[i].last))
			return false;
	return true;
}

static bool is_same_text(const struct policy *p, struct image_text a, struct image_text b)
{
	return a.len == b.len && !memcmp(p->text + a.at, p->text + b.at, a.len);
}

/* The requests of an earlier target are at least those of a later one. */
static bool covers_requests(
	const struct policy *p, const struct image_target *a, const struct image_target *b)
{
	if (a->flags & IMAGE_METHODS &&
		(!(b->flags & IMAGE_METHODS) || !is_same_text(p, a->methods, b->methods)))
		return false;
	return !(a->flags & IMAGE_PATH) ||
		(b->flags & IMAGE_PATH &&
			(a->flags & IMAGE_CASELESS || !(b->flags & IMAGE_CASELESS)) &&
			is_same_text(p, a->full, b->full) && is_same_text(p, a->plain, b->plain));
}

/* Does a target filed under the same name (is_whole) or one above it name all the hosts? */
static bool covers_hosts(const struct image_target *t, bool is_whole, uint8_t kind)
{
	if (t->kind == PATTERN_ANY)
		return true;
	if (!is_whole)
		return t->kind != PATTERN_NAME;
	switch (kind) {
	case PATTERN_NAME:
		return t->kind != PATTERN_UNDER;
	case PATTERN_TREE:
		return t->kind == PATTERN_TREE || t->kind == PATTERN_LIST;
	case PATTERN_UNDER:
		return t->kind != PATTERN_NAME;
	default:
		return false;
	}
}

static bool is_shadow(const struct shadow *s, const struct image_target *t)
{
	return t->rule != s->target->rule && t->rule != POLICY_NO_RULE &&
		covers_ports(&t->opens, &s->target->opens) &&
		covers_requests(s->policy, t, s->target);
}

static const struct image_target *find_by_name(const struct shadow *s)
{
	struct host host = {.kind = HOST_NAME, .len = (uint8_t)s->pattern->name_len};
	struct walk w;

	if (s->pattern->kind == PATTERN_ANY) {
		host.len = 1; /* no name, so that only `every name` is found */
		host.name[0] = '*';
	} else {
		memcpy(host.name, s->pattern->name, s->pattern->name_len);
	}
	walk_host(s->policy, &host, &w);
	for (size_t i = 0; i < w.n; i++) {
		const struct walk_cursor *c = &w.cursors[i];

		for (const uint32_t *at = c->at; at < c->end && *at < s->index; at++) {
			const struct image_target *t = &s->policy->targets[*at];

			if (covers_hosts(t, c->is_whole, s->pattern->kind) && is_shadow(s, t))
				return t;
		}
	}
	return NULL;
}

/* first_target: number of the first target of each pattern. */
static const struct image_target *find_by_range(
	const struct shadow *s, const uint32_t *first_target)
{
	size_t own = (size_t)(s->pattern - DRAFT_AT(s->draft->patterns, struct pattern, 0));

	for (size_t i = 0; i < own && i < MAX_RANGES; i++) {
		const struct pattern *q = DRAFT_AT(s->draft->patterns, struct pattern, i);

		if (q->kind != PATTERN_RANGE || q->prefix.bits > s->pattern->prefix.bits ||
			!prefix_has(&q->prefix, &s->pattern->prefix.addr))
			continue;
		for (uint32_t t = first_target[i]; t < first_target[i + 1]; t++)
			if (is_shadow(s, &s->policy->targets[t]))
				return &s->policy->targets[t];
	}
	return NULL;
}

/* Where each pattern's targets begin, and behind the last where they end. */
static uint32_t *number_targets(const struct draft *d, size_t n)
{
	uint32_t *first = calloc(n + 1, sizeof(*first));
	struct opens opens[OPENS_MAX];

	if (!first)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const struct pattern *p = DRAFT_AT(d->patterns, struct pattern, i);
		const struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, p->rule);
		bool is_kernel = !rule->is_deny && rule->transport == POLICY_TRANSPORT_KERNEL;

		first[i + 1] = first[i] + (uint32_t)opens_of(p, rule->is_deny, is_kernel, opens);
	}
	return first;
}

static void warn_pattern(const struct draft *d, const struct policy *p, size_t i,
	const uint32_t *first_target, struct err_list *errs)
{
	struct shadow s = {
		.draft = d,
		.policy = p,
		.pattern = DRAFT_AT(d->patterns, struct pattern, i),
		.index = first_target[i],
		.target = &p->targets[first_target[i]],
	};
	const struct image_target *by = NULL;

	if (s.pattern->kind == PATTERN_RANGE)
		by = find_by_range(&s, first_target);
	else if (s.pattern->kind != PATTERN_LIST)
		by = find_by_name(&s);
	if (by)
		err_warn(errs, s.pattern->line, s.pattern->column, "move it up, or take it away",
			"`%.80s` never matches: the rule on line %u shadows it", s.pattern->text,
			p->rules[by->rule].line);
}

void shadow_warn(const struct draft *d, const struct policy *p, struct err_list *errs)
{
	size_t n = DRAFT_COUNT(d->patterns, struct pattern);
	_cleanup_free_ uint32_t *first_target = number_targets(d, n);

	if (!first_target || first_target[n] > p->n_targets)
		return;
	for (size_t i = 0; i < n && errs->n_items < NEJ_MAX_ERRORS; i++)
		warn_pattern(d, p, i, first_target, errs);
}
