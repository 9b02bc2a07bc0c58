/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /run/nej/NAME/: the lock that says a supervisor lives, what it says of itself, and the audit
 * rings. Open to root alone; the sandbox has something else mounted there.
 */
#ifndef NEJ_SANDBOX_STATE_H
#define NEJ_SANDBOX_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STATE_ROOT "/run/nej"

/* What stands in the file `state`, one KEY=VALUE a line. */
struct state {
	char name[64];
	bool is_live;        /* not in the file: somebody holds the lock */
	pid_t pid;           /* of the supervisor */
	uint64_t pid_start;  /* field 22 of /proc/PID/stat: tells it from a later process */
	uint64_t started_us; /* CLOCK_REALTIME */
	uid_t uid;
	uint32_t generation;
	uint16_t proxy_port;
	bool is_host_net;
	bool is_attached; /* to processes that were there before */
	bool inspects;    /* there are trust files (anchors.h) */
	char user[64];
	char home[256];
	char policy_sha256[65];
	char policy[PATH_MAX]; /* empty: everything is denied */
	char audit[PATH_MAX];
	char cgroup[PATH_MAX];
	char container[65]; /* id; empty: none */
};

/* Takes the lock of a name, making its folder. A descriptor, -EWOULDBLOCK (it is in use), other
 * negative errno. */
int state_lock(const char *name);
/* Removes the folder; the lock is still held. keeps_rings: not if a ring is in it, whose records
 * are still to be written. */
void state_remove(const char *name, bool keeps_rings);

void state_path(const char *name, const char *file, char *ret, size_t max_bytes);

int state_write(const struct state *s);
/* 0, -ENOENT (no such sandbox), other negative errno. One without a file has only its name. */
int state_read(const char *name, struct state *ret);

/* Calls on_name for every sandbox there is anything of, live or left over. */
int state_each(void (*on_name)(void *arg, const char *name), void *arg);

/* Start time of a process in clock ticks since boot; 0 when it is gone. */
uint64_t state_pid_start(pid_t pid);

#endif
