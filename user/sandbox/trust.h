/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies that the sandbox's user could write are used only once somebody with root's rights has
 * approved this very content: `nej trust`. Kept by hash, with a copy to show what changed since.
 */
#ifndef NEJ_SANDBOX_TRUST_H
#define NEJ_SANDBOX_TRUST_H

#include <stdbool.h>

#define TRUST_ROOT "/var/lib/nej/trust"

/* Remembers this content (hash of the policy with its lists, 64 hex digits) for this path. */
int trust_add(const char *path, const char *sha256_hex);

/* 1 if this content was approved for this path, 0 if not, negative errno. */
int trust_has(const char *path, const char *sha256_hex);

/* Prints what changed since the content last approved for this path, as diff(1) does. False when
 * none was. */
bool trust_print_changes(const char *path);

#endif
