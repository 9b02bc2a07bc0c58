/* SPDX-License-Identifier: GPL-2.0-only */
/* Who has the terminal's foreground, and whose the streams are; see terminal.h. */
#include "terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "../base/cleanup.h"

void terminal_open(struct terminal *t)
{
	*t = (struct terminal){.fd = open("/dev/tty", O_RDWR | O_CLOEXEC)};
}

bool terminal_is_ours(const struct terminal *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == getpgrp();
}

bool terminal_is_gone(const struct terminal *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) < 0;
}

bool terminal_wants_command(const struct terminal *t)
{
	return terminal_is_ours(t) && isatty(0) && isatty(1) && isatty(2);
}

void terminal_take_back(struct terminal *t)
{
	if (t->is_given && t->fd >= 0)
		tcsetpgrp(t->fd, getpgrp()); /* SIGTTOU is blocked */
	t->is_given = false;
}

bool terminal_stop_job(struct terminal *t)
{
	sigset_t stop, before;

	terminal_take_back(t);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	kill(0, SIGTSTP); /* we stop here */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return terminal_is_ours(t);
}

void terminal_lend_streams(struct terminal *t, uid_t uid)
{
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;

		if (fstat(fd, &st) < 0 || st.st_uid != 0)
			continue;
		/* /dev/null and other devices are everybody's, files are not ours to give */
		if (!S_ISFIFO(st.st_mode) && !isatty(fd))
			continue;
		t->streams[fd].uid = st.st_uid;
		t->streams[fd].gid = st.st_gid;
		t->streams[fd].is_changed = fchown(fd, uid, (gid_t)-1) == 0;
	}
}

void terminal_return_streams(struct terminal *t)
{
	for (int fd = 2; fd >= 0; fd--)
		if (t->streams[fd].is_changed && fchown(fd, t->streams[fd].uid, (gid_t)-1) == 0)
			t->streams[fd].is_changed = false;
}

void terminal_let_go_of_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 2 && null >= 0; fd++)
		if (!isatty(fd))
			dup2(null, fd);
	cleanup_close(&null);
}
