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

/* What an operator takes upon himself. */
struct ociguard_accept {
	uint64_t caps; /* bit N: capability N */
	bool mounts;
};

/* What a bundle's config.json says. */
struct ociguard_facts {
	uint64_t caps; /* in any of its sets */
	bool has_own_cgroup_ns;
	char exposed
		[PATH_MAX]; /* the first folder of the host it can write to and must not; empty */
	const char *why_exposed; /* what is in it */
};

/* LIST of `--accept`: capabilities without CAP_, and `mounts`, with commas. 0 or -EINVAL. */
int ociguard_parse_accept(
	const char *list, struct ociguard_accept *ret, char *why, size_t why_bytes);

/* text: of config.json; bundle: its folder. 0, or -EINVAL with a sentence why. */
int ociguard_read(const char *text, size_t len, const char *bundle, struct ociguard_facts *ret,
	char *why, size_t why_bytes);

/* pid: the container's first process, which waits. 0, or a negative errno with a sentence why it cannot
 * be confined. */
int ociguard_check(const struct ociguard_facts *facts, pid_t pid,
	const struct ociguard_accept *accept, char *why, size_t why_bytes);

#endif
