/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Containers that nej could not hold: what their configuration (OCI runtime specification 1.0.2,
 * config.md and config-linux.md) and their processes say. A container that can take the programs away,
 * leave its cgroup, or send what no socket of its own sends, is refused, not called confined.
 */
#ifndef NEJ_SANDBOX_OCIGUARD_H
#define NEJ_SANDBOX_OCIGUARD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ocimounts.h"

/* What an operator takes upon himself. */
struct ociguard_accept {
	uint64_t caps; /* bit N: capability N */
	bool mounts, devices, processes;
};

/* What a bundle's config.json says. */
struct ociguard_facts {
	uint64_t caps; /* in any of its sets */
	bool has_new_mntns;
	bool has_new_netns;   /* not one that somebody made for it, and could have filled */
	bool has_other_hooks; /* than ours, which may still do anything */
	bool has_disks;       /* all block devices, for writing */
	struct ocimounts mounts;
};

/* LIST of `--accept`: capabilities without CAP_, `mounts`, `devices`, `processes`, with commas. 0 or
 * -EINVAL. */
int ociguard_parse_accept(
	const char *list, struct ociguard_accept *ret, char *why, size_t why_bytes);

/* text: of config.json; bundle: its folder. 0, or -EINVAL with a sentence why. */
int ociguard_read(const char *text, size_t len, const char *bundle, struct ociguard_facts *ret,
	char *why, size_t why_bytes);

/* pid: the container's first process, which waits; pod_uid: of the pod that it is in, whose cgroup may be
 * confined as one; may be empty. 0, or a negative errno with a sentence why it cannot be confined. */
int ociguard_check(const struct ociguard_facts *facts, pid_t pid, const char *pod_uid,
	const struct ociguard_accept *accept, char *why, size_t why_bytes);

#endif
