/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker's end of the secrets: takes values and placeholders out of the memfd of handoff.h and
 * puts them into the store that the proxy reads. secrets.c is the supervisor's end.
 */
#ifndef NEJ_SANDBOX_DELIVERY_H
#define NEJ_SANDBOX_DELIVERY_H

#include "../policy/policy.h"
#include "../proxy/secret.h"

/* fd stays the caller's. 0; -EINVAL: not what handoff.h says, or not this policy's secrets;
 * other negative errno. The store's old state stays after a failure. */
int delivery_take(int fd, const struct policy *policy, struct secret_store *store);

#endif
