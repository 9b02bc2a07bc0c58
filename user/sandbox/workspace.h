/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `nej run --workspace`: the command writes below a few paths and into folders of its own for what is
 * temporary, and does not find the user's credentials. By mounts, on every kernel; with Landlock as a
 * second fence where it is of version 2. Read mask.h for what is hidden without it.
 */
#ifndef NEJ_SANDBOX_WORKSPACE_H
#define NEJ_SANDBOX_WORKSPACE_H

#include <stddef.h>

#include "identity.h"

#define WORKSPACE_MAX_PATHS 16
#define WORKSPACE_WHY_BYTES 512

struct workspace {
	char *writable[WORKSPACE_MAX_PATHS]; /* resolved; the first is the workspace */
	size_t n_writable;
	char *readable[WORKSPACE_MAX_PATHS]; /* resolved: credentials that it may find */
	size_t n_readable;
};

struct workspace_ask {
	const char *dir; /* NULL: no workspace */
	const char *const *writable;
	size_t n_writable;
	const char *const *readable;
	size_t n_readable;
};

/* Resolves what was asked for. 0; -EINVAL with a sentence why; -ENOMEM. */
int workspace_resolve(const struct workspace_ask *ask, const struct identity *id,
	struct workspace *ret, char why[static WORKSPACE_WHY_BYTES]);
void workspace_done(struct workspace *w);

/* In the sandbox's mount namespace, as root, before its /proc is there; own_dir is a tmpfs of ours to
 * work in. 0, or negative errno with the path in ret_what. hide covers a path, if it is there. */
int workspace_mount(const struct workspace *w, const struct identity *id, const char *own_dir,
	int (*hide)(void *arg, const char *path), void *arg, char *ret_what, size_t what_bytes);
/* In the process that becomes the command, without new privileges. own_dir as before. 0 also where the
 * kernel cannot. */
int workspace_restrict(const struct workspace *w, const char *own_dir);

#endif
