/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of an audit log as a file: one writer, appended whole or not at all, rotated. It knows
 * nothing of records. PATH is the newest, PATH.1 the one before, and so on; PATH.lock is held.
 */
#ifndef NEJ_AUDIT_LOGFILE_H
#define NEJ_AUDIT_LOGFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain data of its owner, the sink. */
struct logfile {
	char path[PATH_MAX - 32]; /* room for suffixes */
	int fd, lock_fd;
	uint64_t size_bytes; /* what is known to be good */
	bool is_torn;        /* rubbish behind size_bytes that could not be cut off yet */
	bool is_changed; /* the size was not what we left: somebody else has written, cut or removed it */
};

/* Opens or makes the log, mode 0640, and takes its lock. -EBUSY: another writer has it; -ELOOP: a
 * symbolic link; -EINVAL: not a regular file. */
int logfile_open(struct logfile *f, const char *path);
void logfile_close(struct logfile *f);

/* Cuts the file to what is good. */
int logfile_cut(struct logfile *f, uint64_t size_bytes);

/* Appends all, or nothing: on failure the file is cut back to what it was. Negative errno. */
int logfile_append(struct logfile *f, const void *data, size_t len_bytes);

/* PATH becomes PATH.1 and so on; of the old ones `keep` stay. A new PATH is open then. */
int logfile_rotate(struct logfile *f, unsigned int keep);

/* Path of the nth older file (0: PATH itself). */
void logfile_name(const char *path, unsigned int n, char ret[static PATH_MAX]);
/* How many older files there are without a gap. */
unsigned int logfile_count_old(const char *path);

#endif
