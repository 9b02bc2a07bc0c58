/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/1 in clear, request by request: whom a request is for and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http.h"

/* --- absolute form */

static void absolute_form_becomes_origin_form_with_the_targets_host(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client,
		"GET http://@/repos/x?q=1 HTTP/1.1\r\nHost: evil.test\r\n"
		"User-Agent: t\r\nProxy-Connection: keep-alive\r\n"
		"Proxy-Authorization: Basic x\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos/x?q=1 HTTP/1.1\r\nHost: @\r\nUser-Agent: t\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nhi");
	expect_text(client, "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\nhi");
	/* kept: same server connection */
	put_with_port(client, "HEAD http://@/repos HTTP/1.1\r\nHost: @\r\n\r\n");
	expect_with_port(server, "HEAD /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
	assert_int_equal(w.n_lookups, 1);
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_ALLOWED);
	assert_string_equal(event_at(0).method, "GET");
	assert_non_null(strstr(event_at(0).url, "/repos/x?q=1"));
	assert_int_equal(event_at(1).kind, AUDIT_NETWORK_ALLOWED);
	close(client);
	wait_idle();
	assert_int_equal(count_events(), 2);
	/* the next client's request to the same origin finds it */
	client = connect_to(w.port);
	put_with_port(client, "GET http://@/repos/y HTTP/1.1\r\nHost: @\r\n\r\n");
	expect_with_port(server, "GET /repos/y HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_int_equal(w.n_lookups, 1);
	close(client);
	close(server);
	wait_idle();
}

static void denied_request_leaves_the_connection_usable(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client, "GET http://@/admin HTTP/1.1\r\nHost: @\r\n\r\n");
	take_refusal(client, "403", "no-rule");
	put_with_port(client, "GET http://@/repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(event_at(0).status, 403);
	close(client);
	close(server);
}

static void pipelined_requests_are_judged_one_by_one_in_order(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client,
		"GET http://@/repos/1 HTTP/1.1\r\nHost: @\r\n\r\n"
		"DELETE http://@/admin HTTP/1.1\r\nHost: @\r\n\r\n"
		"GET http://@/repos/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos/1 HTTP/1.1\r\nHost: @\r\n\r\n");
	expect_quiet(server);
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	take_refusal(client, "403", "no-rule");
	expect_with_port(server, "GET /repos/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	close(client);
	close(server);
}

