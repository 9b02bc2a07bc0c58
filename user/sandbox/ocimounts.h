/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of the host a container's mounts would put into its hands (OCI runtime specification 1.0.2,
 * config.md, "Mounts", and config-linux.md, "Readonly Paths"): by what it could free itself.
 */
#ifndef NEJ_SANDBOX_OCIMOUNTS_H
#define NEJ_SANDBOX_OCIMOUNTS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct ocimounts {
	const char *what;    /* what is in reach; NULL: nothing that matters */
	char path[PATH_MAX]; /* of the host: the first such folder or file */
	bool is_in_reach_read_only;
	const char *settings; /* the host's kernel settings, writable for uid 0 of the host; NULL */
};

/* config: of the bundle; bundle: its folder. */
void ocimounts_read(
	const json_t *config, const char *bundle, bool has_own_cgroup_ns, struct ocimounts *ret);

#endif
