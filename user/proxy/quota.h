/* SPDX-License-Identifier: GPL-2.0-only */
/* How many connections the sandbox may hold at once, over all threads. Internal to user/proxy. */
#ifndef NEJ_PROXY_QUOTA_H
#define NEJ_PROXY_QUOTA_H

#include <stdbool.h>

#include "../policy/decide.h"

/* Counts one more. False (and not counted): `limits: connections` or NEJ_MAX_CONNS is reached. */
bool quota_take_connection(const struct policy *policy);
void quota_give_connection(void);

#endif
