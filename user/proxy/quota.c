/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters behind `limits:`; see quota.h. A rule gets a slot when it is first used under limits
 * of its own; with all slots taken a limited rule admits nothing. A slot knows its rule by its text
 * and limits, not by its number, which another policy may give to another rule.
 */
#include "quota.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/htab.h"

#define MINUTE_MS 60000

#define KEY_FREE 0
#define KEY_BUSY 1 /* being taken, or given up */
#define KEY_FIRST 2

struct counters {
	_Atomic uint64_t bytes_out, bytes_in;
	_Atomic uint64_t requests; /* the minute they are of, and below it their number */
};

struct quota_slot {
	_Atomic uint64_t key;
	_Atomic uint64_t open; /* attempts under way */
	struct policy_limits limits;
	struct counters n;
};

struct quota {
	_Atomic uint64_t n_open;
	struct counters sandbox;
	struct quota_slot slots[NEJ_MAX_LIMITED_RULES];
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

static bool is_limited(const struct policy_limits *l)
{
	return l->connections || l->bytes_out || l->bytes_in || l->requests_per_minute;
}

/* --- slots of rules */

static uint64_t key_of(const struct policy *policy, uint32_t rule, const struct policy_limits *l)
{
	struct policy_rule_info info = {.text = ""};
	const uint64_t parts[] = {
		l->connections, l->bytes_out, l->bytes_in, l->requests_per_minute};
	uint64_t key;

	policy_rule(policy, rule, &info);
	key = hash_bytes(info.text, strlen(info.text)) ^ hash_bytes(parts, sizeof(parts));
	return key < KEY_FIRST ? KEY_FIRST : key;
}

/* If it is free. */
static void take(struct quota_slot *s, uint64_t key, const struct policy_limits *l)
{
	uint64_t old = KEY_FREE;

	if (!atomic_compare_exchange_strong(&s->key, &old, KEY_BUSY))
		return;
	s->limits = *l;
	s->n.bytes_out = s->n.bytes_in = s->n.requests = 0;
	s->key = key;
}

/* One attempt more in the slot with this key; how many there are then, 0: it is another's. A slot
 * nothing goes on in may be given up meanwhile. */
static uint64_t enter(struct quota_slot *s, uint64_t key)
{
	uint64_t n = atomic_fetch_add(&s->open, 1) + 1;

	if (s->key == key)
		return n;
	atomic_fetch_sub(&s->open, 1);
	return 0;
}

/* The rule's slot, taken if it has none yet, and how many attempts are in it with this one. NULL:
 * all are taken. All threads look in one order, so that they find one slot for one rule. */
static struct quota_slot *enter_slot(
	struct quota *q, uint64_t key, const struct policy_limits *l, uint64_t *ret_open)
{
	for (int can_take = 0; can_take < 2; can_take++)
		for (size_t i = 0; i < NEJ_MAX_LIMITED_RULES; i++) {
			struct quota_slot *s = &q->slots[(key + i) % NEJ_MAX_LIMITED_RULES];

			if (can_take)
				take(s, key, l);
			while (s->key == KEY_BUSY)
				continue;
			*ret_open = s->key == key ? enter(s, key) : 0;
			if (*ret_open)
				return s;
		}
	return NULL;
}

static bool is_in_policy(const struct policy *policy, uint64_t key)
{
	struct policy_rule_info info;
	struct policy_limits l;

	for (uint32_t rule = 0; policy_rule(policy, rule, &info); rule++) {
		policy_limits(policy, rule, &l);
		if (is_limited(&l) && key_of(policy, rule, &l) == key)
			return true;
	}
	return false;
}

void quota_review(struct quota *q, const struct policy *policy)
{
	for (size_t i = 0; i < NEJ_MAX_LIMITED_RULES; i++) {
		struct quota_slot *s = &or_own(q)->slots[i];
		uint64_t key = s->key;

		if (key < KEY_FIRST || is_in_policy(policy, key))
			continue;
		if (!atomic_compare_exchange_strong(&s->key, &key, KEY_BUSY))
			continue;
		/* who has entered since saw the key before: it stays for the next review */
		s->key = s->open ? key : KEY_FREE;
	}
}

/* --- counting */

/* Everything that was allowed has passed. */
static bool is_spent(const struct counters *n, const struct policy_limits *l)
{
	return (l->bytes_out && n->bytes_out >= l->bytes_out) ||
		(l->bytes_in && n->bytes_in >= l->bytes_in);
}

static bool is_exceeded(const struct counters *n, const struct policy_limits *l)
{
	return (l->bytes_out && n->bytes_out > l->bytes_out) ||
		(l->bytes_in && n->bytes_in > l->bytes_in);
}

/* One more request in this minute. */
static bool is_too_fast(struct counters *n, const struct policy_limits *l, uint64_t now_ms)
{
	uint64_t minute = now_ms / MINUTE_MS << 32, old = n->requests, next;

	if (!l->requests_per_minute)
		return false;
	do {
		next = old >> 32 == minute >> 32 ? old : minute;
		if ((uint32_t)next >= l->requests_per_minute)
			return true;
	} while (!atomic_compare_exchange_weak(&n->requests, &old, next + 1));
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

static int begin_rule(
	struct quota_slot *s, uint64_t n_open, uint64_t now_ms, struct quota_grant *ret)
{
	const struct policy_limits *l = &s->limits;

	if (is_spent(&s->n, l))
		return refuse(QUOTA_BYTES, "the bytes that limits of the rule allow are used up",
			now_ms, ret);
	if (l->connections && n_open > l->connections)
		return refuse(QUOTA_CONNECTIONS,
			"connections in limits of the rule is reached: others must end first",
			now_ms, ret);
	if (is_too_fast(&s->n, l, now_ms))
		return refuse(QUOTA_REQUESTS,
			"requests_per_minute in limits of the rule is reached", now_ms, ret);
	return 0;
}

static int begin_sandbox(
	struct counters *n, const struct policy_limits *l, uint64_t now_ms, struct quota_grant *ret)
{
	if (is_spent(n, l))
		return refuse(QUOTA_BYTES, "the bytes that limits of the sandbox allow are used up",
			now_ms, ret);
	if (is_too_fast(n, l, now_ms))
		return refuse(QUOTA_REQUESTS,
			"requests_per_minute in limits of the sandbox is reached", now_ms, ret);
	return 0;
}

int quota_begin(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t now_ms,
	struct quota_grant *ret)
{
	struct policy_limits all, rules = {0};
	uint64_t n_open;
	int r = 0;

	*ret = (struct quota_grant){0};
	policy_limits(policy, POLICY_NO_RULE, &all);
	if (rule != POLICY_NO_RULE)
		policy_limits(policy, rule, &rules);
	ret->is_metered = all.bytes_out || all.bytes_in || rules.bytes_out || rules.bytes_in;
	if (is_limited(&rules)) {
		ret->slot = enter_slot(or_own(q), key_of(policy, rule, &rules), &rules, &n_open);
		r = ret->slot
			? begin_rule(ret->slot, n_open, now_ms, ret)
			: refuse(QUOTA_NONE, "too many rules with limits are in use", now_ms, ret);
	}
	if (r == 0)
		r = begin_sandbox(&or_own(q)->sandbox, &all, now_ms, ret);
	if (r < 0) {
		quota_end(ret->slot);
		ret->slot = NULL;
	}
	return r;
}

void quota_end(struct quota_slot *slot)
{
	if (slot)
		atomic_fetch_sub(&slot->open, 1);
}

static uint64_t left_of(const struct counters *n, const struct policy_limits *l, bool is_out)
{
	uint64_t max = is_out ? l->bytes_out : l->bytes_in;
	uint64_t used = is_out ? n->bytes_out : n->bytes_in;

	if (!max)
		return UINT64_MAX;
	return used < max ? max - used : 0;
}

size_t quota_room(struct quota *q, const struct policy *policy, const struct quota_slot *slot,
	bool is_out, size_t max_bytes)
{
	struct policy_limits l;
	uint64_t left, own_left;

	policy_limits(policy, POLICY_NO_RULE, &l);
	left = left_of(&or_own(q)->sandbox, &l, is_out);
	own_left = slot ? left_of(&slot->n, &slot->limits, is_out) : UINT64_MAX;
	left = own_left < left ? own_left : left;
	return left < max_bytes ? (size_t)left : max_bytes;
}

static int spend(struct counters *n, const struct policy_limits *l, uint64_t out, uint64_t in)
{
	atomic_fetch_add(&n->bytes_out, out);
	atomic_fetch_add(&n->bytes_in, in);
	return is_exceeded(n, l) ? -EDQUOT : 0;
}

int quota_spend(struct quota *q, const struct policy *policy, struct quota_slot *slot,
	uint64_t bytes_out, uint64_t bytes_in)
{
	struct policy_limits l;
	int r;

	policy_limits(policy, POLICY_NO_RULE, &l);
	r = spend(&or_own(q)->sandbox, &l, bytes_out, bytes_in);
	if (slot && spend(&slot->n, &slot->limits, bytes_out, bytes_in) < 0)
		return -EDQUOT;
	return r;
}
