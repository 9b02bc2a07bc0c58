/* SPDX-License-Identifier: GPL-2.0-only */
/* What a client sees of a limit that is reached. Counters outlive a test: each has a rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http.h"

/* Rule n alone matches, under these limits. */
static void begin(size_t n, struct policy_limits limits)
{
	static struct world_rule padded[16];

	memset(padded, 0, sizeof(padded));
	for (size_t i = 0; i < n; i++)
		padded[i] = (struct world_rule){.host = "pad.test", .verdict = POLICY_DENY};
	padded[n] = (struct world_rule){
		.host = NAME, .scheme = POLICY_SCHEME_HTTP, .verdict = POLICY_ALLOW};
	w.rules = padded;
	w.rule_limits = limits;
	go_transparent();
}

static size_t take(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t r;

	while (n < size && (r = recv(fd, out + n, size - n, 0)) > 0)
		n += (size_t)r;
	out[n < size ? n : size - 1] = 0;
	return n;
}

static void request_beyond_the_minute_gets_429_and_when_to_retry(void **state)
{
	char got[4096];
	int client, server = -1;

	(void)state;
	begin(1, (struct policy_limits){.requests_per_minute = 1});
	client = connect_to(w.port);
	/* a minute may end in between: of three requests one is too many for certain */
	for (int i = 0; i < 3; i++) {
		put_with_port(client, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
		if (i == 2)
			break;
		if (i == 0) {
			server = accept_from(listener);
			expect_with_port(server, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
			put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
		}
		assert_true(recv(client, got, sizeof(got), 0) > 12);
		if (i && !memcmp(got, "HTTP/1.1 429", 12))
			break;
	}
	got[sizeof(got) - 1] = 0;
	assert_memory_equal(got, "HTTP/1.1 429 Too Many Requests\r\n", 32);
	assert_non_null(strstr(got, "\r\nX-Nej-Reason: limit\r\n"));
	assert_non_null(strstr(got, "\r\nRetry-After: "));
	assert_in_range(atoi(strstr(got, "Retry-After: ") + 13), 1, 60);
	assert_null(strstr(got, "Connection: close"));
	assert_int_equal(event_at(w.n_events - 1).reason, NEJ_REASON_LIMIT);
	close(client);
	close(server);
}

static void upload_beyond_the_bytes_ends_at_the_last_allowed(void **state)
{
	static const char head[] = "PUT /x HTTP/1.1\r\nHost: @\r\nContent-Length: 5000\r\n\r\n";
	static char body[5000], got[8192];
	size_t head_len, n;
	int client, server;

	(void)state;
	memset(body, 'b', sizeof(body));
	begin(2, (struct policy_limits){.bytes_out = 2000});
	client = connect_to(w.port);
	put_with_port(client, head);
	server = accept_from(listener);
	expect_with_port(server, head);
	head_len = strlen(head) - 1 + (size_t)sprintf(got, "%s:%u", NAME, port);
	put(client, body, 1000);
	put(client, body, 4000);
	take_refusal(client, "429", "limit");
	n = take(server, got, sizeof(got));
	assert_int_equal(n + head_len, 2000);
	assert_int_equal(event_at(1).reason, NEJ_REASON_LIMIT);
	close(client);
	/* and nothing more */
	client = connect_to(w.port);
	put_with_port(client, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	take_refusal(client, "429", "limit");
	close(client);
	close(server);
}

static void download_beyond_the_bytes_is_cut(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n";
	static char body[50000], got[65536];
	int client, server;

	(void)state;
	begin(3, (struct policy_limits){.bytes_in = 20000});
	client = connect_to(w.port);
	put_with_port(client, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, head);
	put(server, body, sizeof(body));
	/* a reset may take what was not read yet with it, but there is never more */
	assert_in_range(take(client, got, sizeof(got)), 0, 20000);
	assert_int_equal(event_at(1).reason, NEJ_REASON_LIMIT);
	close(client);
	close(server);
}

static void answer_larger_than_the_bytes_left_is_429(void **state)
{
	int client, server;

	(void)state;
	begin(4, (struct policy_limits){.bytes_in = 20});
	client = connect_to(w.port);
	put_with_port(client, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	take_refusal(client, "429", "limit");
	close(client);
	close(server);
}

static void request_beyond_the_connections_waits_for_none(void **state)
{
	int first, second, server;

	(void)state;
	begin(5, (struct policy_limits){.connections = 1});
	first = connect_to(w.port);
	put_with_port(first, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	second = connect_to(w.port);
	put_with_port(second, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	take_refusal(second, "429", "limit");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_text(first, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	/* the first is over: a kept connection holds nothing */
	put_with_port(second, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	expect_with_port(server, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	close(first);
	close(second);
	close(server);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(request_beyond_the_minute_gets_429_and_when_to_retry),
		TEST(upload_beyond_the_bytes_ends_at_the_last_allowed),
		TEST(download_beyond_the_bytes_is_cut),
		TEST(answer_larger_than_the_bytes_left_is_429),
		TEST(request_beyond_the_connections_waits_for_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
