/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a policy's ports and ranges into the maps of a loaded object. */
#ifndef NEJ_KERNEL_APPLY_H
#define NEJ_KERNEL_APPLY_H

#include "../policy/policy.h"
#include "object.h"

/* Fills `ports`, `allow4`, `allow6` for a policy and what lies over it, and adds its flags to settings->flags (the caller
 * writes settings after). -ENOSPC when a map is full: the policy is refused. */
int apply_policy(struct object *o, const struct policy *p, struct nej_settings *settings);

/* Which grants are in force: those that lie over a policy. To be told to the kernel before their entries,
 * and before apply_policy takes those of others away. */
int apply_grants(struct object *o, const struct policy *p);

/* Supervisor's side of learn.h: one message from the worker, checked against the policy, written
 * to the maps, answered on the same socket. 0 when a message was answered (also with a refusal),
 * -EAGAIN without one, -EPIPE when the worker is gone, -EBADMSG for a message no worker of ours
 * sends (not answered). */
int apply_learn(struct object *o, const struct policy *p, int fd);

#endif
