/* SPDX-License-Identifier: GPL-2.0-only */
/* The command's end, its stops and its signals; see job.h. What init does about them is init.c's. */
#include "job.h"

#include <signal.h>
#include <sys/wait.h>

#include "../base/cleanup.h"
#include "init.h"

static void tell_init(struct job *j, enum init_word word, int value)
{
	init_send(j->sb->init.socket, word, value, NULL, -1);
}

static void continue_command(struct job *j, bool is_foreground)
{
	j->sb->terminal.is_given = is_foreground;
	tell_init(j, INIT_CONTINUE, is_foreground);
}

/* One that only wants the terminal gets it if it is ours to give; else the whole job stops. */
static void on_command_stopped(struct job *j, int signal)
{
	struct terminal *t = &j->sb->terminal;

	if ((signal == SIGTTIN || signal == SIGTTOU) && terminal_is_ours(t)) {
		continue_command(j, true);
		return;
	}
	j->before_stop(j->arg);
	continue_command(j, terminal_stop_job(t));
}

static void on_init(struct loop_io *io, uint32_t events)
{
	struct job *j = CONTAINER_OF(io, struct job, init);
	struct init_message message;
	int r = init_recv(io->fd, &message, NULL);

	(void)events;
	if (r <= 0) {
		loop_del(j->loop, io, true); /* its end follows */
	} else if (message.word == INIT_ENDED) {
		j->sb->wait_status = message.value;
		loop_stop(j->loop, 0);
	} else if (message.word == INIT_STOPPED) {
		on_command_stopped(j, message.value);
	}
}

/* Killed from outside, or out of memory: it could say nothing. */
static void on_init_end(struct loop_io *io, uint32_t events)
{
	struct job *j = CONTAINER_OF(io, struct job, init_end);

	(void)events;
	if (j->init.fd >= 0)
		on_init(&j->init, EPOLLIN);
	if (j->init.fd < 0) {
		j->sb->wait_status = SIGKILL; /* the wait status of a process killed so */
		loop_stop(j->loop, 0);
	}
}

static bool is_for_job(int signal)
{
	return signal == SIGTSTP || signal == SIGWINCH;
}

void job_signal(struct job *j, int signal, bool is_of_kernel)
{
	struct terminal *t = &j->sb->terminal;

	if (signal == SIGCONT)
		continue_command(
			j, t->is_given || (terminal_is_ours(t) && terminal_wants_command(t)));
	else if (is_of_kernel || is_for_job(signal))
		tell_init(j, INIT_GROUP_SIGNAL, signal); /* from the terminal: for its job */
	else
		tell_init(j, INIT_SIGNAL, signal);
}

int job_watch(struct job *j, struct loop *loop, struct sandbox *sb)
{
	int r;

	j->loop = loop;
	j->sb = sb;
	j->init = (struct loop_io){on_init, -1};
	j->init_end = (struct loop_io){on_init_end, -1};
	r = loop_add(loop, &j->init, sb->init.socket, EPOLLIN);
	return r < 0 ? r : loop_add(loop, &j->init_end, sb->init.pidfd, EPOLLIN);
}
