/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which name each address in the maps was learned for, so that a reload can ask the new policy about
 * the name and the client's cached answer stays good. apply.c is its only user.
 */
#ifndef NEJ_KERNEL_LEARNED_H
#define NEJ_KERNEL_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"
#include "../wire/host.h"

struct learned_row {
	struct addr addr;
	uint64_t expiry_ns; /* CLOCK_BOOTTIME; past: its open connections go on */
	uint8_t len;
	char name[HOST_MAX_BYTES];
};

struct learned {
	struct learned_row
		*rows; /* NEJ_MAX_LEARNED at most; then the one that expires first goes */
	size_t n, cap;
};

/* 0 or -ENOMEM. One that is there gets the new expiry. */
int learned_add(
	struct learned *l, const struct host *name, const struct addr *addr, uint64_t expiry_ns);
/* Forgets the rows that keep says no to. */
void learned_filter(
	struct learned *l, bool (*keep)(void *arg, const struct learned_row *row), void *arg);
void learned_done(struct learned *l);

#endif
