/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pid 1 of the sandbox; see init.h. Stays an image of the supervisor (no exec: it costs nothing) but
 * as the sandbox's user, not dumpable, without descriptors but its socket and the terminal.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "confine.h"
#include "filter.h"
#include "options.h"
#include "shadow.h"

#define INIT_NAME "nej-init"

int init_send(int socket, enum init_word word, int value, const char *text, int fd)
{
	struct init_message message = {.word = word, .value = value};
	struct iovec iov = {&message, sizeof(message)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (text)
		snprintf(message.text, sizeof(message.text), "%s", text);
	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sandboxed processes cannot reach the socket, but a descriptor nobody asked for is closed. */
static void take_fd(struct msghdr *msg, int *ret_fd)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			c->cmsg_len != CMSG_LEN(sizeof(int)))
			continue;
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
		if (ret_fd && *ret_fd < 0)
			*ret_fd = fd;
		else
			close(fd);
	}
}

int init_recv(int socket, struct init_message *ret, int *ret_fd)
{
	struct iovec iov = {ret, sizeof(*ret)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n;

	if (ret_fd)
		*ret_fd = -1;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_fd(&msg, ret_fd);
	if (n != sizeof(*ret))
		return n ? -EBADMSG : 0;
	ret->text[sizeof(ret->text) - 1] = 0;
	return 1;
}

/* --- before the command */

struct init {
	const struct init_plan *plan;
	int socket;
	pid_t command;
};

_Noreturn static void fail(const struct init *in, int err, const char *what)
{
	init_send(in->socket, INIT_FAILED, err, what, -1);
	_exit(SANDBOX_EXIT_FAILED);
}

/* Field n of /proc/self/stat (proc(5)), counted behind the name, which may hold anything. */
static char *stat_pointer(const char *stat, int field)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? (char *)strtoul(at + 1, NULL, 10) : NULL;
}

/* /proc/1/cmdline would tell where the policy and the log lie. */
static void hide_arguments(void)
{
	_cleanup_free_ char *stat = NULL;
	size_t len;
	char *begin, *end;

	if (file_read("/proc/self/stat", 8192, &stat, &len) < 0)
		return;
	begin = stat_pointer(stat, 48);
	end = stat_pointer(stat, 49);
	if (!begin || end <= begin)
		return;
	memset(begin, 0, (size_t)(end - begin));
	snprintf(begin, (size_t)(end - begin), INIT_NAME);
}

