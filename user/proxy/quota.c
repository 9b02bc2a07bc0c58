/* SPDX-License-Identifier: GPL-2.0-only */
/* The count of open connections; see quota.h. A worker serves one sandbox, so it is the process's. */
#include "quota.h"

#include <stdatomic.h>

#include "../../include/bounds.h"

static _Atomic uint64_t n_open;

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
