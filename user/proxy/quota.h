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

/* Counts one more open connection. False (and not counted): `limits: connections` of the sandbox or
 * NEJ_MAX_CONNS of the process is reached. */
bool quota_take_connection(struct quota *q, const struct policy *policy);
void quota_give_connection(struct quota *q);

struct quota_grant {
	bool is_counted; /* against the rule's connections: quota_end must follow */
	bool is_metered; /* bytes are limited: quota_spend must be told of them */
};

/* One attempt (a tunnel or a request) under a rule, or under none. 0, or -EDQUOT: connections of the
 * rule, requests a minute or bytes are used up. */
int quota_begin(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t now_ms,
	struct quota_grant *ret);
void quota_end(struct quota *q, uint32_t rule);
/* Bytes that passed. -EDQUOT: with these a limit is exceeded. */
int quota_spend(struct quota *q, const struct policy *policy, uint32_t rule, uint64_t bytes_out,
	uint64_t bytes_in);

#endif
