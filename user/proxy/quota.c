/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters behind `limits:`; see quota.h. A rule gets a slot when it is first used under limits
 * of its own; with all slots taken a limited rule admits nothing.
 */
#include "quota.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../../include/bounds.h"

#define MINUTE_MS 60000

struct slot {
	_Atomic uint32_t owner; /* rule + 1; 0: free */
	_Atomic uint64_t open;
	_Atomic uint64_t bytes_out, bytes_in;
	_Atomic uint64_t requests; /* the minute they are of, and below it their number */
};

struct quota {
	_Atomic uint64_t n_open;
	struct slot sandbox;
	struct slot slots[NEJ_MAX_LIMITED_RULES];
};

static struct quota own;
static _Atomic uint64_t n_all; /* open connections of the process */

static struct quota *or_own(struct quota *q)
{
	return q ? q : &own;
}

int quota_new(struct quota **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void quota_free(struct quota *q)
{
	free(q);
}

int quota_take_connection(struct quota *q, const struct policy *policy)
{
	uint64_t max = policy_max_connections(policy);
	uint64_t n = atomic_fetch_add_explicit(&or_own(q)->n_open, 1, memory_order_relaxed);
	uint64_t all = atomic_fetch_add_explicit(&n_all, 1, memory_order_relaxed);

	if ((!max || n < max) && all < NEJ_MAX_CONNS)
		return 0;
	quota_give_connection(q);
	return all < NEJ_MAX_CONNS ? -EDQUOT : -ENFILE;
}

void quota_give_connection(struct quota *q)
{
	atomic_fetch_sub_explicit(&or_own(q)->n_open, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&n_all, 1, memory_order_relaxed);
}

/* The rule's slot, taken if it has none yet. NULL: all are taken. */
static struct slot *slot_of(struct quota *q, uint32_t rule)
{
	for (size_t i = 0; i < NEJ_MAX_LIMITED_RULES; i++) {
		struct slot *s = &q->slots[(rule + i) % NEJ_MAX_LIMITED_RULES];
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

/* Everything that was allowed has passed. */
static bool is_spent(const struct slot *s, const struct policy_limits *l)
{
	return (l->bytes_out && s->bytes_out >= l->bytes_out) ||
		(l->bytes_in && s->bytes_in >= l->bytes_in);
}

static bool is_exceeded(const struct slot *s, const struct policy_limits *l)
{
	return (l->bytes_out && s->bytes_out > l->bytes_out) ||
		(l->bytes_in && s->bytes_in > l->bytes_in);
}

/* One more request in this minute. */
static bool is_too_fast(struct slot *s, const struct policy_limits *l, uint64_t now_ms)
{
	uint64_t minute = now_ms / MINUTE_MS << 32, old = s->requests, next;

	if (!l->requests_per_minute)
		return false;
	do {
		next = old >> 32 == minute >> 32 ? old : minute;
		if ((uint32_t)next >= l->requests_per_minute)
			return true;
	} while (!atomic_compare_exchange_weak(&s->requests, &old, next + 1));
	return false;
}

static int refuse(
	enum quota_limit limit, const char *detail, uint64_t now_ms, struct quota_grant *ret)
{
	ret->limit = (uint8_t)limit;
	ret->detail = detail;
	if (limit == QUOTA_REQUESTS)
		ret->retry_s = (uint32_t)((MINUTE_MS - now_ms % MINUTE_MS + 999) / 1000);
	return -EDQUOT;
}

static int begin_rule(struct quota *q, uint32_t rule, const struct policy_limits *l,
	uint64_t now_ms, struct quota_grant *ret)
{
	struct slot *s = slot_of(q, rule);

	if (!s)
		return refuse(QUOTA_NONE, "too many rules with limits are in use", now_ms, ret);
	if (is_spent(s, l))
		return refuse(QUOTA_BYTES, "the bytes that limits of the rule allow are used up",
			now_ms, ret);
	if (l->connections && atomic_fetch_add(&s->open, 1) >= l->connections) {
		atomic_fetch_sub(&s->open, 1);
		return refuse(QUOTA_CONNECTIONS,
			"connections in limits of the rule is reached: others must end first",
			now_ms, ret);
	}
	ret->is_counted = l->connections;
	if (!is_too_fast(s, l, now_ms))
		return 0;
	if (ret->is_counted)
		atomic_fetch_sub(&s->open, 1);
	ret->is_counted = false;
	return refuse(QUOTA_REQUESTS, "requests_per_minute in limits of the rule is reached",
		now_ms, ret);
}

int quota_begin(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t now_ms,
	struct quota_grant *ret)
{
	struct slot *sandbox = &or_own(q)->sandbox;
	struct policy_limits all, rules = {0};
	int r = 0;

	*ret = (struct quota_grant){0};
	policy_limits(policy, POLICY_NO_RULE, &all);
	if (rule != POLICY_NO_RULE)
		policy_limits(policy, rule, &rules);
	ret->is_metered = all.bytes_out || all.bytes_in || rules.bytes_out || rules.bytes_in;
	if (is_spent(sandbox, &all))
		return refuse(QUOTA_BYTES, "the bytes that limits of the sandbox allow are used up",
			now_ms, ret);
	if (is_limited(&rules))
		r = begin_rule(or_own(q), rule, &rules, now_ms, ret);
	if (r < 0 || !is_too_fast(sandbox, &all, now_ms))
		return r;
	if (ret->is_counted)
		quota_end(q, rule);
	ret->is_counted = false;
	return refuse(QUOTA_REQUESTS, "requests_per_minute in limits of the sandbox is reached",
		now_ms, ret);
}

void quota_end(struct quota *q, uint32_t rule)
{
	struct slot *s = slot_of(or_own(q), rule);

	if (s)
		atomic_fetch_sub(&s->open, 1);
}

static uint64_t left_of(const struct slot *s, const struct policy_limits *l, bool is_out)
{
	uint64_t max = is_out ? l->bytes_out : l->bytes_in;
	uint64_t used = is_out ? s->bytes_out : s->bytes_in;

	if (!max)
		return UINT64_MAX;
	return used < max ? max - used : 0;
}

size_t quota_room(
	struct quota *q, const struct policy *policy, uint32_t rule, bool is_out, size_t max_bytes)
{
	struct policy_limits l;
	uint64_t left, own_left;
	struct slot *s;

	policy_limits(policy, POLICY_NO_RULE, &l);
	left = left_of(&or_own(q)->sandbox, &l, is_out);
	if (rule != POLICY_NO_RULE) {
		policy_limits(policy, rule, &l);
		s = is_limited(&l) ? slot_of(or_own(q), rule) : NULL;
		own_left = s ? left_of(s, &l, is_out) : UINT64_MAX;
		left = own_left < left ? own_left : left;
	}
	return left < max_bytes ? (size_t)left : max_bytes;
}

static int spend(struct slot *s, const struct policy_limits *l, uint64_t out, uint64_t in)
{
	atomic_fetch_add(&s->bytes_out, out);
	atomic_fetch_add(&s->bytes_in, in);
	return is_exceeded(s, l) ? -EDQUOT : 0;
}

int quota_spend(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t bytes_out,
	uint64_t bytes_in)
{
	struct policy_limits l;
	struct slot *s;
	int r;

	policy_limits(policy, POLICY_NO_RULE, &l);
	r = spend(&or_own(q)->sandbox, &l, bytes_out, bytes_in);
	if (rule == POLICY_NO_RULE)
		return r;
	policy_limits(policy, rule, &l);
	if (!l.bytes_out && !l.bytes_in)
		return r;
	s = slot_of(or_own(q), rule);
	if (!s || spend(s, &l, bytes_out, bytes_in) < 0)
		return -EDQUOT;
	return r;
}
