/* SPDX-License-Identifier: GPL-2.0-only */
/* Folders of pinned maps and links in bpffs; see pins.h. */
#include "pins.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <bpf/bpf.h>

#include "../../include/abi.h"
#include "../base/cleanup.h"

#define BPFFS "/sys/fs/bpf"

static void close_dir(DIR *d)
{
	closedir(d);
}
DEFINE_CLEANUP(DIR, close_dir);

bool pins_is_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= PINS_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return true;
}

int pins_prepare(void)
{
	struct statfs fs;

	if (statfs(BPFFS, &fs) < 0)
		return -errno;
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC &&
		mount("bpf", BPFFS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0)
		return -errno;
	if (mkdir(NEJ_PIN_ROOT, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* One that is there already may have been made with another mode. */
	return chmod(NEJ_PIN_ROOT, 0700) < 0 ? -errno : 0;
}

static void pins_path(const char *name, char ret[static PINS_PATH_BYTES])
{
	snprintf(ret, PINS_PATH_BYTES, NEJ_PIN_ROOT "/%s", name);
}

void pins_map_path(const char *name, const char *map, char ret[static PINS_PATH_BYTES])
{
	snprintf(ret, PINS_PATH_BYTES, NEJ_PIN_ROOT "/%.63s/%.31s", name, map);
}

int pins_begin(const char *name, char ret_dir[static PINS_PATH_BYTES])
{
	char links[PINS_PATH_BYTES + 8];
	int r = pins_prepare();

	if (r < 0)
		return r;
	snprintf(ret_dir, PINS_PATH_BYTES, NEJ_PIN_ROOT "/+%.63s+%d", name, getpid());
	r = pins_remove(ret_dir);
	if (r < 0)
		return r;
	snprintf(links, sizeof(links), "%.250s/links", ret_dir);
	if (mkdir(ret_dir, 0700) < 0 || mkdir(links, 0700) < 0)
		return -errno;
	return 0;
}

int pins_commit(const char *name, const char *dir)
{
	char path[PINS_PATH_BYTES];
	int r;

	pins_path(name, path);
	/* The new links are attached already: taking the old ones away opens nothing. */
	r = pins_remove(path);
	if (r < 0)
		return r;
	return rename(dir, path) < 0 ? -errno : 0;
}

/* Unlinks every file of one folder and the folder. */
static int remove_flat(const char *path)
{
	_cleanup_(close_dir_ptr)
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && unlinkat(dirfd(d), e->d_name, 0) < 0 &&
			errno != EISDIR && errno != EPERM && errno != ENOENT)
			return -errno;
	return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

int pins_remove(const char *dir)
{
	char links[PINS_PATH_BYTES + 8];
	int r;

	snprintf(links, sizeof(links), "%.250s/links", dir);
	r = remove_flat(links);
	return r < 0 ? r : remove_flat(dir);
}

int pins_remove_name(const char *name)
{
	char path[PINS_PATH_BYTES];

	if (!pins_is_name(name))
		return -EINVAL;
	pins_path(name, path);
	return pins_remove(path);
}

static bool link_is_live(const char *dir, const char *name)
{
	char path[PINS_PATH_BYTES * 3];
	_cleanup_close_ int fd = -1;
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = bpf_obj_get(path);
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.cgroup.cgroup_id;
}

static bool links_are_live(const char *name)
{
	char links[PINS_PATH_BYTES + 8];
	_cleanup_(close_dir_ptr)
	DIR *d = NULL;
	bool is_live = false;
	struct dirent *e;

	snprintf(links, sizeof(links), NEJ_PIN_ROOT "/%.200s/links", name);
	d = opendir(links);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.' && !is_live)
			is_live = link_is_live(links, e->d_name);
	}
	return is_live;
}

bool pins_are_live(const char *name)
{
	return pins_is_name(name) && links_are_live(name);
}

/* A folder `+NAME+PID` belongs to a running supervisor that is still filling it. */
static bool is_being_filled(const char *entry)
{
	const char *plus = strrchr(entry, '+');
	int pid = plus ? atoi(plus + 1) : 0;

	return pid > 0 && (!kill(pid, 0) || errno == EPERM);
}

int pins_collect(void)
{
	_cleanup_(close_dir_ptr)
	DIR *d = opendir(NEJ_PIN_ROOT);
	struct dirent *e;
	int n_removed = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d))) {
		char path[PINS_PATH_BYTES * 2];

		if (e->d_name[0] == '.' || links_are_live(e->d_name))
			continue;
		if (e->d_name[0] == '+' && is_being_filled(e->d_name))
			continue;
		snprintf(path, sizeof(path), NEJ_PIN_ROOT "/%.200s", e->d_name);
		n_removed += !pins_remove(path);
	}
	return n_removed;
}
