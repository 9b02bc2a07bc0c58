/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the sandbox still refuses what it must, tried from inside: soon after the start, after each
 * reload, every minute and when asked. A process of its own tries (decoy.h), which the sandbox can
 * neither see nor signal. Its refusals are no attempts: neither records nor counts have them.
 */
#ifndef NEJ_SANDBOX_CANARY_H
#define NEJ_SANDBOX_CANARY_H

#include <jansson.h>

#include "../base/loop.h"
#include "sandbox.h"

struct canary;

struct canary_hooks {
	bool (*is_changing)(void *arg); /* another policy is on its way to the worker: not now */
	void (*on_failed)(void *arg, const char *why); /* the sandbox is to be halted */
	void (*on_done)(void *arg);                    /* there is a result */
	void *arg;
};

/* The first run follows soon. 0 or negative errno. */
int canary_new(struct loop *loop, struct sandbox *sb, const struct canary_hooks *hooks,
	struct canary **ret);
void canary_run_soon(struct canary *c);
/* Other grants: what is being tried now may be allowed by them. It is tried anew. */
void canary_void(struct canary *c);
/* Ends one that runs; none follows. */
void canary_stop(struct canary *c);
void canary_free(struct canary *c);

/* `{"ok":…,"result":…,"runs":…}`; ok is null before the first result. */
json_t *canary_print(const struct canary *c);

#endif
