/* SPDX-License-Identifier: GPL-2.0-only */
/* fork(2), a pipe that says when, and one for what is said until then; see background.h. */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "options.h"

/* Input and output are nothing; what is said goes to said_fd, or nowhere either. */
static void hold_nothing(int said_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(fd == STDERR_FILENO && said_fd >= 0 ? said_fd : null, fd);
	if (said_fd >= 0)
		close(said_fd);
	cleanup_close(&null);
}

/* What they say until it is enforced is our caller's to read; afterwards nobody holds what was
 * inherited, or whoever waits for the end of it would wait for the sandbox's. */
static void relay(int from)
{
	char text[4096];
	ssize_t n = read(from, text, sizeof(text));

	if (n > 0)
		file_write_fd(STDERR_FILENO, text, (size_t)n);
}

/* 1 when it is enforced, 0 when it ended before. */
static int wait_for_word(int word_fd, int said_fd)
{
	struct pollfd fds[] = {
		{.fd = word_fd, .events = POLLIN}, {.fd = said_fd, .events = POLLIN}};
	char word;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 0;
		if (fds[1].revents & POLLIN)
			relay(said_fd);
		else if (fds[0].revents)
			return read(word_fd, &word, 1) == 1;
	}
}

static int wait_for(pid_t pid, int word_fd, int said_fd)
{
	int status;

	if (wait_for_word(word_fd, said_fd))
		return 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return SANDBOX_EXIT_FAILED;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : SANDBOX_EXIT_FAILED;
}

int background_begin(int *ret_caller)
{
	int word[2], said[2] = {-1, -1};
	pid_t pid = -1;

	if (pipe2(word, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		log_error("cannot go into the background: %s", strerror(errno));
		return SANDBOX_EXIT_FAILED;
	}
	if (pid) {
		close(word[1]);
		close(said[1]);
		return wait_for(pid, word[0], said[0]);
	}
	close(word[0]);
	close(said[0]);
	setsid();
	/* Until it is enforced: who asked is gone, and would not know that it is. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	hold_nothing(said[1]);
	*ret_caller = word[1];
	return -1;
}

void background_ready(int caller)
{
	if (caller < 0)
		return;
	hold_nothing(-1);
	prctl(PR_SET_PDEATHSIG, 0);
	if (write(caller, "r", 1) < 0)
		log_warning("the caller is gone");
	close(caller);
}
