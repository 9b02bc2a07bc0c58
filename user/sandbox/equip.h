/* SPDX-License-Identifier: GPL-2.0-only */
/* What the supervisor hands to a worker (handoff.h), and what it makes of the worker's answer. */
#ifndef NEJ_SANDBOX_EQUIP_H
#define NEJ_SANDBOX_EQUIP_H

#include "sandbox.h"

/* Fills the companion's plan: once a sandbox. 0 or negative errno. */
int equip_worker(struct sandbox *sb);
/* Starts a worker with it, and with the secrets as they are now. 0 or negative errno. */
int equip_start(struct sandbox *sb);
/* The worker serves: programs are to trust its authority. 0 or negative errno. */
int equip_finish(struct sandbox *sb, const struct companion_ready *ready);

#endif
