/* SPDX-License-Identifier: GPL-2.0-only */
/* The log as a file; see logfile.h. */
#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"

#define MAX_OLD 9999

void logfile_name(const char *path, unsigned int n, char ret[static PATH_MAX])
{
	if (n)
		snprintf(ret, PATH_MAX, "%s.%u", path, n);
	else
		snprintf(ret, PATH_MAX, "%s", path);
}

unsigned int logfile_count_old(const char *path)
{
	char name[PATH_MAX];
	unsigned int n = 0;
	struct stat st;

	while (n < MAX_OLD) {
		logfile_name(path, n + 1, name);
		if (stat(name, &st) < 0 || !S_ISREG(st.st_mode))
			break;
		n++;
	}
	return n;
}

/* The lock file goes when its holder closes, so the one just locked may be gone from its name. */
static int lock(const char *log_path, int *ret_fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.lock", log_path);
	for (;;) {
		_cleanup_close_ int fd =
			open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		struct stat held, named;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (fstat(fd, &held) < 0)
			return -errno;
		if (stat(path, &named) == 0 && named.st_dev == held.st_dev &&
			named.st_ino == held.st_ino) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
	}
}

/* Opens the log and takes note of its size. */
static int open_log(struct logfile *f)
{
	_cleanup_close_ int fd = open(f->path,
		O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0640);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	f->size_bytes = (uint64_t)st.st_size;
	f->fd = TAKE_FD(fd);
	return 0;
}

int logfile_open(struct logfile *f, const char *path)
{
	int r;

	f->fd = f->lock_fd = -1;
	f->is_changed = f->is_torn = false;
	if (snprintf(f->path, sizeof(f->path), "%s", path) >= (int)sizeof(f->path))
		return -ENAMETOOLONG;
	r = lock(f->path, &f->lock_fd);
	if (r == 0)
		r = open_log(f);
	if (r < 0)
		logfile_close(f);
	return r;
}

void logfile_close(struct logfile *f)
{
	char path[PATH_MAX];

	if (f->fd >= 0)
		close(f->fd);
	if (f->lock_fd >= 0) {
		snprintf(path, sizeof(path), "%s.lock", f->path);
		unlink(path);
		close(f->lock_fd);
	}
	f->fd = f->lock_fd = -1;
}

int logfile_cut(struct logfile *f, uint64_t size_bytes)
{
	if (ftruncate(f->fd, (off_t)size_bytes) < 0)
		return -errno;
	f->size_bytes = size_bytes;
	return 0;
}

/* The log was removed under us: what comes must not go to a file nobody can read. */
static int make_anew(struct logfile *f)
{
	int old = f->fd, r = open_log(f);

	if (r == 0)
		close(old);
	return r;
}

/* Before an append: is the file as it was left? */
static int check_size(struct logfile *f)
{
	uint64_t size_bytes = f->size_bytes;
	struct stat st;
	char last;

	if (f->is_torn) {
		if (ftruncate(f->fd, (off_t)f->size_bytes) < 0)
			return -errno;
		f->is_torn = false;
	}
	if (fstat(f->fd, &st) < 0)
		return -errno;
	if (st.st_nlink == 0) {
		int r = make_anew(f);

		if (r < 0)
			return r;
		f->is_changed = size_bytes > 0;
		return 0;
	}
	if ((uint64_t)st.st_size == size_bytes)
		return 0;
	f->is_changed = true;
	f->size_bytes = (uint64_t)st.st_size;
	/* The next record must not hang on what was cut in the middle. */
	if (st.st_size && pread(f->fd, &last, 1, st.st_size - 1) == 1 && last != '\n') {
		int r = file_write_fd(f->fd, "\n", 1);

		if (r < 0)
			return r;
		f->size_bytes++;
	}
	return 0;
}

int logfile_append(struct logfile *f, const void *data, size_t len_bytes)
{
	int r = check_size(f);

	if (r == 0)
		r = file_write_fd(f->fd, data, len_bytes);
	if (r == 0) {
		f->size_bytes += len_bytes;
		return 0;
	}
	/* A torn record in the middle would break the chain for good. */
	f->is_torn = ftruncate(f->fd, (off_t)f->size_bytes) < 0;
	return r;
}

/* PATH.(n-1) to PATH.n for all there are; what would come behind `keep` goes. */
static int shift(const char *path, unsigned int keep)
{
	char from[PATH_MAX], to[PATH_MAX];
	unsigned int n = logfile_count_old(path);

	while (n >= keep && n > 0) {
		logfile_name(path, n--, from);
		if (unlink(from) < 0)
			return -errno;
	}
	for (; n > 0; n--) {
		logfile_name(path, n, from);
		logfile_name(path, n + 1, to);
		if (rename(from, to) < 0)
			return -errno;
	}
	return 0;
}

int logfile_rotate(struct logfile *f, unsigned int keep)
{
	char first[PATH_MAX];
	struct logfile old = *f;
	int r = shift(f->path, keep ? keep : 1);

	if (r < 0)
		return r;
	logfile_name(f->path, 1, first);
	if (fdatasync(f->fd) < 0 || rename(f->path, first) < 0)
		return -errno;
	r = open_log(f);
	if (r < 0) {
		/* Go on in the old one rather than in none. */
		f->fd = old.fd;
		return rename(first, f->path) < 0 ? -errno : r;
	}
	close(old.fd);
	return 0;
}
