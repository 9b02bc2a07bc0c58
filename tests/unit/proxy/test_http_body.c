/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/1 in clear: bodies both ways, upgrades, answers that cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http.h"

/* --- bodies */

static void chunked_upload_is_framed_anew_with_its_trailers(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"POST /repos HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n"
		"TE: trailers\r\nTrailer: X-Sum\r\n\r\n"
		"5;ext=1\r\nhello\r\n");
	server = accept_from(listener);
	expect_with_port(server,
		"POST /repos HTTP/1.1\r\nHost: @\r\nTrailer: X-Sum\r\n"
		"Transfer-Encoding: chunked\r\nTE: trailers\r\n"
		"Connection: TE\r\n\r\n5\r\nhello\r\n");
	put_text(client,
		"000006\r\n world\r\n0\r\nX-Sum: 7\r\nHost: evil.test\r\n"
		"Content-Length: 9\r\n\r\n");
	expect_text(server, "6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	put_text(server, "0\r\n\r\n");
	expect_text(client, "0\r\n\r\n");
	close(client);
	close(server);
}

static void chunked_body_that_is_malformed_is_not_ended_for_the_server(void **state)
{
	char got[4096];
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"POST /repos HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n");
	server = accept_from(listener);
	put_text(client, "zz\r\n");
	take_refusal(client, "400", "framing");
	assert_true(take_all(server, got, sizeof(got)) > 0);
	assert_null(strstr(got, "\r\n0\r\n"));
	close(client);
	close(server);
}

static void body_and_next_request_in_one_segment_are_told_apart(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"POST /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello"
		"GET /admin HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(
		server, "POST /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	take_refusal(client, "403", "no-rule");
	expect_quiet(server);
	close(client);
	close(server);
}

static void expectation_waits_for_the_servers_100(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"PUT /repos HTTP/1.1\r\nHost: @\r\nExpect: 100-continue\r\n"
		"Content-Length: 4\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server,
		"PUT /repos HTTP/1.1\r\nHost: @\r\nExpect: 100-continue\r\n"
		"Content-Length: 4\r\n\r\n");
	put_text(server, "HTTP/1.1 100 Continue\r\n\r\n");
	expect_text(client, "HTTP/1.1 100 Continue\r\n\r\n");
	put_text(client, "body");
	expect_text(server, "body");
	put_text(server,
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\n"
		"Content-Length: 0\r\n\r\n");
	expect_text(client,
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\n"
		"Content-Length: 0\r\n\r\n");
	close(client);
	close(server);
}

