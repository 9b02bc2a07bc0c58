/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sandboxed command does not find in its file system: services of the host that resolve or
 * connect for others, nej's own files, other processes. Mounts in a namespace of its own; nothing on
 * disk changes.
 */
#ifndef NEJ_SANDBOX_MASK_H
#define NEJ_SANDBOX_MASK_H

#include <stddef.h>
#include <sys/types.h>

#include "identity.h"
#include "state.h"
#include "workspace.h"

/* The sandbox's own folder, where nej's state is outside. */
#define MASK_OWN_DIR STATE_ROOT

struct mask_plan {
	const struct identity *id;
	const char *const *files;     /* NULL-terminated; masked where they exist */
	const char *const *unix_open; /* NULL or NULL-terminated: sockets that stay */
	const char *anchors_of; /* sandbox whose trust files are shown (shadow.h); NULL: none */
	const struct workspace *workspace; /* NULL: everything stays as writable as it is */
	const char *cwd; /* sockets below it stay when it is the user's own; NULL: none */
};

/* In a new mount namespace and as pid 1 of a new pid namespace. 0, or negative errno with the path
 * or step in ret_what. */
int mask_apply(const struct mask_plan *plan, char *ret_what, size_t what_bytes);

#endif
