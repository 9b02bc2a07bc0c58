/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells when a cgroup that is somebody else's is gone, without asking again and again. */
#ifndef NEJ_SANDBOX_TETHER_H
#define NEJ_SANDBOX_TETHER_H

#include "../base/loop.h"
#include "cgroup.h"

struct tether;

/* cg is borrowed. on_gone is called from the loop. 0 or negative errno. */
int tether_new(struct loop *loop, const struct cgroup *cg, void (*on_gone)(void *arg), void *arg,
	struct tether **ret);
void tether_free(struct tether *t);

#endif
