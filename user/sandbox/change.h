/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's part of a change while a sandbox runs: another policy in the maps, and the end of those
 * connections that went straight out of it. live.c tells the worker of its part.
 */
#ifndef NEJ_SANDBOX_CHANGE_H
#define NEJ_SANDBOX_CHANGE_H

#include "sandbox.h"

/* Puts next in force as the generation after sb's. How many connections it ended, or negative errno: what
 * was there is in force again. Each one is on record. */
int change_policy(struct sandbox *sb, const struct policy *next);
/* Ends all that leaves the host past the worker. How many. */
int change_cut(struct sandbox *sb);

#endif
