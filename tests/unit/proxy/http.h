/* SPDX-License-Identifier: GPL-2.0-only */
/* A world for HTTP tests: gh.test with a rule for /repos, b.test with one for all, one server. */
#ifndef NEJ_TEST_HTTP_H
#define NEJ_TEST_HTTP_H

#include <fcntl.h>

#include "world.h"

#define NAME "gh.test"

static const struct world_rule rules[] = {
	{.host = NAME, .scheme = POLICY_SCHEME_HTTP, .path = "/repos", .verdict = POLICY_ALLOW},
	{.host = "b.test", .scheme = POLICY_SCHEME_HTTP, .verdict = POLICY_ALLOW}, {0}};

static int listener;
static uint16_t port;

static inline int start(void **state)
{
	world_start(state);
	listener = listen_on("127.0.0.1", &port);
	w.rules = rules;
	w.names[0] = (struct world_name){.name = NAME, .addrs = {"127.0.0.1"}};
	w.names[1] = (struct world_name){.name = "b.test", .addrs = {"127.0.0.1"}};
	return 0;
}

static inline int stop(void **state)
{
	close(listener);
	return world_stop(state);
}

/* The next connections are transparent ones to NAME. */
static inline void go_transparent(void)
{
	w.synthetic = address("198.18.0.7");
	w.synthetic_name = NAME;
	world_dest("198.18.0.7", port);
}

/* Puts a text in which @ stands for `gh.test:PORT`, % for PORT. */
static inline void put_with_port(int fd, const char *text)
{
	char out[8192];
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '@')
			n += (size_t)sprintf(out + n, "%s:%u", NAME, port);
		else if (*text == '%')
			n += (size_t)sprintf(out + n, "%u", port);
		else
			out[n++] = *text;
	}
	put(fd, out, n);
}

static inline void expect_with_port(int fd, const char *text)
{
	char out[8192];
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '@')
			n += (size_t)sprintf(out + n, "%s:%u", NAME, port);
		else if (*text == '%')
			n += (size_t)sprintf(out + n, "%u", port);
		else
			out[n++] = *text;
	}
	expect(fd, out, n);
}

/* A response head up to its blank line; its body's bytes are taken off too. */
static inline void take_refusal(int fd, const char *status, const char *reason)
{
	char got[8192], line[64];
	size_t n = 0, body;
	const char *length;

	while (n < 4 || memcmp(got + n - 4, "\r\n\r\n", 4)) {
		assert_int_equal(recv(fd, got + n, 1, 0), 1);
		n++;
	}
	got[n] = 0;
	if (memcmp(got + 9, status, 3))
		print_error("wanted %s, got: %s\n", status, got);
	assert_memory_equal(got + 9, status, 3);
	snprintf(line, sizeof(line), "\r\nX-Nej-Reason: %s\r\n", reason);
	assert_non_null(strstr(got, line));
	length = strstr(got, "Content-Length: ");
	assert_non_null(length);
	body = strtoul(length + 16, NULL, 10);
	assert_true(body > 0 && body < sizeof(got));
	for (size_t i = 0; i < body;) {
		ssize_t r = recv(fd, got + i, body - i, 0);

		assert_true(r > 0);
		i += (size_t)r;
	}
}

#endif
