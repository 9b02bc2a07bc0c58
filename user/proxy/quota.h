/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `limits:` of a sandbox and of its rules, counted over all threads of the worker. What is beyond
 * a limit is refused, never delayed.
 */
#ifndef NEJ_PROXY_QUOTA_H
#define NEJ_PROXY_QUOTA_H

#include <stdbool.h>

#include "../policy/decide.h"

/* The counters of one sandbox. A worker that serves one alone has its own: NULL means these. */
struct quota;
int quota_new(struct quota **ret); /* 0, -ENOMEM */
void quota_free(struct quota *q);

/* Counts one more open connection. 0; -EDQUOT: `limits: connections` of the sandbox is reached;
 * -ENFILE: NEJ_MAX_CONNS of the process is. Neither is counted then. */
int quota_take_connection(struct quota *q, const struct policy *policy);
void quota_give_connection(struct quota *q);

/* Which limit of the policy was reached. */
enum quota_limit {
	QUOTA_NONE, /* none: a capacity of our own */
	QUOTA_CONNECTIONS,
	QUOTA_REQUESTS,
	QUOTA_BYTES,
};

struct quota_slot;

struct quota_grant {
	struct quota_slot *slot; /* of a rule with limits: quota_end must follow; or NULL */
	bool is_metered;         /* bytes are limited: quota_spend must be told of them */
	/* refused: */
	uint8_t limit;      /* enum quota_limit */
	uint32_t retry_s;   /* when another may pass; 0: nobody knows */
	const char *detail; /* for people */
};

/* One attempt (a tunnel or a request) under a rule, or under none. A minute is a fixed one: its
 * requests are forgotten when the next begins. 0, or -EDQUOT with what was reached in ret. */
int quota_begin(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t now_ms,
	struct quota_grant *ret);
void quota_end(struct quota_slot *slot);
/* How many of max_bytes may pass still, out of the sandbox or into it. slot: as granted. */
size_t quota_room(struct quota *q, const struct policy *policy, const struct quota_slot *slot,
	bool is_out, size_t max_bytes);
/* Bytes that are about to pass. -EDQUOT: with these a limit would be exceeded; counted they are. */
int quota_spend(struct quota *q, const struct policy *policy, struct quota_slot *slot,
	uint64_t bytes_out, uint64_t bytes_in);

/* The policy is another one: rules that are in it as they were keep what they counted, the others'
 * counters are given up once nothing is under way by them. */
void quota_review(struct quota *q, const struct policy *policy);

#endif
