/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes the sandboxed command's privileges: user, groups, capabilities. Read filter.h next. */
#ifndef NEJ_SANDBOX_CONFINE_H
#define NEJ_SANDBOX_CONFINE_H

#include "identity.h"

/* Becomes the user, with its primary group alone, without any capability, for good. 0 or negative
 * errno; a process that failed half-way must end. */
int confine_become(const struct identity *id);

/* In the host's network namespace, where its abstract Unix-domain sockets are in reach: none made
 * outside may be connected to any more (Landlock, Linux 6.12). Where the kernel cannot, fine: see
 * object_load_unix. */
void confine_abstract_sockets(void);

#endif
