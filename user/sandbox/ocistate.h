/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a container runtime tells its hooks: the state of the OCI runtime specification (1.0.2,
 * runtime.md, "State"), and the annotations by which nej and Kubernetes mark a container. Pure
 * reading; oci.c acts on it.
 */
#ifndef NEJ_SANDBOX_OCISTATE_H
#define NEJ_SANDBOX_OCISTATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OCISTATE_MAX_BYTES (1024 * 1024)
#define OCISTATE_ID_BYTES 256
#define OCISTATE_VALUE_BYTES 256

enum ocistate_kind {
	OCISTATE_CONTAINER, /* one for itself */
	OCISTATE_POD,       /* the first of a pod, which holds its namespaces */
	OCISTATE_IN_POD,    /* another of a pod */
	OCISTATE_WHOLE_POD, /* no container's: a pod as if it were one (oci.c) */
};

struct ocistate {
	char id[OCISTATE_ID_BYTES];
	pid_t pid; /* in the runtime's pid namespace; 0: it has ended */
	char bundle[PATH_MAX];
	bool has_annotations;
	enum ocistate_kind kind;
	char policy[PATH_MAX];           /* nej.policy; empty: it has none */
	char name[OCISTATE_VALUE_BYTES]; /* nej.name; the same */
	char pod_id[OCISTATE_ID_BYTES]; /* of the first container, as Kubernetes' runtimes say it */
	char pod_uid[OCISTATE_VALUE_BYTES]; /* by which the pod's cgroup is named */
};

/* 0, or -EINVAL with a sentence why. A runtime may give the annotations here or in the bundle alone. */
int ocistate_parse(const char *text, size_t len, struct ocistate *ret, char *why, size_t why_bytes);
/* The annotations of the bundle's config.json, into what ocistate_parse gave. */
int ocistate_parse_config(
	const char *text, size_t len, struct ocistate *s, char *why, size_t why_bytes);

#endif