static void early_answer_to_an_upload_is_delivered(void **state)
{
	char got[4096];
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(
		client, "PUT /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 100000\r\n\r\nsome");
	server = accept_from(listener);
	expect_with_port(
		server, "PUT /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 100000\r\n\r\nsome");
	put_text(server, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
	close(server);
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_string_equal(got,
		"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n"
		"Connection: close\r\n\r\nbig");
	close(client);
}

static void events_of_a_stream_come_one_by_one(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	put_text(server,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Transfer-Encoding: chunked\r\n\r\n");
	expect_text(client,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 5; i++) {
		put_text(server, "9\r\ndata: 1\n\n\r\n");
		expect_text(client, "9\r\ndata: 1\n\n\r\n");
	}
	close(client);
	close(server);
}

static void response_cut_short_is_not_taken_for_whole(void **state)
{
	char got[4096];
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	close(server);
	assert_int_equal(take_all(client, got, sizeof(got)), -ECONNRESET);
	close(client);
}

static void http10_client_gets_a_body_without_chunks(void **state)
{
	char got[4096];
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.0\r\nHost: @\r\nConnection: keep-alive\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_string_equal(got, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde");
	close(client);
	close(server);
}

static void slow_reader_gets_all_of_the_last_response(void **state)
{
	enum { SIZE = 8000000 };
	static char block[100000];
	int client, server, n = 0;
	ssize_t r;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\n\r\n");
	for (int at = 0; at < SIZE; at += (int)sizeof(block)) {
		struct pollfd p = {.fd = server, .events = POLLOUT};

		while (poll(&p, 1, 0) != 1)
			n += (int)recv(client, block, sizeof(block), 0);
		put(server, block, sizeof(block));
	}
	close(server);
	usleep(1500000); /* longer than a refusal is drained */
	while ((r = recv(client, block, sizeof(block), 0)) > 0)
		n += (int)r;
	assert_int_equal(r, 0);
	assert_int_equal(n, SIZE + (int)strlen("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"));
	close(client);
}

static void large_upload_and_download_pass_with_backpressure(void **state)
{
	enum { SIZE = 6000000 };
	char *big = malloc(SIZE);
	int client, server;

	(void)state;
	for (int i = 0; i < SIZE; i++)
		big[i] = (char)(i * 7 + i / 1000);
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "PUT /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 6000000\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(
		server, "PUT /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 6000000\r\n\r\n");
	for (int at = 0; at < SIZE; at += 100000) {
		put(client, big + at, 100000);
		expect(server, big + at, 100000);
	}
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 6000000\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 6000000\r\n\r\n");
	for (int at = 0; at < SIZE; at += 2000000) {
		struct pollfd p = {.fd = server, .events = POLLOUT};
		int sent = 0;

		/* as much as fits while nobody reads */
		while (sent < 2000000 && poll(&p, 1, 50) == 1)
			sent += (int)send(server, big + at + sent,
				(size_t)(2000000 - sent < 50000 ? 2000000 - sent : 50000),
				MSG_DONTWAIT);
		expect(client, big + at, (size_t)sent);
		put(server, big + at + sent, (size_t)(2000000 - sent));
		expect(client, big + at + sent, (size_t)(2000000 - sent));
	}
	free(big);
	close(client);
	close(server);
}

/* --- upgrades */

static void websocket_becomes_a_tunnel_both_ways(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"GET /repos/ws HTTP/1.1\r\nHost: @\r\nConnection: keep-alive, Upgrade\r\n"
		"Upgrade: h2c, websocket\r\nHTTP2-Settings: x\r\n"
		"Sec-WebSocket-Key: k\r\n\r\n\x81\x01z");
	server = accept_from(listener);
	expect_with_port(server,
		"GET /repos/ws HTTP/1.1\r\nHost: @\r\nSec-WebSocket-Key: k\r\n"
		"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	put_text(server,
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
		"Upgrade: websocket\r\n\r\n\x81\x01y");
	expect_text(client,
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
		"Upgrade: websocket\r\n\r\n\x81\x01y");
	expect_text(server, "\x81\x01z");
	put_text(client, "frame");
	expect_text(server, "frame");
	put_text(server, "ping");
	expect_text(client, "ping");
	close(client);
	expect_end(server);
	close(server);
}

static void other_upgrades_are_stripped(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"GET /repos HTTP/1.1\r\nHost: @\r\n"
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
		"HTTP2-Settings: x\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	close(client);
	close(server);
}

static void switch_nobody_asked_for_gets_502(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
		"websocket\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
	};

	(void)state;
	go_transparent();
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		int client = connect_to(w.port), server;

		if (i == 0)
			put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
		else
			put_with_port(client,
				"GET /repos HTTP/1.1\r\nHost: @\r\n"
				"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
		server = accept_from(listener);
		put_text(server, answers[i]);
		take_refusal(client, "502", "upstream-refused");
		close(client);
		close(server);
	}
}

static void headers_named_in_connection_stay_here(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client,
		"GET /repos HTTP/1.1\r\nHost: @\r\nConnection: X-Audit-Id, close\r\n"
		"X-Audit-Id: 1\r\nKeep-Alive: 5\r\nX-Other: 2\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\nX-Other: 2\r\n\r\n");
	put_text(server,
		"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
		"Content-Length: 1\r\n\r\n1");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1");
	expect_end(client);
	close(client);
	close(server);
}

