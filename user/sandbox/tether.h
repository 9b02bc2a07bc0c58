/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells when a cgroup that is somebody else's is gone, or empty, without asking again and again. */
#ifndef NEJ_SANDBOX_TETHER_H
#define NEJ_SANDBOX_TETHER_H

#include <stdbool.h>

#include "../base/loop.h"
#include "cgroup.h"

struct tether;

/* cg is borrowed. until_empty: it is over when no process is in it. on_over is called from the loop. 0 or
 * negative errno. */
int tether_new(struct loop *loop, const struct cgroup *cg, bool until_empty,
	void (*on_over)(void *arg), void *arg, struct tether **ret);
void tether_free(struct tether *t);

#endif
