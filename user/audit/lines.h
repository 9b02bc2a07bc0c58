/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a log, oldest file first, and on as it grows and is rotated. Says nothing about their
 * truth (verify.h) and leaves out a last line that has no end.
 */
#ifndef NEJ_AUDIT_LINES_H
#define NEJ_AUDIT_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines;

/* 0, -ENOENT, other negative errno. */
int lines_open(const char *path, struct lines **ret);
/* Only the newest file, from the first line that begins in its last bytes. */
int lines_open_end(const char *path, size_t bytes, struct lines **ret);
void lines_close(struct lines *l);

/* 1 and the next line without its line feed, valid until the next call; 0: none is there
 * yet, a later call sees what was written meanwhile; negative errno. */
int lines_next(struct lines *l, const char **ret_line, size_t *ret_len);

#endif