static void malformed_answers_get_502(void **state)
{
	static const char *const answers[] = {
		"SSH-2.0-x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
		"",
	};

	(void)state;
	go_transparent();
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		int client = connect_to(w.port), server;

		put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
		server = accept_from(listener);
		expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
		if (*answers[i])
			put_text(server, answers[i]);
		close(server);
		take_refusal(client, "502", "upstream-refused");
		close(client);
	}
}

static void resolver_failure_gets_502_and_the_connection_goes_on(void **state)
{
	static const struct world_rule any[] = {{.verdict = POLICY_ALLOW}, {0}};
	int client = connect_to(w.port);

	(void)state;
	w.rules = any;
	put_text(client, "GET http://gone.test/ HTTP/1.1\r\nHost: gone.test\r\n\r\n");
	take_refusal(client, "502", "resolve-failed");
	put_text(client, "GET http://gone.test/ HTTP/1.1\r\nHost: gone.test\r\n\r\n");
	take_refusal(client, "502", "resolve-failed");
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_FAILED);
	close(client);
}

static void late_names_hold_the_request_and_its_body(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	w.names[0].is_late = true;
	client = connect_to(w.port);
	put_with_port(client, "POST /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhel");
	usleep(5000);
	put_text(client, "lo");
	server = accept_from(listener);
	expect_with_port(
		server, "POST /repos HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	close(client);
	close(server);
}

static void head_in_one_byte_segments_is_read(void **state)
{
	char text[300];
	int client, server, n;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	n = snprintf(text, sizeof(text), "GET /repos HTTP/1.1\r\nHost: %s:%u\r\n\r\n", NAME, port);
	for (int i = 0; i < n; i++) {
		put(client, text + i, 1);
		usleep(200);
	}
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	close(client);
	close(server);
}

static void head_without_end_is_refused(void **state)
{
	char block[8192], got[4096];
	int client;
	ssize_t n = 1;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	memset(block, 'a', sizeof(block));
	put_text(client, "GET /repos HTTP/1.1\r\nHost: gh.test\r\nX: ");
	for (int i = 0; i < 20 && n > 0; i++)
		n = send(client, block, sizeof(block), MSG_NOSIGNAL);
	assert_true(recv(client, got, sizeof(got), 0) > 0);
	assert_memory_equal(got, "HTTP/1.1 400 ", 13);
	close(client);
}

static void client_half_close_still_gets_its_answer(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	shutdown(client, SHUT_WR);
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	usleep(20000);
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	expect_end(client);
	close(client);
	close(server);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(chunked_upload_is_framed_anew_with_its_trailers),
		TEST(chunked_body_that_is_malformed_is_not_ended_for_the_server),
		TEST(body_and_next_request_in_one_segment_are_told_apart),
		TEST(expectation_waits_for_the_servers_100),
		TEST(early_answer_to_an_upload_is_delivered),
		TEST(events_of_a_stream_come_one_by_one),
		TEST(response_cut_short_is_not_taken_for_whole),
		TEST(http10_client_gets_a_body_without_chunks),
		TEST(slow_reader_gets_all_of_the_last_response),
		TEST(large_upload_and_download_pass_with_backpressure),
		TEST(websocket_becomes_a_tunnel_both_ways),
		TEST(other_upgrades_are_stripped),
		TEST(switch_nobody_asked_for_gets_502),
		TEST(headers_named_in_connection_stay_here),
		TEST(malformed_answers_get_502),
		TEST(resolver_failure_gets_502_and_the_connection_goes_on),
		TEST(late_names_hold_the_request_and_its_body),
		TEST(head_in_one_byte_segments_is_read),
		TEST(head_without_end_is_refused),
		TEST(client_half_close_still_gets_its_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
