/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Unix-domain sockets of the host a sandbox must not connect to. Hiding them is mask.c's. */
#ifndef NEJ_SANDBOX_SOCKETS_H
#define NEJ_SANDBOX_SOCKETS_H

#include <stdbool.h>
#include <sys/types.h>

struct sockets_plan {
	const char *const *unix_open; /* NULL or NULL-terminated: these stay */
	const char *cwd;              /* NULL: none; sockets below it stay if it is uid's own */
	const char *home;             /* NULL: none; as cwd it is no project, and nothing stays */
	uid_t uid;
};

/* Calls on_socket for every path where a service of the host listens: those of a table, and all
 * that /proc/net/unix shows now, of init's network namespace too. Stops at a negative value. */
int sockets_each(
	const struct sockets_plan *plan, int (*on_socket)(void *arg, const char *path), void *arg);

/* Is the path one of the open ones, or below one? */
bool sockets_is_open(const char *const *unix_open, const char *path);

/* Does one of the open paths lie below this folder? */
bool sockets_is_open_below(const char *const *unix_open, const char *folder);

/* Is the path one of unix_paths.h, whatever folder it lies in? */
bool sockets_is_service(const char *path);

/* The path of a line of /proc/net/unix, in place; NULL for one without (or abstract). */
char *sockets_parse_line(char *line);

#endif
