/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sockets of the host are hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/sockets.h"

static void path_of_a_line_may_hold_blanks(void **state)
{
	static const struct {
		const char *line, *path;
	} cases[] = {
		{"0000000000000000: 00000002 00000000 00010000 0001 01 17041 /run/a b.sock\n",
			"/run/a b.sock"},
		{"0000000000000000: 00000002 00000000 00010000 0001 01 17041 @abstract\n", NULL},
		{"0000000000000000: 00000003 00000000 00000000 0001 03 17042\n", NULL},
		{"Num       RefCount Protocol Flags    Type St Inode Path\n", NULL},
		{"", NULL},
		{"\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[128];
		const char *path;

		snprintf(line, sizeof(line), "%s", cases[i].line);
		path = sockets_parse_line(line);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

static void services_are_known_in_any_folder(void **state)
{
	(void)state;
	assert_true(sockets_is_service("/run/docker.sock"));
	assert_true(sockets_is_service("/srv/a/.docker/run/docker.sock"));
	assert_true(sockets_is_service("/run/nscd/socket"));
	assert_false(sockets_is_service("/run/mydocker.sock"));
	assert_false(sockets_is_service("/run/other/socket"));
	assert_false(sockets_is_service("docker.sock"));
	assert_false(sockets_is_service(""));
}

static void folder_with_an_open_socket_stays(void **state)
{
	static const char *const open[] = {"/run/docker/plugins/a.sock", NULL};

	(void)state;
	assert_true(sockets_is_open_below(open, "/run/docker"));
	assert_false(sockets_is_open_below(open, "/run/dock"));
	assert_false(sockets_is_open_below(NULL, "/run/docker"));
}

struct found {
	const char *path;
	unsigned int n;
};

static int count(void *arg, const char *path)
{
	struct found *f = arg;

	f->n += strcmp(path, f->path) == 0;
	return 0;
}

static unsigned int times(const struct sockets_plan *plan, const char *path)
{
	struct found f = {.path = path};

	assert_int_equal(sockets_each(plan, count, &f), 0);
	return f.n;
}

static void listening_socket_is_found_unless_opened_or_ones_own(void **state)
{
	char dir[] = "/tmp/nej-sockets.XXXXXX";
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *open[] = {sa.sun_path, NULL};
	struct sockets_plan plan = {.uid = getuid()};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/own.sock", dir);
	assert_return_code(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_return_code(listen(fd, 1), 0);
	assert_true(times(&plan, sa.sun_path) > 0);
	plan.unix_open = open;
	assert_int_equal(times(&plan, sa.sun_path), 0);
	plan.unix_open = NULL;
	plan.cwd = dir;
	assert_int_equal(times(&plan, sa.sun_path), 0);
	plan.home = dir; /* ssh's shared connections are there, not a project's sockets */
	assert_true(times(&plan, sa.sun_path) > 0);
	plan.home = "/nonexistent";
	assert_int_equal(times(&plan, sa.sun_path), 0);
	plan.uid = getuid() + 1;
	assert_true(times(&plan, sa.sun_path) > 0);
	close(fd);
	unlink(sa.sun_path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_of_a_line_may_hold_blanks),
		cmocka_unit_test(services_are_known_in_any_folder),
		cmocka_unit_test(folder_with_an_open_socket_stays),
		cmocka_unit_test(listening_socket_is_found_unless_opened_or_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
