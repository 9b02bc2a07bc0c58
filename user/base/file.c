/* SPDX-License-Identifier: GPL-2.0-only */
/* Files read and written whole, and who could change them; see file.h. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

int file_read_fd(int fd, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	_cleanup_free_ char *data = NULL;
	size_t len = 0, cap = 0;
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size > 0)
		cap = (size_t)st.st_size + 1;
	if (cap < 4096)
		cap = 4096;
	for (;;) {
		ssize_t n;

		if (!data || len + 1 >= cap) {
			char *more = realloc(data, data ? (cap *= 2) : cap);

			if (!more)
				return -ENOMEM;
			data = more;
		}
		n = read(fd, data + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
		if (len > max_bytes)
			return -EFBIG;
	}
	data[len] = 0;
	*ret_data = TAKE_PTR(data);
	*ret_len = len;
	return 0;
}

int file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max_bytes, ret_data, ret_len);
}

int file_write_fd(int fd, const void *data, size_t len_bytes)
{
	const char *p = data;

	while (len_bytes) {
		ssize_t n = write(fd, p, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

int file_replace(const char *path, const void *data, size_t len_bytes, mode_t mode)
{
	char temp[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, data, len_bytes);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(temp, path) < 0))
		r = -errno;
	if (r < 0)
		unlink(temp);
	return r;
}

int file_put(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_write_fd(fd, text, strlen(text));
}

int file_mkdirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static bool is_owner(const struct stat *st, uid_t uid)
{
	return uid == FILE_NOT_ROOT ? st->st_uid != 0 : st->st_uid == uid;
}

static bool may_write(const struct stat *st, uid_t uid, gid_t gid)
{
	bool is_sticky_dir = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (is_owner(st, uid))
		return true; /* an owner can always give itself the write bit */
	if (uid == FILE_NOT_ROOT)
		gid = st->st_gid ? st->st_gid : gid;
	if (st->st_gid == gid && st->st_mode & S_IWGRP && !is_sticky_dir)
		return true;
	return st->st_mode & S_IWOTH && !is_sticky_dir;
}

/* One path and the folders above it, without resolving its last link. */
static int check_chain(char *path, uid_t uid, gid_t gid, char *ret_culprit)
{
	for (;;) {
		struct stat st;
		char *slash;

		if (lstat(path, &st) < 0)
			return -errno;
		/* Mode bits of a symbolic link mean nothing; its owner can replace it. */
		if (S_ISLNK(st.st_mode) ? is_owner(&st, uid) : may_write(&st, uid, gid)) {
			if (ret_culprit)
				snprintf(ret_culprit, PATH_MAX, "%s", path);
			return 1;
		}
		slash = strrchr(path, '/');
		if (!slash || (slash == path && !path[1]))
			return 0;
		if (slash == path)
			slash++;
		*slash = 0;
	}
}

int file_is_writable_by(const char *path, uid_t uid, gid_t gid, char *ret_culprit)
{
	char real[PATH_MAX], literal[PATH_MAX], cwd[PATH_MAX];
	int r;

	if (!realpath(path, real))
		return -errno;
	r = check_chain(real, uid, gid, ret_culprit);
	if (r)
		return r;
	/* The way the path was written may go over links the user could turn. */
	if (path[0] == '/')
		r = snprintf(literal, sizeof(literal), "%s", path);
	else if (getcwd(cwd, sizeof(cwd)))
		r = snprintf(literal, sizeof(literal), "%s/%s", cwd, path);
	else
		return -errno;
	if (r >= (int)sizeof(literal))
		return -ENAMETOOLONG;
	return check_chain(literal, uid, gid, ret_culprit);
}

static bool may(const struct stat *st, uid_t uid, gid_t gid, mode_t others_bit)
{
	if (!uid)
		return true;
	if (st->st_uid == uid)
		return st->st_mode & others_bit << 6;
	if (st->st_gid == gid)
		return st->st_mode & others_bit << 3;
	return st->st_mode & others_bit;
}

int file_is_readable_by(const char *path, uid_t uid, gid_t gid)
{
	char real[PATH_MAX];
	mode_t bit = S_IROTH;

	if (!realpath(path, real))
		return -errno;
	for (;;) {
		char *slash = strrchr(real, '/');
		struct stat st;

		if (stat(*real ? real : "/", &st) < 0)
			return -errno;
		if (!may(&st, uid, gid, bit))
			return 0;
		if (!slash)
			return 1;
		*slash = 0;
		bit = S_IXOTH;
	}
}
