/* SPDX-License-Identifier: GPL-2.0-only */
/* What init and supervisor say to each other, and descriptors that come along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../user/sandbox/init.h"

struct ends {
	int a, b;
};

static int open_pair(void **state)
{
	static struct ends e;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	e = (struct ends){fds[0], fds[1]};
	*state = &e;
	return 0;
}

static int close_pair(void **state)
{
	struct ends *e = *state;

	close(e->a);
	close(e->b);
	return 0;
}

static void message_comes_as_it_was_sent(void **state)
{
	struct ends *e = *state;
	struct init_message m;
	int fd;

	assert_int_equal(init_send(e->a, INIT_FAILED, -EPERM, "at what", -1), 0);
	assert_int_equal(init_recv(e->b, &m, &fd), 1);
	assert_int_equal(m.word, INIT_FAILED);
	assert_int_equal(m.value, -EPERM);
	assert_string_equal(m.text, "at what");
	assert_int_equal(fd, -1);
}

static void descriptor_comes_along(void **state)
{
	struct ends *e = *state;
	struct init_message m;
	int fd, pipe_ends[2];
	char byte = 0;

	assert_return_code(pipe(pipe_ends), errno);
	assert_int_equal(init_send(e->a, INIT_GO, 0, NULL, pipe_ends[1]), 0);
	assert_int_equal(init_recv(e->b, &m, &fd), 1);
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(fd);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void descriptor_nobody_asked_for_is_closed(void **state)
{
	struct ends *e = *state;
	struct init_message m;
	int pipe_ends[2];
	char byte;

	assert_return_code(pipe(pipe_ends), errno);
	assert_int_equal(init_send(e->a, INIT_GO, 0, NULL, pipe_ends[1]), 0);
	close(pipe_ends[1]);
	assert_int_equal(init_recv(e->b, &m, NULL), 1);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 0); /* no writer is left */
	close(pipe_ends[0]);
}

static void other_lengths_are_refused(void **state)
{
	struct ends *e = *state;
	struct init_message m;

	assert_int_equal(send(e->a, "short", 5, 0), 5);
	assert_int_equal(init_recv(e->b, &m, NULL), -EBADMSG);
	shutdown(e->a, SHUT_WR);
	assert_int_equal(init_recv(e->b, &m, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			message_comes_as_it_was_sent, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(descriptor_comes_along, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(
			descriptor_nobody_asked_for_is_closed, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(other_lengths_are_refused, open_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
