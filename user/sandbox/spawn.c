/* SPDX-License-Identifier: GPL-2.0-only */
/* Clones the sandbox's init; see spawn.h. What it does then is init.c's. */
#include "spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC)

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* As a fork: the child goes on with a copy of our memory. */
static pid_t clone_into(int cgroup_fd, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup_fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Where clone3 is not to be had (a container's filter): the child joins the cgroup itself, before
 * it makes any socket. */
static pid_t clone_plain(int *ret_pidfd)
{
	return (pid_t)syscall(SYS_clone, (unsigned long)(NAMESPACES | CLONE_PIDFD | SIGCHLD), NULL,
		ret_pidfd, NULL, 0);
}

int spawn_init(struct init_plan *plan, bool joins_itself, struct spawn *ret)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int pair[2], pidfd = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	fflush(NULL);
	pid = joins_itself ? -1 : clone_into(plan->cgroup_fd, &pidfd);
	if (pid == 0)
		plan->cgroup_fd = -1;
	if (pid < 0)
		pid = clone_plain(&pidfd);
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(ours);
		init_main(plan, theirs);
	}
	*ret = (struct spawn){.pid = pid, .pidfd = pidfd, .socket = TAKE_FD(ours)};
	return 0;
}

int spawn_expect(struct spawn *s, enum init_word word, int *ret_fd, char ret_what[static 120])
{
	struct init_message message;
	int r = init_recv(s->socket, &message, ret_fd);

	if (r < 0)
		return r;
	if (r == 0) {
		snprintf(ret_what, 120, "the sandbox's first process ended");
		return -EPIPE;
	}
	if (message.word == INIT_FAILED) {
		memcpy(ret_what, message.text, sizeof(message.text));
		return message.value < 0 ? message.value : -EPROTO;
	}
	return message.word == (uint32_t)word ? 0 : -EPROTO;
}

void spawn_done(struct spawn *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	cleanup_close(&s->pidfd);
	cleanup_close(&s->socket);
	*s = (struct spawn){.pidfd = -1, .socket = -1};
}
