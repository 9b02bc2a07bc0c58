/* SPDX-License-Identifier: GPL-2.0-only */
/* What a grant would have to name to let through what a record says was denied. */
#ifndef NEJ_CLI_TARGET_H
#define NEJ_CLI_TARGET_H

#include "../audit/read.h"
#include "wanted.h"

/* Printable ASCII, all of it. */
struct target {
	char narrow[WANTED_TEXT_BYTES]; /* exactly that; empty: no grant would help */
	char wide[WANTED_TEXT_BYTES];   /* the host of a request whole; empty: it is none */
	char why[WANTED_NOTE_BYTES];    /* why no grant would help */
};

/* 0, -ENOMEM. */
int target_of(const struct audit_record *r, struct target *ret);

#endif
