/* SPDX-License-Identifier: GPL-2.0-only */
/* fork(2), and a pipe that says when; see background.h. */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "options.h"

static int wait_for(pid_t pid, int fd)
{
	char word;
	int status;
	ssize_t n;

	do
		n = read(fd, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return SANDBOX_EXIT_FAILED;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : SANDBOX_EXIT_FAILED;
}

int background_begin(int *ret_caller)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		log_error("cannot go into the background: %s", strerror(errno));
		return SANDBOX_EXIT_FAILED;
	}
	if (pid) {
		close(fds[1]);
		return wait_for(pid, fds[0]);
	}
	close(fds[0]);
	setsid();
	*ret_caller = fds[1];
	return -1;
}

void background_ready(int caller)
{
	int null;

	if (caller < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	cleanup_close(&null);
	if (write(caller, "r", 1) < 0)
		log_warning("the caller is gone");
	close(caller);
}
