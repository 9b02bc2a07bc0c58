/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of `nej watch`: what stands where. */
#ifndef NEJ_CLI_WATCH_VIEW_H
#define NEJ_CLI_WATCH_VIEW_H

#include "screen.h"
#include "watch_list.h"

enum watch_mode {
	WATCH_LIST,
	WATCH_GRANT, /* asks whether `target` is to be granted for `duration` */
	WATCH_HALT,  /* asks whether to halt, or to resume */
	WATCH_HELP,
};

struct watch_scene {
	const char *name; /* of the sandbox */
	char state[32];   /* as status has it; `ended` */
	char policy[16];  /* the first digits of its hash */
	uint64_t generation;
	uint64_t now_ms;
	enum watch_mode mode;
	char message[512];          /* of what was done last; empty */
	const char *target, *wider; /* wider: what else could be granted; NULL */
	char duration[16];
	size_t top; /* the first row that is seen */
};

/* False: what is asked for does not fit, so that it must not be answered. */
bool watch_view_draw(struct screen *s, struct watch_list *l, struct watch_scene *scene,
	unsigned int columns, unsigned int rows);

#endif
