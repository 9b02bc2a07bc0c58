/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names that spell an address: public wildcard-address services answer every name below them with
 * the address that stands in it, so such a name is as good as the address. A part of host.c.
 */
#ifndef NEJ_WIRE_EMBED_H
#define NEJ_WIRE_EMBED_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/addr.h"

/* name: lower case, checked, without trailing dot. True with the address the name stands for. */
bool embed_find(const char *name, size_t len_bytes, struct addr *ret);

#endif
