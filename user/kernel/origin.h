/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a redirected connection asked for and who asked: the lookup in the `flows` map that follows
 * every accept. Needs only a read-only descriptor of the map.
 */
#ifndef NEJ_KERNEL_ORIGIN_H
#define NEJ_KERNEL_ORIGIN_H

#include "../../include/abi.h"
#include "../base/addr.h"

/* client: the accepted socket's peer. 0, -ENOENT (the connection must be closed), other errno. */
int origin_find(int flows_fd, const struct endpoint *client, struct nej_origin *ret);

#endif
