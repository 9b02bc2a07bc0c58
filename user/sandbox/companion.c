/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts and ends the worker; see companion.h. */
#include "companion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "init.h"

/* Descriptors are first moved above all numbers of the handoff, so that none overwrites another. */
#define ABOVE_HANDOFF 64

struct handing {
	posix_spawn_file_actions_t actions;
	int moved[HANDOFF_FD_LISTENERS + HANDOFF_LISTENER_COUNT];
	int n_moved;
	int err;
};

static void hand(struct handing *h, int fd, int at)
{
	int moved;

	if (fd < 0 || h->err < 0)
		return;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_HANDOFF);
	if (moved < 0) {
		h->err = -errno;
		return;
	}
	h->moved[h->n_moved++] = moved;
	h->err = -posix_spawn_file_actions_adddup2(&h->actions, moved, at);
}

static void hand_all(struct handing *h, const struct companion_plan *plan, int control, int null)
{
	hand(h, plan->settings_fd, HANDOFF_FD_SETTINGS);
	hand(h, plan->state_fd, HANDOFF_FD_STATE);
	hand(h, control, HANDOFF_FD_CONTROL);
	hand(h, plan->policy_fd, HANDOFF_FD_POLICY);
	hand(h, plan->grants_fd >= 0 ? plan->grants_fd : null, HANDOFF_FD_GRANTS);
	hand(h, plan->wake_fd, HANDOFF_FD_WAKE);
	hand(h, plan->secrets_fd >= 0 ? plan->secrets_fd : null, HANDOFF_FD_SECRETS);
	hand(h, plan->roots_fd >= 0 ? plan->roots_fd : null, HANDOFF_FD_ROOTS);
	hand(h, plan->meters_fd >= 0 ? plan->meters_fd : null, HANDOFF_FD_METERS);
	for (int i = 0; i < HANDOFF_MAX_THREADS; i++)
		hand(h, plan->ring_fds[i], HANDOFF_FD_RINGS + i);
	for (int i = 0; i < HANDOFF_LISTENER_COUNT; i++)
		hand(h, plan->listeners->fds[i], HANDOFF_FD_LISTENERS + i);
}

static int run(struct handing *h, const struct companion_plan *plan, pid_t *ret_pid)
{
	const char *command = plan->command ? plan->command : COMPANION_COMMAND;
	char *argv[] = {"nej", (char *)command, (char *)plan->name, NULL};
	/* With secrets, what is freed is overwritten at once (glibc's manual, Memory Allocation
	 * Tunables): the caches of its threads would keep it as it was. */
	char *wiping[] = {
		"GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=90", NULL};
	char *none[] = {NULL};
	posix_spawnattr_t attr;
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	posix_spawnattr_init(&attr);
	/* a session of its own: the terminal's signals are not for it */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attr, &signals);
	r = -posix_spawn(ret_pid, "/proc/self/exe", &h->actions, &attr, argv,
		plan->secrets_fd >= 0 ? wiping : none);
	posix_spawnattr_destroy(&attr);
	return r;
}

int companion_start(const struct companion_plan *plan, struct companion *ret)
{
	struct handing h = {0};
	_cleanup_close_ int ours = -1, theirs = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int pair[2];
	pid_t pid = 0;

	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	posix_spawn_file_actions_init(&h.actions);
	hand(&h, null, 0);
	hand(&h, null, 1);
	hand(&h, null, HANDOFF_FD_FLOWS); /* keeps the number until the map comes */
	hand_all(&h, plan, theirs, null);
	if (h.err >= 0)
		h.err = run(&h, plan, &pid);
	for (int i = 0; i < h.n_moved; i++)
		close(h.moved[i]);
	posix_spawn_file_actions_destroy(&h.actions);
	if (h.err < 0)
		return h.err;
	*ret = (struct companion){.pid = pid, .control = TAKE_FD(ours)};
	ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

int companion_give_flows(const struct companion *c, int flows_fd)
{
	return init_send(c->control, INIT_GO, 0, NULL, flows_fd);
}

/* Its first word: the certificate is as long as the message is. */
struct ready_message {
	uint32_t word;
	uint8_t ca_der[ANCHORS_MAX_DER];
};
#define READY_HEAD offsetof(struct ready_message, ca_der)

int companion_wait_ready(const struct companion *c, int timeout_ms, struct companion_ready *ret)
{
	struct pollfd p = {.fd = c->control, .events = POLLIN};
	struct ready_message message;
	ssize_t n;
	int r = poll(&p, 1, timeout_ms);

	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	n = recv(c->control, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? -ETIMEDOUT : -EPIPE;
	if (n < (ssize_t)READY_HEAD || n > (ssize_t)sizeof(message) || message.word != INIT_READY)
		return -EBADMSG;
	ret->ca_len = (size_t)n - READY_HEAD;
	memcpy(ret->ca_der, message.ca_der, ret->ca_len);
	return 0;
}

void companion_stop(struct companion *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	if (c->pid <= 0)
		return;
	cleanup_close(&c->control);
	if (c->pidfd < 0 || poll(&p, 1, timeout_ms) <= 0)
		kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	cleanup_close(&c->pidfd);
	*c = (struct companion){.pidfd = -1, .control = -1};
}

int companion_take_flows(int control, int at_fd)
{
	struct init_message message = {0};
	int fd, r = init_recv(control, &message, &fd);

	if (r != 1 || message.word != INIT_GO || fd < 0)
		return -EPIPE;
	r = dup3(fd, at_fd, O_CLOEXEC) < 0 ? -errno : 0;
	close(fd);
	return r;
}

int companion_say_ready(int control, const void *ca_der, size_t ca_len)
{
	struct ready_message message = {.word = INIT_READY};

	if (ca_len > sizeof(message.ca_der))
		return -EMSGSIZE;
	if (ca_len)
		memcpy(message.ca_der, ca_der, ca_len);
	return send(control, &message, READY_HEAD + ca_len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
