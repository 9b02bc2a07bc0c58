/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters behind `limits:`; see quota.h. A worker serves one sandbox, so they are the
 * process's. A rule gets a slot when it is first used under limits of its own; with all slots taken
 * a limited rule admits nothing.
 */
#include "quota.h"

#include <errno.h>
#include <stdatomic.h>

#include "../../include/bounds.h"

#define MINUTE_MS 60000

struct slot {
	_Atomic uint32_t owner; /* rule + 1; 0: free */
	_Atomic uint64_t open;
	_Atomic uint64_t bytes_out, bytes_in;
	_Atomic uint64_t minute, requests;
};

static _Atomic uint64_t n_open;
static struct slot sandbox;
static struct slot slots[NEJ_MAX_LIMITED_RULES];

bool quota_take_connection(const struct policy *policy)
{
	uint64_t max = policy_max_connections(policy);

	if (!max || max > NEJ_MAX_CONNS)
		max = NEJ_MAX_CONNS;
	if (atomic_fetch_add_explicit(&n_open, 1, memory_order_relaxed) < max)
		return true;
	quota_give_connection();
	return false;
}

void quota_give_connection(void)
{
	atomic_fetch_sub_explicit(&n_open, 1, memory_order_relaxed);
}

/* The rule's slot, taken if it has none yet. NULL: all are taken. */
static struct slot *slot_of(uint32_t rule)
{
	for (size_t i = 0; i < NEJ_MAX_LIMITED_RULES; i++) {
		struct slot *s = &slots[(rule + i) % NEJ_MAX_LIMITED_RULES];
		uint32_t owner = 0;

		if (atomic_compare_exchange_strong(&s->owner, &owner, rule + 1) ||
			owner == rule + 1)
			return s;
	}
	return NULL;
}

static bool is_limited(const struct policy_limits *l)
{
	return l->connections || l->bytes_out || l->bytes_in || l->requests_per_minute;
}

static bool is_spent(const struct slot *s, const struct policy_limits *l)
{
	return (l->bytes_out && s->bytes_out > l->bytes_out) ||
		(l->bytes_in && s->bytes_in > l->bytes_in);
}

/* One more request in this minute. */
static bool is_too_fast(struct slot *s, const struct policy_limits *l, uint64_t now_ms)
{
	uint64_t minute = now_ms / MINUTE_MS;

	if (!l->requests_per_minute)
		return false;
	if (atomic_exchange(&s->minute, minute) != minute)
		s->requests = 0;
	return atomic_fetch_add(&s->requests, 1) >= l->requests_per_minute;
}

static int begin_rule(uint32_t rule, const struct policy_limits *l, uint64_t now_ms, bool *ret)
{
	struct slot *s = slot_of(rule);

	if (!s || is_spent(s, l) || is_too_fast(s, l, now_ms))
		return -EDQUOT;
	if (!l->connections)
		return 0;
	if (atomic_fetch_add(&s->open, 1) >= l->connections) {
		atomic_fetch_sub(&s->open, 1);
		return -EDQUOT;
	}
	*ret = true;
	return 0;
}

int quota_begin(
	const struct policy *policy, uint32_t rule, uint64_t now_ms, struct quota_grant *ret)
{
	struct policy_limits all, own = {0};

	*ret = (struct quota_grant){0};
	policy_limits(policy, POLICY_NO_RULE, &all);
	if (rule != POLICY_NO_RULE)
		policy_limits(policy, rule, &own);
	ret->is_metered = all.bytes_out || all.bytes_in || own.bytes_out || own.bytes_in;
	if (is_spent(&sandbox, &all) || is_too_fast(&sandbox, &all, now_ms))
		return -EDQUOT;
	return is_limited(&own) ? begin_rule(rule, &own, now_ms, &ret->is_counted) : 0;
}

void quota_end(uint32_t rule)
{
	struct slot *s = slot_of(rule);

	if (s)
		atomic_fetch_sub(&s->open, 1);
}

static int spend(struct slot *s, const struct policy_limits *l, uint64_t out, uint64_t in)
{
	atomic_fetch_add(&s->bytes_out, out);
	atomic_fetch_add(&s->bytes_in, in);
	return is_spent(s, l) ? -EDQUOT : 0;
}

int quota_spend(const struct policy *policy, uint32_t rule, uint64_t bytes_out, uint64_t bytes_in)
{
	struct policy_limits l;
	struct slot *s;
	int r;

	policy_limits(policy, POLICY_NO_RULE, &l);
	r = spend(&sandbox, &l, bytes_out, bytes_in);
	if (rule == POLICY_NO_RULE)
		return r;
	policy_limits(policy, rule, &l);
	if (!l.bytes_out && !l.bytes_in)
		return r;
	s = slot_of(rule);
	if (!s || spend(s, &l, bytes_out, bytes_in) < 0)
		return -EDQUOT;
	return r;
}
