/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bind mounts, read-only; see shadow.h. The folder of hashed names gets one more by an overlay whose
 * upper of two read-only layers holds that name alone: the files below stay the system's.
 */
#include "shadow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../tls/bundle.h"

#define HASHED_DIR "/etc/ssl/certs"
#define LAYER_DIR STATE_ROOT "/hashed"
#define READ_ONLY (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

int shadow_open(struct shadow *s, const char *sandbox)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ANCHORS_COUNT; i++) {
		state_path(sandbox, anchors_names[i], path, sizeof(path));
		s->fds[i] = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		if (s->fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int show(int fd, const char *target)
{
	char source[64];
	_cleanup_close_ int made = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (made < 0 || mount(source, target, NULL, MS_BIND, NULL) < 0 ||
		mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | READ_ONLY, NULL) < 0)
		return -errno;
	return 0;
}

int shadow_show(struct shadow *s)
{
	char target[PATH_MAX];
	int r = mkdir(ANCHORS_DIR, 0755) < 0 || chmod(ANCHORS_DIR, 0755) < 0 ? -errno : 0;

	for (size_t i = 0; i < ANCHORS_COUNT; i++) {
		snprintf(target, sizeof(target), ANCHORS_DIR "/%s", anchors_names[i]);
		if (r >= 0)
			r = show(s->fds[i], target);
		cleanup_close(&s->fds[i]);
		s->fds[i] = -1;
	}
	return r;
}

/* --- over the system's */

/* A mount over a mount of the same file would be harmless, and one more to look through. */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void cover(enum anchors_file file, const char *target)
{
	char source[PATH_MAX];

	snprintf(source, sizeof(source), ANCHORS_DIR "/%s", anchors_names[file]);
	if (!is_same(source, target))
		mount(source, target, NULL, MS_BIND, NULL); /* read-only as its source is */
}

static void cover_java(void *arg, const char *path)
{
	(void)arg;
	cover(ANCHORS_JAVA, path);
}

static void add_hash(const char *hash)
{
	char link[PATH_MAX];

	snprintf(link, sizeof(link), LAYER_DIR "/%s.0", hash);
	if (access(HASHED_DIR, F_OK) < 0 || mkdir(LAYER_DIR, 0755) < 0 ||
		chmod(LAYER_DIR, 0755) < 0 || symlink(ANCHORS_DIR "/ca.pem", link) < 0)
		return;
	mount("nej", HASHED_DIR, "overlay", READ_ONLY, "lowerdir=" LAYER_DIR ":" HASHED_DIR);
}

void shadow_apply(const char *hash)
{
	/* first: what is mounted inside the folder would be below it */
	add_hash(hash);
	for (size_t i = 0; bundle_system_paths[i]; i++)
		cover(ANCHORS_BUNDLE, bundle_system_paths[i]);
	/* Java's stores come from the same roots; where those have none, its own are better */
	if (bundle_find_system())
		anchors_each_java(cover_java, NULL);
}
