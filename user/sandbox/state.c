/* SPDX-License-Identifier: GPL-2.0-only */
/* Lock, state file and folder of a running sandbox; see state.h. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/file.h"

#define MAX_STATE_BYTES 65536

void state_path(const char *name, const char *file, char *ret, size_t max_bytes)
{
	snprintf(ret, max_bytes, STATE_ROOT "/%s%s%s", name, *file ? "/" : "", file);
}

/* The one before may have removed the file between our open and our lock. */
static bool is_still_there(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
		mine.st_dev == there.st_dev;
}

int state_lock(const char *name)
{
	char path[PATH_MAX];

	for (;;) {
		_cleanup_close_ int fd = -1;
		int r;

		state_path(name, "", path, sizeof(path));
		r = file_mkdirs(path, 0700);
		if (r < 0)
			return r;
		state_path(name, "lock", path, sizeof(path));
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			return -errno;
		if (is_still_there(fd, path))
			return TAKE_FD(fd);
	}
}

static bool is_locked(const char *name)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	state_path(name, "lock", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static bool has_ring(const char *name)
{
	char path[PATH_MAX];

	state_path(name, "ring.0", path, sizeof(path));
	return access(path, F_OK) == 0;
}

static void remove_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

/* It goes in one step: half of a folder would look like that of a dead supervisor, to be taken over. */
void state_remove(const char *name, bool keeps_rings)
{
	char path[PATH_MAX], gone[PATH_MAX];

	if (keeps_rings && has_ring(name))
		return;
	state_path(name, "", path, sizeof(path));
	snprintf(gone, sizeof(gone), STATE_ROOT "/.gone-%s", name);
	remove_folder(gone); /* of one that was killed here */
	remove_folder(rename(path, gone) < 0 ? path : gone);
}

uint64_t state_pid_start(pid_t pid)
{
	char path[64];
	_cleanup_free_ char *text = NULL;
	char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, &len) < 0)
		return 0;
	at = strrchr(text, ')'); /* the name before may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* --- the file */

static void add_text(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "%s=", key);
	for (; *value; value++)
		buf_add_char(b, *value == '\n' ? '?' : *value);
	buf_add_char(b, '\n');
}

static void add_number(struct buf *b, const char *key, uint64_t value)
{
	buf_printf(b, "%s=%llu\n", key, (unsigned long long)value);
}

/* X(key): the texts and numbers of the file, for writing and reading alike. */
#define TEXTS(X) X(user) X(home) X(policy_sha256) X(policy) X(audit) X(cgroup) X(container)
#define NUMBERS(X)                                                                                 \
	X(pid)                                                                                     \
	X(pid_start)                                                                               \
	X(started_us) X(uid) X(generation) X(proxy_port) X(is_host_net) X(is_attached) X(inspects)

int state_write(const struct state *s)
{
	char path[PATH_MAX];
	struct buf b;
	int r;

	buf_init(&b);
#define X(key) add_text(&b, #key, s->key);
	TEXTS(X)
#undef X
#define X(key) add_number(&b, #key, (uint64_t)s->key);
	NUMBERS(X)
#undef X
	state_path(s->name, "state.new", path, sizeof(path));
	if (b.is_failed) {
		r = -ENOMEM;
	} else {
		_cleanup_close_ int fd =
			open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

		r = fd < 0 ? -errno : file_write_fd(fd, b.data, b.len);
	}
	buf_done(&b);
	if (r >= 0) {
		char final[PATH_MAX];

		state_path(s->name, "state", final, sizeof(final));
		r = rename(path, final) < 0 ? -errno : 0;
	}
	return r;
}

static void take_line(struct state *s, const char *key, const char *value)
{
#define X(name)                                                                                    \
	if (strcmp(key, #name) == 0)                                                               \
		snprintf(s->name, sizeof(s->name), "%s", value);
	TEXTS(X)
#undef X
#define X(name)                                                                                    \
	if (strcmp(key, #name) == 0)                                                               \
		s->name = (__typeof__(s->name))strtoull(value, NULL, 10);
	NUMBERS(X)
#undef X
}

int state_read(const char *name, struct state *ret)
{
	char path[PATH_MAX];
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t len;
	struct stat st;
	int r;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	state_path(name, "", path, sizeof(path));
	if (strchr(name, '/') || name[0] == '.' || stat(path, &st) < 0)
		return -ENOENT;
	ret->is_live = is_locked(name);
	state_path(name, "state", path, sizeof(path));
	r = file_read(path, MAX_STATE_BYTES, &text, &len);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = 0;
		take_line(ret, line, value);
	}
	return 0;
}

int state_each(void (*on_name)(void *arg, const char *name), void *arg)
{
	DIR *dir = opendir(STATE_ROOT);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)))
		/* a name has no dot: NAME.sock is its control socket */
		if (!strchr(entry->d_name, '.') && entry->d_name[0] != '+')
			on_name(arg, entry->d_name);
	closedir(dir);
	return 0;
}
