/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory for a value that nobody else may see: never swapped, in no core dump, zeroes in a forked
 * child, wiped when given back.
 */
#ifndef NEJ_SANDBOX_LOCKED_H
#define NEJ_SANDBOX_LOCKED_H

#include <stddef.h>

struct locked {
	char *data; /* NULL: none */
	size_t len; /* the holder's */
	size_t size_bytes;
};

/* Zeroed. 0 or negative errno (-ENOMEM also where RLIMIT_MEMLOCK is spent). */
int locked_new(size_t size_bytes, struct locked *ret);
void locked_free(struct locked *l);

#endif
