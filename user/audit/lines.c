/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a log across its rotated files; see lines.h. Where it is, it knows by inode: names move. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "logfile.h"

#define CHUNK_BYTES 65536
#define MAX_LINE_BYTES (1u << 20) /* longer ones are passed over */
#define NOWHERE UINT_MAX

struct lines {
	char path[PATH_MAX - 32];
	int fd;
	struct buf buf; /* read, from `at` on not given out yet */
	size_t at;
	bool is_skipping; /* the rest of an endless line */
};

DEFINE_CLEANUP(struct lines, lines_close);

void lines_close(struct lines *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	buf_done(&l->buf);
	free(l);
}

static int open_old(const struct lines *l, unsigned int n)
{
	char name[PATH_MAX];
	int fd;

	logfile_name(l->path, n, name);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int lines_open(const char *path, struct lines **ret)
{
	_cleanup_(lines_close_ptr)
	struct lines *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fd = -1;
	if (strlen(path) >= sizeof(l->path))
		return -ENAMETOOLONG;
	memcpy(l->path, path, strlen(path) + 1);
	l->fd = open_old(l, logfile_count_old(path));
	if (l->fd < 0)
		return l->fd;
	*ret = TAKE_PTR(l);
	return 0;
}

int lines_open_end(const char *path, size_t bytes, struct lines **ret)
{
	_cleanup_(lines_close_ptr)
	struct lines *l = calloc(1, sizeof(*l));
	off_t size;

	if (!l)
		return -ENOMEM;
	l->fd = -1;
	if (strlen(path) >= sizeof(l->path))
		return -ENAMETOOLONG;
	memcpy(l->path, path, strlen(path) + 1);
	l->fd = open_old(l, 0);
	if (l->fd < 0)
		return l->fd;
	size = lseek(l->fd, 0, SEEK_END);
	if (size < 0)
		return -errno;
	/* One byte before: a line may begin there. */
	if ((size_t)size > bytes) {
		lseek(l->fd, size - (off_t)bytes - 1, SEEK_SET);
		l->is_skipping = true;
	} else {
		lseek(l->fd, 0, SEEK_SET);
	}
	*ret = TAKE_PTR(l);
	return 0;
}

/* What number the open file has by now. */
static unsigned int find_self(const struct lines *l)
{
	unsigned int n = logfile_count_old(l->path);
	struct stat self;

	if (fstat(l->fd, &self) < 0)
		return NOWHERE;
	for (unsigned int i = 0; i <= n; i++) {
		char name[PATH_MAX];
		struct stat st;

		logfile_name(l->path, i, name);
		if (stat(name, &st) == 0 && st.st_ino == self.st_ino && st.st_dev == self.st_dev)
			return i;
	}
	return NOWHERE;
}

/* Goes to the next newer file. 1, 0: this is the newest, negative errno. */
static int go_on(struct lines *l)
{
	for (int i = 0; i < 10; i++) {
		unsigned int n = find_self(l);
		int fd;

		if (n == 0)
			return 0;
		fd = open_old(l, n == NOWHERE ? logfile_count_old(l->path) : n - 1);
		if (fd == -ENOENT)
			return 0; /* removed, or between two names */
		if (fd < 0)
			return fd;
		if (n != NOWHERE && find_self(l) != n) {
			close(fd); /* rotated meanwhile: the name was another file's */
			continue;
		}
		close(l->fd);
		l->fd = fd;
		buf_clear(&l->buf);
		l->at = 0;
		l->is_skipping = false;
		return 1;
	}
	return 0;
}

/* The writer cuts a torn record off after a failure: what was read of it is gone. */
static void follow_cut(struct lines *l)
{
	off_t at = lseek(l->fd, 0, SEEK_CUR);
	struct stat st;

	if (at < 0 || fstat(l->fd, &st) < 0 || st.st_size >= at)
		return;
	lseek(l->fd, st.st_size, SEEK_SET);
	buf_clear(&l->buf);
	l->at = 0;
}

/* Bytes read, 0 at the end, negative errno. */
static ssize_t fill(struct lines *l)
{
	ssize_t n;

	buf_drop_front(&l->buf, l->at);
	l->at = 0;
	if (l->buf.len > MAX_LINE_BYTES) {
		buf_clear(&l->buf);
		l->is_skipping = true;
	}
	if (buf_reserve(&l->buf, CHUNK_BYTES) < 0)
		return -ENOMEM;
	do
		n = read(l->fd, l->buf.data + l->buf.len, CHUNK_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->buf.len += (size_t)n;
	return n;
}

/* A whole line that was read. */
static bool take(struct lines *l, const char **ret_line, size_t *ret_len)
{
	while (l->at < l->buf.len) {
		const char *line = l->buf.data + l->at;
		const char *feed = memchr(line, '\n', l->buf.len - l->at);
		bool is_rest = l->is_skipping;

		if (!feed)
			return false;
		l->at += (size_t)(feed - line) + 1;
		l->is_skipping = false;
		if (is_rest)
			continue;
		*ret_line = line;
		*ret_len = (size_t)(feed - line);
		return true;
	}
	return false;
}

int lines_next(struct lines *l, const char **ret_line, size_t *ret_len)
{
	bool is_checked =
		false; /* a rotation may lie between the last read and the look at names */

	for (;;) {
		ssize_t n;
		int r;

		if (take(l, ret_line, ret_len))
			return 1;
		n = fill(l);
		if (n < 0)
			return (int)n;
		if (n > 0)
			continue;
		follow_cut(l);
		if (!is_checked && find_self(l) != 0) {
			is_checked = true;
			continue;
		}
		r = go_on(l);
		if (r <= 0)
			return r;
		is_checked = false;
	}
}
