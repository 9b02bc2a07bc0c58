/* SPDX-License-Identifier: GPL-2.0-only */
/* Files read and written whole, and the questions asked of a path's owners. */
#ifndef NEJ_BASE_FILE_H
#define NEJ_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads a whole file (NUL added behind len). Caller frees. -EFBIG beyond max_bytes. */
int file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len);
int file_read_fd(int fd, size_t max_bytes, char **ret_data, size_t *ret_len);

/* Writes all or fails. 0 or negative errno. */
int file_write_fd(int fd, const void *data, size_t len_bytes);

/* Replaces path atomically (temporary file, fsync, rename). */
int file_replace(const char *path, const void *data, size_t len_bytes, mode_t mode);

/* Writes a short string to an existing file (cgroup and proc files). */
int file_put(const char *path, const char *text);

int file_mkdirs(const char *path, mode_t mode); /* mkdir -p; existing is fine */

/* Could this user (with this one primary group) change what path names: the file itself or any
 * folder above it? Symbolic links are followed and their folders count too. 1, 0, negative errno.
 * ret_culprit (size PATH_MAX, may be NULL) names the first such path. */
#define FILE_NOT_ROOT ((uid_t)-1) /* any user but root, whatever its groups; gid is not looked at */
int file_is_writable_by(const char *path, uid_t uid, gid_t gid, char *ret_culprit);

/* Could this user read the file at path, through all folders above it? 1, 0, negative errno. */
int file_is_readable_by(const char *path, uid_t uid, gid_t gid);

#endif
