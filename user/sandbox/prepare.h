/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is decided before anything is made: name, lock, users, policy and whether it may be used,
 * audit path. Read launch.h next.
 */
#ifndef NEJ_SANDBOX_PREPARE_H
#define NEJ_SANDBOX_PREPARE_H

#include "sandbox.h"

/* Fills sb from its options. 0, or the exit status of a refusal; the message is out. */
int prepare(struct sandbox *sb);

/* Loads a policy and prints its errors. 0 or an exit status. */
int prepare_policy(const char *path, struct policy **ret);

#endif
