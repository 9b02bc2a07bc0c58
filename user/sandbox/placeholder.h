/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A random text that stands for a secret inside the sandbox and looks like one: same length, same
 * kinds of characters, the prefix by which a service knows its tokens. Tells nothing else of it.
 */
#ifndef NEJ_SANDBOX_PLACEHOLDER_H
#define NEJ_SANDBOX_PLACEHOLDER_H

#include <stddef.h>

#define PLACEHOLDER_MIN_RANDOM 24
/* The longest prefix, and what a short value is made longer by. */
#define PLACEHOLDER_MORE_BYTES (PLACEHOLDER_MIN_RANDOM + 16)

/* Writes a placeholder for the value and a NUL; ret has len_bytes + PLACEHOLDER_MORE_BYTES + 1
 * bytes. Each of its characters is a letter, a digit or one of `_-.`. It is drawn again by the caller
 * if it must differ from another. Returns its length, or negative errno. */
int placeholder_draw(const char *value, size_t len_bytes, char *ret);

/* How many bytes of the value are a prefix that is no secret: one that services publish for their
 * tokens (`ghp_`, `AKIA`), 0 for none. */
size_t placeholder_prefix(const char *value, size_t len_bytes);

#endif
