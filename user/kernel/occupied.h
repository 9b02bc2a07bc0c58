/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sandbox's programs stand on a cgroup already, and on which cgroup a dead one's hang. */
#ifndef NEJ_KERNEL_OCCUPIED_H
#define NEJ_KERNEL_OCCUPIED_H

#include <stdbool.h>
#include <stdint.h>

#include "pins.h"

struct occupied_plan {
	const char *except; /* a sandbox that does not count; NULL */
	bool is_effective;  /* those of cgroups above count too */
	bool has_uid;
	uint32_t uid; /* sandboxes of other users alone do not count */
};

/* Do programs of a sandbox run for this cgroup? A uid guard above does not count: both refuse where
 * they meet. 1 with its name (`?` when nobody has pinned them), 0, negative errno. */
int occupied_by(
	int cgroup_fd, const struct occupied_plan *plan, char ret_name[static PINS_NAME_BYTES]);

/* The id of the cgroup that the pinned links of this name hang on; 0: there are none. */
uint64_t occupied_cgroup(const char *name);

#endif
