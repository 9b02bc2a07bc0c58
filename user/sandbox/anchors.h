/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom programs in the sandbox trust: the roots of the system, of the caller and of --ca, and the
 * authority that the worker makes. The supervisor keeps files of them in the state folder and writes
 * them anew for each worker; shadow.c shows them inside.
 */
#ifndef NEJ_SANDBOX_ANCHORS_H
#define NEJ_SANDBOX_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/buf.h"
#include "state.h"

#define ANCHORS_DIR STATE_ROOT "/trust" /* inside; read-only there */
#define ANCHORS_MAX_DER 4096            /* of the authority's certificate */
#define ANCHORS_HASH_BYTES 9

enum anchors_file {
	ANCHORS_BUNDLE, /* PEM: all of them */
	ANCHORS_CA,     /* PEM: the sandbox's authority alone */
	ANCHORS_JAVA,   /* JKS: all of them */
	ANCHORS_COUNT
};

/* The files' names, in the state folder and in ANCHORS_DIR. */
extern const char *const anchors_names[ANCHORS_COUNT];

struct anchors {
	struct buf roots; /* PEM */
	int fds[ANCHORS_COUNT];
	char hash[ANCHORS_HASH_BYTES]; /* of the authority's name, as OpenSSL's folders have it */
};

/* Gathers the roots: the system's bundle, those that variables of our environment name (which are set
 * anew inside), extra files. 0, or an exit status; the message is out. */
int anchors_collect(const char *const *extra, size_t n_extra, struct anchors *ret);
/* Makes the files, still empty. 0 or negative errno. */
int anchors_open(struct anchors *a, const char *sandbox);
/* Fills them; der_len 0: without an authority. 0; -EINVAL for what is no certificate; other negative
 * errno. */
int anchors_write(struct anchors *a, const void *der, size_t der_len);
/* The roots in a sealed memfd, the caller's; negative errno. */
int anchors_roots_fd(const struct anchors *a);
void anchors_done(struct anchors *a);

/* Java's own stores (lib/security/cacerts of every installation that can be found), which the
 * sandbox's is put over. Calls on_path for each; returns how many. */
size_t anchors_each_java(void (*on_path)(void *arg, const char *path), void *arg);

#endif
