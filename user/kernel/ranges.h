/* SPDX-License-Identifier: GPL-2.0-only */
/* CIDR rules with `transport: kernel` into the maps `allow4` and `allow6`. */
#ifndef NEJ_KERNEL_RANGES_H
#define NEJ_KERNEL_RANGES_H

#include "../policy/policy.h"
#include "object.h"

/* Adds the entries of a policy, marked with this round. 0, -ENOSPC, other negative errno. */
int ranges_apply(struct object *o, const struct policy *p, uint8_t round);

#endif
