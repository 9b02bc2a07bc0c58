/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads programs off cgroups and links off pins; see occupied.h. */
#include "occupied.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bpf/bpf.h>

#include "../../include/abi.h"
#include "../base/cleanup.h"
#include "object.h"

#define PROGRAM "nej_egress" /* one that every sandbox has */
#define ROOT_ID 1            /* of the cgroup root */
#define MAX_PROGRAMS 256     /* 64 a cgroup, and those above */

static int read_link(const char *name, struct bpf_link_info *ret)
{
	__u32 len = sizeof(*ret);
	char path[PINS_PATH_BYTES * 2];
	_cleanup_close_ int fd = -1;

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), NEJ_PIN_ROOT "/%.63s/links/" PROGRAM, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	return bpf_obj_get_info_by_fd(fd, ret, &len) < 0 ? -errno : 0;
}

uint64_t occupied_cgroup(const char *name)
{
	struct bpf_link_info info;

	return pins_is_name(name) && read_link(name, &info) == 0 ? info.cgroup.cgroup_id : 0;
}

static bool is_ours(__u32 id)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

	return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		strcmp(info.name, PROGRAM) == 0;
}

static void find_owner(__u32 id, char ret_name[static PINS_NAME_BYTES])
{
	DIR *dir = opendir(NEJ_PIN_ROOT);
	struct dirent *entry;
	struct bpf_link_info info;
	bool is_found = false;

	strcpy(ret_name, "?");
	while (dir && !is_found && (entry = readdir(dir))) {
		is_found = entry->d_name[0] != '.' && read_link(entry->d_name, &info) == 0 &&
			info.prog_id == id;
		if (is_found)
			snprintf(ret_name, PINS_NAME_BYTES, "%.63s", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* Is it for one user's sockets, and not in the way of the plan's? */
static bool is_aside(const struct occupied_plan *plan, const char *owner)
{
	struct nej_settings s;

	if (plan->except && strcmp(owner, plan->except) == 0)
		return true;
	if (object_settings_pinned(owner, &s) < 0 || !(s.flags & NEJ_F_SCOPE_UID))
		return false;
	return plan->has_uid ? s.scope_uid != plan->uid : occupied_cgroup(owner) == ROOT_ID;
}

int occupied_by(
	int cgroup_fd, const struct occupied_plan *plan, char ret_name[static PINS_NAME_BYTES])
{
	__u32 ids[MAX_PROGRAMS], n = MAX_PROGRAMS, flags = 0;

	if (bpf_prog_query(cgroup_fd, BPF_CGROUP_INET_EGRESS,
		    plan->is_effective ? BPF_F_QUERY_EFFECTIVE : 0, &flags, ids, &n) < 0)
		return -errno;
	for (__u32 i = 0; i < n; i++) {
		if (!is_ours(ids[i]))
			continue;
		find_owner(ids[i], ret_name);
		if (!is_aside(plan, ret_name))
			return 1;
	}
	return 0;
}
