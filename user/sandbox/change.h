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
/* Lays grants (owned from now on; NULL: none) over the policy that is in force. has_ended: what one of them
 * let straight out is to end, if nothing else allows it. As change_policy. */
int change_grants(struct sandbox *sb, struct policy *overlay, bool has_ended);
/* Ends all that leaves the host past the worker. How many. */
int change_cut(struct sandbox *sb);
/* Ends those to the worker that its own end did not reach: what the programs dropped on its way in makes
 * the RST behind it one out of turn, which the client's kernel does not believe (RFC 5961). */
void change_cut_inside(struct sandbox *sb);

#endif
