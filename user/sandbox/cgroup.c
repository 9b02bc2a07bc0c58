/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes, empties and removes the cgroup of a sandbox; see cgroup.h. Attaching is kernel/object.c's. */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../kernel/probe.h"

#define KILL_ROUND_MS 5
#define KILL_LIMIT_MS 5000
#define MAX_DEPTH 32
#define MAX_PROC_BYTES 65536

static int make(struct cgroup *cg, bool *ret_is_old)
{
	struct stat st;

	*ret_is_old = mkdir(cg->path, 0755) < 0;
	if (*ret_is_old && errno != EEXIST)
		return -errno;
	cg->fd = open(cg->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cg->fd < 0 || fstat(cg->fd, &st) < 0)
		return -errno;
	cg->id = st.st_ino; /* kernfs: the inode number is the cgroup's id (5.5) */
	return 0;
}

/* A fresh one in its place: since 6.13 whoever is cloned into a cgroup that was killed once is killed
 * too, as the kernel compares the kill count of the cgroup it comes from. */
static int renew(struct cgroup *cg)
{
	bool is_old;
	int r = cgroup_kill(cg);

	if (r >= 0)
		r = cgroup_remove(cg);
	cgroup_close(cg);
	return r < 0 ? r : make(cg, &is_old);
}

int cgroup_open(const char *name, struct cgroup *ret, bool *ret_is_leftover)
{
	char root[PATH_MAX - 128];
	int r = probe_cgroup2(root, sizeof(root));

	if (r < 0)
		return r;
	snprintf(ret->path, sizeof(ret->path), "%s/nej", root);
	if (mkdir(ret->path, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(ret->path, sizeof(ret->path), "%s/nej/%s", root, name);
	r = make(ret, ret_is_leftover);
	return r < 0 || !*ret_is_leftover ? r : renew(ret);
}

int cgroup_path_of(pid_t pid, char ret[static PATH_MAX])
{
	char path[64];
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	r = file_read(path, MAX_PROC_BYTES, &text, &len);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, "0::", 3) == 0) {
			snprintf(ret, PATH_MAX, "%s", line + 3);
			return 0;
		}
	return -ENOENT;
}

int cgroup_of(pid_t pid, struct cgroup *ret)
{
	char root[PATH_MAX - 128], below[PATH_MAX];
	int r = probe_cgroup2(root, sizeof(root));
	struct stat st;

	ret->fd = -1;
	if (r >= 0)
		r = cgroup_path_of(pid, below);
	if (r < 0)
		return r;
	if (strncmp(below, "/..", 3) == 0 ||
		snprintf(ret->path, sizeof(ret->path), "%s%s", root, below) >= PATH_MAX)
		return -ENOENT;
	ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0 || fstat(ret->fd, &st) < 0)
		return -errno;
	ret->id = st.st_ino;
	return 0;
}

/* It was removed. What else there may be to prevent a look says nothing of who is in it. */
static bool is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENODEV;
}

static bool is_populated(const struct cgroup *cg)
{
	char text[256];
	_cleanup_close_ int fd = openat(cg->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return !is_gone(errno);
	text[n] = 0;
	return strstr(text, "populated 1") != NULL;
}

bool cgroup_is_populated(const char *path)
{
	struct cgroup cg = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	bool is = cg.fd < 0 ? !is_gone(errno) : is_populated(&cg);

	cgroup_close(&cg);
	return is;
}

static void for_each_below(int dir_fd, int depth, void (*visit)(void *arg, int fd), void *arg)
{
	int copy = depth < MAX_DEPTH ? openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_close_ int fd = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			for_each_below(fd, depth + 1, visit, arg);
	}
	if (dir)
		closedir(dir);
	visit(arg, dir_fd);
}

void cgroup_each(const struct cgroup *cg, void (*visit)(void *arg, int dir_fd), void *arg)
{
	for_each_below(cg->fd, 0, visit, arg);
}

void cgroup_each_process(int dir_fd, void (*on_process)(void *arg, pid_t pid), void *arg)
{
	int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];

	while (procs && fgets(line, sizeof(line), procs)) {
		long pid = strtol(line, NULL, 10);

		if (pid > 0)
			on_process(arg, (pid_t)pid);
	}
}

static void kill_one(void *arg, pid_t pid)
{
	(void)arg;
	if (pid > 1)
		kill(pid, SIGKILL);
}

/* Before cgroup.kill (5.14): one by one, until nobody is left who could fork. */
static void kill_each(void *arg, int dir_fd)
{
	cgroup_each_process(dir_fd, kill_one, arg);
}

static void remove_children(void *arg, int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	(void)arg;
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
}

int cgroup_kill(const struct cgroup *cg)
{
	struct timespec pause = {.tv_nsec = KILL_ROUND_MS * 1000000};

	for (int ms = 0; is_populated(cg); ms += KILL_ROUND_MS) {
		_cleanup_close_ int fd = openat(cg->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

		if (ms > KILL_LIMIT_MS)
			return -ETIMEDOUT;
		if (fd < 0 || write(fd, "1", 1) < 0)
			cgroup_each(cg, kill_each, NULL);
		if (is_populated(cg))
			nanosleep(&pause, NULL);
	}
	return 0;
}

int cgroup_remove(struct cgroup *cg)
{
	if (cg->fd < 0)
		return 0;
	if (rmdir(cg->path) == 0 || errno == ENOENT)
		return 0;
	cgroup_each(cg, remove_children, NULL);
	return rmdir(cg->path) < 0 ? -errno : 0;
}

void cgroup_close(struct cgroup *cg)
{
	if (cg->fd >= 0)
		close(cg->fd);
	cg->fd = -1;
}
