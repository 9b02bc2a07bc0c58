/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks descriptors with pidfd_getfd(2); see held.h. Nothing that is found is believed to stay. */
#include "held.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"

#define FDINFO_MAX_BYTES (1u << 20)
#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD of Linux 6.9 */

struct walk {
	const struct held_plan *plan;
	pid_t pid, tid;
	int pidfd; /* of tid; -1: not to be had */
};

static bool fill(struct held_socket *s)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(int), sa_len = sizeof(sa);
	struct stat st;

	if (fstat(s->fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
		getsockopt(s->fd, SOL_SOCKET, SO_DOMAIN, &s->domain, &len) < 0 ||
		getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &s->type, &len) < 0 ||
		getsockopt(s->fd, SOL_SOCKET, SO_PROTOCOL, &s->protocol, &len) < 0)
		return false;
	s->inode = (uint32_t)st.st_ino;
	s->uid = st.st_uid;
	s->is_connected = getpeername(s->fd, (struct sockaddr *)&sa, &sa_len) == 0 &&
		endpoint_from_sockaddr((struct sockaddr *)&sa, &s->peer) == 0;
	return s->domain != AF_UNIX && s->domain != AF_NETLINK;
}

/* --- where no descriptor leads */

static uint32_t inode_of(const char *link)
{
	const char *number = strstr(link, "socket:[");

	return number ? (uint32_t)strtoul(number + strlen("socket:["), NULL, 10) : 0;
}

/* SCM_RIGHTS that nobody has received: /proc tells since Linux 5.11, also of a listener's clients. */
static void look_into_queue(const struct walk *w, int fd)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *n;
	size_t len;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read(path, FDINFO_MAX_BYTES, &text, &len) < 0)
		return;
	n = strstr(text, "\nscm_fds:");
	if (n && atoi(n + strlen("\nscm_fds:")) > 0)
		w->plan->on_hidden(w->plan->arg, w->pid, 0,
			"descriptors that are on their way through a Unix socket");
}

/* What is registered stays open when its descriptor is closed. */
static void look_into_ring(const struct walk *w, int number)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	char *line, *rest;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", w->tid, number);
	if (file_read(path, FDINFO_MAX_BYTES, &text, &len) < 0)
		return;
	line = strstr(text, "\nUserFiles:");
	line = line ? strtok_r(line, "\n", &rest) : NULL;
	while (line && (line = strtok_r(NULL, "\n", &rest)) && *line == ' ') {
		uint32_t inode = inode_of(line);

		/* before Linux 6.11 only the protocol's name */
		if (inode || strstr(line, ": TCP") || strstr(line, ": UDP") ||
			strstr(line, ": RAW"))
			w->plan->on_hidden(w->plan->arg, w->pid, inode,
				"a socket that is registered with io_uring alone");
	}
}

/* --- descriptors */

static void look_at(const struct walk *w, int number, const char *link)
{
	struct held_socket s = {.pid = w->pid, .domain = -1};
	_cleanup_close_ int fd = -1;

	if (w->pidfd < 0) {
		w->plan->on_hidden(w->plan->arg, w->pid, inode_of(link),
			"a socket in a thread with descriptors of its own");
		return;
	}
	fd = (int)syscall(SYS_pidfd_getfd, w->pidfd, number, 0);
	if (fd < 0) {
		/* closed or gone meanwhile is no matter */
		if (errno != EBADF && errno != ESRCH)
			w->plan->on_closed(w->plan->arg, w->pid);
		return;
	}
	s.fd = fd;
	if (fill(&s) && (!w->plan->has_uid || s.uid == w->plan->uid))
		w->plan->on_socket(w->plan->arg, &s);
	if (s.domain == AF_UNIX && w->plan->on_hidden)
		look_into_queue(w, fd);
}

static void walk_descriptors(const struct walk *w)
{
	char path[64], link[64];
	DIR *dir;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", w->tid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t n = isdigit((unsigned char)entry->d_name[0])
			? readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1)
			: -1;

		if (n <= 0)
			continue;
		link[n] = 0;
		if (strncmp(link, "socket:", 7) == 0)
			look_at(w, atoi(entry->d_name), link);
		else if (w->plan->on_hidden && strstr(link, "[io_uring]"))
			look_into_ring(w, atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
}

static bool shares_descriptors(pid_t pid, pid_t tid)
{
	return syscall(SYS_kcmp, pid, tid, KCMP_FILES, 0, 0) == 0;
}

/* unshare(CLONE_FILES) in a thread: the process's own list does not have them. */
static void walk_threads(const struct walk *leader)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", leader->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct walk w = *leader;

		w.tid = atoi(entry->d_name);
		if (w.tid <= 0 || w.tid == leader->pid || shares_descriptors(w.pid, w.tid))
			continue;
		w.pidfd = (int)syscall(SYS_pidfd_open, w.tid, PIDFD_OF_THREAD);
		if (w.pidfd >= 0 || w.plan->on_hidden)
			walk_descriptors(&w);
		cleanup_close(&w.pidfd);
	}
	if (dir)
		closedir(dir);
}

static bool is_of_user(pid_t pid, uid_t uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

static void walk_process(void *arg, pid_t pid)
{
	const struct held_plan *plan = arg;
	struct walk w = {.plan = plan, .pid = pid, .tid = pid};
	_cleanup_close_ int pidfd = -1;

	if (plan->has_uid && !is_of_user(pid, plan->uid))
		return;
	if (plan->on_process)
		plan->on_process(plan->arg, pid);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return; /* it ended */
	w.pidfd = pidfd;
	walk_descriptors(&w);
	walk_threads(&w);
}

static void walk_folder(void *arg, int dir_fd)
{
	cgroup_each_process(dir_fd, walk_process, arg);
}

void held_each(const struct held_plan *plan)
{
	cgroup_each(plan->cgroup, walk_folder, (void *)plan);
}

/* An address that nobody has (RFC 5737, RFC 3849): the hook comes first, and the kernel's own answer is
 * that there is no such address, so that the socket stays as it is. */
static int try_bind(const struct held_socket *s, uint16_t port_be)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = port_be, .sin_addr.s_addr = htonl(0xc0000201)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = port_be,
		.sin6_addr = {{{0x20, 0x01, 0x0d, 0xb8, [15] = 1}}}};
	bool is_v6 = s->domain == AF_INET6;

	return bind(s->fd, is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4,
		       is_v6 ? sizeof(v6) : sizeof(v4)) < 0
		? -errno
		: 0;
}

static bool is_refusal(int r)
{
	return r == -EACCES || r == -EPERM;
}

/*
 * What the programs refuse is theirs, if they alone refuse it: another port they let pass. Only one
 * user's calls are asked about where the programs are for that user, so the real user is theirs
 * meanwhile: of this thread.
 */
bool held_is_covered(const struct held_socket *s, uint16_t port_be, uid_t uid)
{
	bool is_covered;

	if (uid != (uid_t)-1 && syscall(SYS_setresuid, uid, -1, -1) < 0)
		return false;
	is_covered = is_refusal(try_bind(s, port_be)) && !is_refusal(try_bind(s, 0));
	if (uid != (uid_t)-1 && syscall(SYS_setresuid, 0, -1, -1) < 0)
		abort(); /* another user from here on: nothing would be right */
	return is_covered;
}