static char **copy_arguments(const struct init *in)
{
	char *const *from = in->plan->argv;
	size_t n = 0;
	char **copy;

	while (from[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(from[i]);
		if (!copy[i])
			fail(in, -ENOMEM, "arguments");
	}
	if (!copy)
		fail(in, -ENOMEM, "arguments");
	return copy;
}

static void keep_only_own_fds(const struct init *in)
{
	int keep[] = {in->socket, in->plan->tty_fd};
	unsigned int from = 3;

	if (keep[1] >= 0 && keep[1] < keep[0]) {
		keep[0] = keep[1];
		keep[1] = in->socket;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
		if (keep[i] < 3)
			continue;
		if ((unsigned int)keep[i] > from)
			syscall(SYS_close_range, from, (unsigned int)keep[i] - 1, 0);
		from = (unsigned int)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

static void make_namespaces(const struct init *in)
{
	const struct init_plan *plan = in->plan;
	char what[120] = "";
	int r;

	if (plan->cgroup_fd >= 0) {
		_cleanup_close_ int fd =
			openat(plan->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) < 0)
			fail(in, -errno, "joining the cgroup");
	}
	if (plan->wants_netns && unshare(CLONE_NEWNET) < 0)
		fail(in, -errno, "a network namespace");
	init_send(in->socket, INIT_NAMESPACES, 0, NULL, -1);
	r = mask_apply(plan->mask, what, sizeof(what));
	if (r < 0)
		fail(in, r, what);
	init_send(in->socket, INIT_MASKED, 0, NULL, -1);
}

/* Without the word nothing starts: a supervisor that failed or died has closed its end. */
static void wait_for_go(const struct init *in)
{
	struct init_message message = {0};

	if (init_recv(in->socket, &message, NULL) != 1 || message.word != INIT_GO)
		_exit(SANDBOX_EXIT_FAILED);
	if (message.text[0])
		shadow_apply(message.text);
}

static void give_up_privileges(const struct init *in)
{
	int fd, r = confine_become(in->plan->id);

	if (r < 0)
		fail(in, r, "becoming the sandbox's user");
	if (!in->plan->wants_netns)
		confine_abstract_sockets();
	if (in->plan->mask->workspace) {
		r = workspace_restrict(in->plan->mask->workspace, MASK_OWN_DIR);
		if (r < 0)
			fail(in, r, "Landlock");
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		fail(in, -errno, "hiding init's memory");
	r = filter_load(&fd);
	if (r < 0)
		fail(in, r, "the system call filter");
	init_send(in->socket, INIT_READY, 0, NULL, fd);
	cleanup_close(&fd);
}

/* --- the command */

/* A folder of PATH that this user may not enter makes execvp(3) say EACCES of a command that is
 * nowhere. Is there a file of that name in any folder it can look into? */
static bool is_anywhere(const char *command)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(command, '/') || !path)
		return true;
	while (*path) {
		size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, command);
		if (access(file, F_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

_Noreturn static void become_command(const struct init *in, char **argv)
{
	const struct init_plan *plan = in->plan;
	int err;

	setpgid(0, 0);
	if (plan->wants_terminal)
		tcsetpgrp(plan->tty_fd, getpid()); /* SIGTTOU is blocked */
	syscall(SYS_close_range, 3, ~0u, 0);
	sigprocmask(SIG_SETMASK, &plan->signals, NULL);
	environ = plan->env;
	execvp(argv[0], argv);
	err = errno == EACCES && !is_anywhere(argv[0]) ? ENOENT : errno;
	fprintf(stderr, "nej: cannot run %s: %s\n", argv[0], strerror(err));
	_exit(err == ENOENT || err == ENOTDIR ? SANDBOX_EXIT_NOT_FOUND : SANDBOX_EXIT_CANNOT_EXEC);
}

static void start_command(struct init *in, char **argv)
{
	in->command = fork();
	if (in->command == 0)
		become_command(in, argv);
	if (in->command < 0)
		fail(in, -errno, "a process for the command");
	setpgid(in->command, in->command); /* whoever of us is first */
}

/* Who waits for the end of a pipe waits for the command, not for us. */
static void let_go_of_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null >= 0)
			dup2(null, fd);
	cleanup_close(&null);
}

static void on_order(const struct init *in, const struct init_message *order)
{
	switch (order->word) {
	case INIT_SIGNAL:
		kill(in->command, order->value);
		break;
	case INIT_GROUP_SIGNAL:
		kill(-in->command, order->value);
		break;
	case INIT_CONTINUE:
		if (order->value && in->plan->tty_fd >= 0)
			tcsetpgrp(in->plan->tty_fd, in->command);
		kill(-in->command, SIGCONT);
		break;
	default:
		break;
	}
}

static void reap(const struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != in->command)
			continue;
		if (WIFSTOPPED(status)) {
			init_send(in->socket, INIT_STOPPED, WSTOPSIG(status), NULL, -1);
			continue;
		}
		init_send(in->socket, INIT_ENDED, status, NULL, -1);
		_exit(0); /* the kernel ends whatever the command left */
	}
}

_Noreturn static void serve(const struct init *in, int signal_fd)
{
	struct pollfd polled[] = {
		{.fd = signal_fd, .events = POLLIN}, {.fd = in->socket, .events = POLLIN}};
	struct signalfd_siginfo info;
	struct init_message order;

	for (;;) {
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0 && errno != EINTR)
			_exit(SANDBOX_EXIT_FAILED);
		if (polled[0].revents & POLLIN && read(signal_fd, &info, sizeof(info)) > 0)
			reap(in);
		/* Without a supervisor the command lives on, cut off from every network. */
		if (polled[1].revents && init_recv(in->socket, &order, NULL) <= 0)
			polled[1].fd = -1;
		else if (polled[1].revents)
			on_order(in, &order);
	}
}

_Noreturn void init_main(const struct init_plan *plan, int socket)
{
	struct init in = {.plan = plan, .socket = socket};
	char **argv;
	sigset_t all, child;
	int signal_fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	setpgid(0, 0); /* signals for the job are the supervisor's to pass on */
	prctl(PR_SET_NAME, INIT_NAME);
	/* A supervisor with secrets cannot be looked at; of them nothing is here (secrets.c), and it must
	 * find our namespaces without CAP_SYS_PTRACE. Later nobody may: give_up_privileges. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	argv = copy_arguments(&in);
	hide_arguments();
	make_namespaces(&in);
	wait_for_go(&in);
	keep_only_own_fds(&in);
	give_up_privileges(&in);
	signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		fail(&in, -errno, "signals");
	start_command(&in, argv);
	let_go_of_streams();
	serve(&in, signal_fd);
}
