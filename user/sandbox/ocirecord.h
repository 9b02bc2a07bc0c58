/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /run/nej/.oci/: which sandbox a container is in, so that its end finds it when annotations and bundle
 * are gone. A container is told by its id and its bundle together: ids are a runtime's own.
 */
#ifndef NEJ_SANDBOX_OCIRECORD_H
#define NEJ_SANDBOX_OCIRECORD_H

#include <stdbool.h>

#include "ocistate.h"
#include "state.h"

#define OCIRECORD_FILE_BYTES 64

struct ocirecord {
	char file[OCIRECORD_FILE_BYTES]; /* below the folder */
	char name[sizeof(((struct state *)NULL)->name)];
	char container[OCISTATE_ID_BYTES];
	pid_t hook; /* that starts it: at work while it lives */
	unsigned long long hook_start;
	unsigned long long policy_hash; /* of the path that was chosen */
	bool has_ended;                 /* the container has, and others still live in its cgroup */
};

/* Held while a sandbox is let go, and while a container is found to be in one: else it could be let go
 * right behind whoever has found it. A descriptor, to be closed; -EWOULDBLOCK (waits is false). */
int ocirecord_lock(bool waits);

/* Written before anything is attached. Until this process ends the hook that starts the container is at
 * work. 0, -EWOULDBLOCK (another one is, for the same container), other negative errno. */
int ocirecord_begin(const struct ocistate *s, const char *name, const char *policy);
/* 0, -ENOENT, -EBADMSG (a hook was killed while it wrote it); ret->file is set in any case. */
int ocirecord_find(const struct ocistate *s, struct ocirecord *ret);
bool ocirecord_is_at_work(const struct ocirecord *r);
int ocirecord_mark_ended(const struct ocirecord *r);
void ocirecord_remove(const struct ocirecord *r);
/* visit may remove the one it is given; one that is not 0 ends it, and is returned. */
int ocirecord_each(int (*visit)(void *arg, const struct ocirecord *r), void *arg);

/* Was the policy at this path chosen for it? (It may have got another by `nej reload`.) */
bool ocirecord_is_by(const struct ocirecord *r, const char *policy);
/* The sandbox of that name is this container's. */
bool ocirecord_is_of(const struct ocirecord *r, const struct state *s);

#endif
