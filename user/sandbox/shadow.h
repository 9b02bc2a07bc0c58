/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shows the sandbox's trust files (anchors.h) to its programs: in a folder of their own, and over the
 * files where programs look that are told nothing. In init, in its mount namespace.
 */
#ifndef NEJ_SANDBOX_SHADOW_H
#define NEJ_SANDBOX_SHADOW_H

#include "anchors.h"

struct shadow {
	int fds[ANCHORS_COUNT]; /* O_PATH; -1 */
};

/* Before the state folder is masked. 0 or negative errno. */
int shadow_open(struct shadow *s, const char *sandbox);
/* After it: mounts them in ANCHORS_DIR. 0 or negative errno; closes what is open. */
int shadow_show(struct shadow *s);

/* Puts them over the system's bundles and Java's stores, and the authority under its hash into the
 * folder that OpenSSL and GnuTLS search. What cannot be covered stays as it is: programs then need
 * the variables. */
void shadow_apply(const char *hash);

#endif
