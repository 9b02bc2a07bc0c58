/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is there before nej attaches to it: the cgroup, its network namespace, its processes; and why
 * it cannot be confined from here. Read attach.h next.
 */
#ifndef NEJ_SANDBOX_TARGET_H
#define NEJ_SANDBOX_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cgroup.h"

#define TARGET_CONTAINER_BYTES 65

enum target_net {
	TARGET_NET_HOST, /* nej's own namespace */
	TARGET_NET_SHARED, /* another one, with devices or routes: others may listen on its loopback */
	TARGET_NET_NONE, /* nothing but lo */
};

struct target_plan {
	const char *cgroup_path; /* NULL: the cgroup of pid */
	pid_t pid;
	const char *pod_uid; /* the cgroup above that of pid, if it is that of this pod; NULL */
	const char *name;    /* of the sandbox: what a dead supervisor of it left does not count */
	bool has_uid;
	uid_t uid;          /* one user's sockets alone */
	bool is_everywhere; /* the cgroup root, for one user's sockets */
};

struct target {
	struct cgroup cgroup;
	pid_t pid; /* the one asked for, else one of the cgroup's; 0: it is empty */
	uid_t uid; /* of that process, as the host sees it */
	int netns_fd;
	enum target_net net;
	char container[TARGET_CONTAINER_BYTES]; /* 64 hex digits of the cgroup's path; empty */
	unsigned int n_raw;                     /* of its processes: they may make packet sockets */
	bool is_leftover;                       /* a dead supervisor's links are on the cgroup */
};

/* On failure -EINVAL with a sentence why. netns_fd and cgroup.fd are the caller's to close. */
int target_find(const struct target_plan *plan, struct target *ret, char *why, size_t why_bytes);

/* From the path of a container's cgroup to that of its pod's, where it has one: one that other pods share
 * is not the pod's. It may be more than one step: crun makes a cgroup of its own below systemd's scope.
 * uid may be NULL. */
bool target_climb_to_pod(char *path, const char *uid);

/* --- for tests */

/* The id of a container that a cgroup's path names; false: none. */
bool target_container_of(const char *path, char ret[static TARGET_CONTAINER_BYTES]);
/* Is a cgroup of this name the one that the kubelet makes for the pod of this uid? */
bool target_names_pod(const char *name, const char *uid);
/* Why a program of this name (of its executable) means that sockets are not this kernel's; or NULL. */
const char *target_other_kernel(const char *exe);

#endif