static void another_host_on_the_same_connection_gets_its_own_server(void **state)
{
	int client = connect_to(w.port), server, other;

	(void)state;
	put_with_port(client, "GET http://@/repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	put_with_port(client, "GET http://b.test:%/ HTTP/1.1\r\nHost: @\r\n\r\n");
	other = accept_from(listener);
	expect_with_port(other, "GET / HTTP/1.1\r\nHost: b.test:%\r\n\r\n");
	expect_end(server);
	put_text(other, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	close(client);
	close(server);
	close(other);
}

static void kept_connection_that_went_away_is_dialled_again(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client, "GET http://@/repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	close(server);
	put_with_port(client, "GET http://@/repos/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	expect_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	close(client);
	close(server);
}

static void origin_form_to_the_proxy_gets_help(void **state)
{
	int client = connect_to(w.port);

	(void)state;
	put_text(client, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
	take_refusal(client, "400", "framing");
	expect_end(client);
	close(client);
}

static void connect_may_follow_other_requests(void **state)
{
	int client = connect_to(w.port);

	(void)state;
	put_text(client, "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
	take_refusal(client, "403", "no-rule");
	put_text(client, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n");
	take_refusal(client, "403", "no-rule");
	expect_end(client);
	close(client);
}

static void hosts_that_are_no_hosts_get_400(void **state)
{
	static const char *const urls[] = {"http://evil.test%23.pkg.test/", "http://[gh.test]/",
		"http://user@gh.test/", "http://gh.test:0/", "http://gh.test:99999/",
		"http://gh.test\\@evil.test/", "http://g\xc3\xbc.test/", "http://gh..test/",
		"http://gh.test/#f", "https://gh.test/", "ftp://gh.test/", "http:///x",
		"gh.test/x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		char line[300], got[4096];
		int client = connect_to(w.port);

		snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\nHost: gh.test\r\n\r\n", urls[i]);
		put_text(client, line);
		assert_true(take_all(client, got, sizeof(got)) > 0);
		if (memcmp(got, "HTTP/1.1 400 ", 13))
			print_error("%s: %.30s\n", urls[i], got);
		assert_memory_equal(got, "HTTP/1.1 400 ", 13);
		close(client);
	}
	assert_int_equal(w.n_lookups, 0);
}

static void ambiguous_framing_gets_400_and_nothing_goes_up(void **state)
{
	static const char *const heads[] = {
		"Content-Length: 34\r\nContent-Length: 0\r\n",
		"Content-Length: 5\r\nContent-Length: 5\r\n",
		"Content-Length: 5, 5\r\n",
		"Content-Length: +5\r\n",
		"Content-Length: 0x5\r\n",
		"Content-Length: 5 5\r\n",
		"Content-Length: 99999999999999999999\r\n",
		"Content-Length: -1\r\n",
		"Content-Length:\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: chunked, chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding: chun\r\n ked\r\n",
		"X: y\nContent-Length: 5\r\n",
		"X: y\rZ: z\r\n",
		"X y: z\r\n",
		": z\r\n",
		"Host: other.test\r\n",
		"Connection: Host\r\n",
		"Connection: close, content-length\r\n",
		"Connection: Transfer-Encoding\r\n",
		"X: a\x01\x62\r\n",
	};

	(void)state;
	go_transparent();
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char text[1000], got[4096];
		int client = connect_to(w.port);

		snprintf(text, sizeof(text), "POST /repos HTTP/1.1\r\nHost: gh.test\r\n%s\r\nhello",
			heads[i]);
		put_text(client, text);
		assert_true(take_all(client, got, sizeof(got)) > 0);
		if (memcmp(got, "HTTP/1.1 400 ", 13))
			print_error("%s: %.30s\n", heads[i], got);
		assert_memory_equal(got, "HTTP/1.1 400 ", 13);
		close(client);
	}
	assert_int_equal(event_at(0).reason, NEJ_REASON_FRAMING);
	assert_int_equal(w.n_lookups, 0);
}

static void chunked_http10_request_gets_400(void **state)
{
	char got[4096];
	int client = connect_to(w.port);

	(void)state;
	go_transparent();
	put_text(client,
		"POST /repos HTTP/1.0\r\nHost: gh.test\r\n"
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 400 ", 13);
	close(client);
}

/* --- transparent */

static void transparent_host_must_be_the_connections(void **state)
{
	static const struct {
		const char *head, *status, *reason;
	} rows[] = {
		{"GET /repos HTTP/1.1\r\nHost: evil.test\r\n\r\n", "421", "host-mismatch"},
		{"GET /repos HTTP/1.1\r\nHost: gh.test:1\r\n\r\n", "421", "host-mismatch"},
		{"GET /repos HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "421", "host-mismatch"},
		{"GET http://evil.test:%/repos HTTP/1.1\r\nHost: gh.test\r\n\r\n", "421",
			"host-mismatch"},
		{"GET http://gh.test/repos HTTP/1.1\r\nHost: gh.test\r\n\r\n", "421",
			"host-mismatch"}, /* port 80 is not this connection's */
		{"GET /repos HTTP/1.1\r\n\r\n", "400", "framing"},
		{"GET /repos HTTP/1.0\r\n\r\n", "400", "framing"},
		{"GET /repos HTTP/1.1\r\nHost:\r\n\r\n", "400", "framing"},
		{"GET /repos HTTP/1.1\r\nHost: me@gh.test\r\n\r\n", "400", "malformed-host"},
		{"CONNECT a.pkg.test:443 HTTP/1.1\r\nHost: a.pkg.test\r\n\r\n", "403",
			"unknown-protocol"},
		{"GET /admin HTTP/1.1\r\nHost: gh.test\r\n\r\n", "403", "no-rule"},
	};

	(void)state;
	go_transparent();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int client = connect_to(w.port);

		put_with_port(client, rows[i].head);
		take_refusal(client, rows[i].status, rows[i].reason);
		close(client);
	}
	assert_int_equal(w.n_lookups, 0);
}

static void transparent_request_is_relayed_with_a_canonical_host(void **state)
{
	int client, server;

	(void)state;
	go_transparent();
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: GH.Test.:%\r\nA: b\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\nA: b\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
	close(server);
	expect_text(client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end");
	expect_end(client);
	close(client);
}

static void real_address_is_named_by_host_and_the_names_own_is_dialled(void **state)
{
	int client, server;

	(void)state;
	world_dest("203.0.113.9", port);
	client = connect_to(w.port);
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: 203.0.113.9:%\r\n\r\n");
	take_refusal(client, "403", "address-literal");
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: 198.51.100.1:%\r\n\r\n");
	take_refusal(client, "403", "address-literal");
	close(client);
	close(server);
}

static void request_inside_connect_is_decided_too(void **state)
{
	static const struct world_rule both[] = {{.host = NAME,
							 .scheme = POLICY_SCHEME_HTTP,
							 .path = "/repos",
							 .verdict = POLICY_ALLOW},
		{0}};
	int client = connect_to(w.port), server;

	(void)state;
	w.rules = both;
	put_with_port(client, "CONNECT @ HTTP/1.1\r\n\r\n");
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	server = accept_from(listener);
	put_with_port(client, "GET /admin HTTP/1.1\r\nHost: @\r\n\r\n");
	take_refusal(client, "403", "no-rule");
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: evil.test\r\n\r\n");
	take_refusal(client, "421", "host-mismatch");
	put_with_port(client, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	expect_with_port(server, "GET /repos HTTP/1.1\r\nHost: @\r\n\r\n");
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	close(client);
	close(server);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(absolute_form_becomes_origin_form_with_the_targets_host),
		TEST(denied_request_leaves_the_connection_usable),
		TEST(pipelined_requests_are_judged_one_by_one_in_order),
		TEST(another_host_on_the_same_connection_gets_its_own_server),
		TEST(kept_connection_that_went_away_is_dialled_again),
		TEST(origin_form_to_the_proxy_gets_help),
		TEST(connect_may_follow_other_requests),
		TEST(hosts_that_are_no_hosts_get_400),
		TEST(ambiguous_framing_gets_400_and_nothing_goes_up),
		TEST(chunked_http10_request_gets_400),
		TEST(transparent_host_must_be_the_connections),
		TEST(transparent_request_is_relayed_with_a_canonical_host),
		TEST(real_address_is_named_by_host_and_the_names_own_is_dialled),
		TEST(request_inside_connect_is_decided_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
