/* SPDX-License-Identifier: GPL-2.0-only */
/* May what a name resolved to be reached? Asked once, before anything is dialled. Internal to
 * user/proxy. */
#ifndef NEJ_PROXY_REACH_H
#define NEJ_PROXY_REACH_H

#include "../dns/resolve.h"
#include "record.h"

/* Every address of an answer. False: why is set, its detail in proxy->note. */
bool reach_addrs(struct conn *c, const struct addr *addrs, size_t n, struct refusal *ret_why);

/* The names a chain of aliases led over: denylist mode denies a name that is only another name for
 * a denied one. */
bool reach_aliases(struct conn *c, const struct resolve_answer *answer, struct refusal *ret_why);

#endif
