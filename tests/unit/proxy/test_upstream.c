/* SPDX-License-Identifier: GPL-2.0-only */
/* Through a forward proxy: what it is asked, what its answers become, and what stays checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#define ALLOWED "api.allowed.test"
#define OK "HTTP/1.1 200 Connection established\r\n\r\n"

static const struct world_rule all_via[] = {
	{.verdict = POLICY_ALLOW, .transport = POLICY_TRANSPORT_UPSTREAM}, {0}};

/* A forward proxy `corp` of the test's; the name is at a public address nobody dials. */
static int proxy_on_loopback(void)
{
	struct policy_upstream *u = &w.upstreams[0];
	int listener;

	*u = (struct policy_upstream){.name = "corp", .username = "jo", .password = "secret"};
	listener = listen_on("127.0.0.1", &u->port);
	host_parse("127.0.0.1", 9, &u->host);
	w.rules = all_via;
	world_name_dest(ALLOWED, 443);
	w.names[0].addrs[0] = "93.184.216.34";
	return listener;
}

static void expect_connect(int server, const char *target)
{
	char head[512];

	snprintf(head, sizeof(head),
		"CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic am86c2VjcmV0\r\n"
		"X-Nej-Name: " ALLOWED ":443\r\n\r\n",
		target, target);
	expect_text(server, head);
}

/* A client of the explicit proxy, told no: the status, and the record as a failure. */
static void expect_failure(int client, const char *status, const char *detail)
{
	char got[4096];

	assert_true(take_all(client, got, sizeof(got)) > 0);
	if (memcmp(got + 9, status, 3) || !strstr(got, detail))
		print_error("got: %s\n", got);
	assert_memory_equal(got + 9, status, 3);
	assert_non_null(strstr(got, "X-Nej-Reason: upstream-refused"));
	assert_non_null(strstr(got, detail));
	assert_null(strstr(got, "secret"));
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_FAILED);
	assert_int_equal(event_at(0).reason, NEJ_REASON_UPSTREAM_REFUSED);
	assert_non_null(strstr(event_at(0).detail, detail));
	close(client);
}

static int ask_connect(void)
{
	int client;

	world_dest("127.0.0.1", w.port);
	client = connect_to(w.port);
	put_text(client, "CONNECT " ALLOWED ":443 HTTP/1.1\r\n\r\n");
	return client;
}

static void tls_is_tunnelled_to_the_checked_address(void **state)
{
	int listener = proxy_on_loopback(), client, server;

	(void)state;
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_connect(server, "93.184.216.34:443");
	expect_quiet(server);
	put_text(server, "HTTP/1.1 200 Conn");
	expect_quiet(server);
	put_text(server, "ection established\r\nVia: 1.1 x\r\n\r\nfirst");
	expect_hello(server, ALLOWED);
	expect_text(client, "first");
	put_text(client, "up");
	expect_text(server, "up");
	put_text(server, "down");
	expect_text(client, "down");
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_ALLOWED);
	close(client);
	close(server);
	close(listener);
	wait_idle();
}

static void requests_in_clear_are_tunnelled_too(void **state)
{
	int listener = proxy_on_loopback(), client, server;

	(void)state;
	client = connect_to(w.port);
	put_text(client, "GET /a HTTP/1.1\r\nHost: " ALLOWED ":443\r\n\r\n");
	server = accept_from(listener);
	expect_connect(server, "93.184.216.34:443");
	put_text(server, "HTTP/1.1 100 Continue\r\n\r\n" OK);
	expect_text(server, "GET /a HTTP/1.1\r\nHost: " ALLOWED ":443\r\n");
	close(client);
	close(server);
	close(listener);
	wait_idle();
}

static void proxy_is_asked_for_the_name_where_it_resolves(void **state)
{
	int listener = proxy_on_loopback(), client, server;

	(void)state;
	w.upstreams[0].is_by_name = true;
	w.upstreams[0].username = NULL;
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_text(server, "CONNECT " ALLOWED ":443 HTTP/1.1\r\nHost: " ALLOWED ":443\r\n\r\n");
	put_text(server, OK);
	expect_hello(server, ALLOWED);
	assert_int_equal(w.n_lookups, 0);
	close(client);
	close(server);
	close(listener);
}

static void proxy_may_be_a_name_inside(void **state)
{
	int listener = proxy_on_loopback(), client, server;

	(void)state;
	host_parse("proxy.corp.test", 15, &w.upstreams[0].host);
	w.names[0].is_late = true;
	w.names[1] = (struct world_name){
		.name = "proxy.corp.test", .addrs = {"127.0.0.1"}, .is_late = true};
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_connect(server, "93.184.216.34:443");
	put_text(server, OK);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void inside_addresses_are_refused_before_the_proxy_is_asked(void **state)
{
	int listener = proxy_on_loopback(), client;
	char got[4096];

	(void)state;
	w.names[0].addrs[1] = "10.0.0.5";
	client = ask_connect();
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_non_null(strstr(got, "X-Nej-Reason: private-address"));
	expect_quiet(listener);
	close(client);
	close(listener);
}

static void refusals_of_the_proxy_are_told_apart_from_the_policys(void **state)
{
	static const struct {
		const char *answer, *status, *detail;
	} cases[] = {
		{"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n", "502",
			"answered 407: it does not take our credentials"},
		{"HTTP/1.0 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "502",
			"answered 403: its own rules forbid it"},
		{"HTTP/1.1 403 Forbidden\r\nX-Nej-Reason: no-rule\r\n\r\n", "502",
			"answered 403: no-rule"},
		{"HTTP/1.1 502 Bad Gateway\r\n\r\n", "502", "answered 502"},
		{"HTTP/1.1 504 Gateway Timeout\r\n\r\n", "504", "answered 504"},
		{"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "502", "answered 302"},
		{"SSH-2.0-x\r\n\r\n", "502", "does not answer in HTTP"},
		{"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "502",
			"does not answer in HTTP"},
		{"HTTP/1.1 200 OK\r\n", "502", "closed the connection without an answer"},
		{"", "502", "closed the connection without an answer"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int listener, client, server;

		if (i) {
			world_stop(state);
			world_start(state);
		}
		listener = proxy_on_loopback();
		client = ask_connect();
		server = accept_from(listener);
		expect_connect(server, "93.184.216.34:443");
		if (cases[i].answer[0])
			put_text(server, cases[i].answer);
		shutdown(server, SHUT_WR);
		expect_failure(client, cases[i].status, cases[i].detail);
		close(server);
		close(listener);
	}
}

static void proxy_that_is_down_is_told(void **state)
{
	int listener = proxy_on_loopback();

	(void)state;
	close(listener);
	expect_failure(ask_connect(), "502", "the forward proxy corp (127.0.0.1:");
}

static void head_without_an_end_is_cut_off(void **state)
{
	int listener = proxy_on_loopback(), client = ask_connect(), server = accept_from(listener);
	char much[20000];

	(void)state;
	memset(much, 'a', sizeof(much));
	put_text(server, "HTTP/1.1 200 OK\r\nX: ");
	put(server, much, sizeof(much));
	expect_failure(client, "502", "does not answer in HTTP");
	close(server);
	close(listener);
}

static void another_address_is_asked_for_when_one_is_not_reached(void **state)
{
	int listener = proxy_on_loopback(), client, server;

	(void)state;
	w.names[0].addrs[0] = "2606:2800:220:1::34";
	w.names[0].addrs[1] = "93.184.216.34";
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_connect(server, "93.184.216.34:443");
	put_text(server, "HTTP/1.1 503 Service Unavailable\r\n\r\n");
	close(server);
	server = accept_from(listener);
	expect_connect(server, "[2606:2800:220:1::34]:443");
	put_text(server, OK);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

/* One connection to the proxy itself, two requests that different rules send different ways. */
static void each_request_goes_the_way_of_its_rule(void **state)
{
	static const struct world_rule rules[] = {
		{.path = "/a", .verdict = POLICY_ALLOW, .transport = POLICY_TRANSPORT_UPSTREAM},
		{.verdict = POLICY_ALLOW}, {0}};
	int listener = proxy_on_loopback(), client, server, straight_listener, straight;
	uint16_t port;
	char text[200];

	(void)state;
	w.rules = rules;
	straight_listener = listen_on("127.0.0.1", &port);
	w.names[0].addrs[0] = "127.0.0.1";
	world_dest("127.0.0.1", w.port);
	client = connect_to(w.port);
	snprintf(text, sizeof(text), "GET http://" ALLOWED ":%u/a HTTP/1.1\r\nHost: x\r\n\r\n",
		port);
	put_text(client, text);
	server = accept_from(listener);
	snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%u ", port);
	expect_text(server, text);
	put_text(server, OK "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	snprintf(text, sizeof(text), "GET http://" ALLOWED ":%u/b HTTP/1.1\r\nHost: x\r\n\r\n",
		port);
	put_text(client, text);
	straight = accept_from(straight_listener);
	expect_text(straight, "GET /b HTTP/1.1\r\n");
	close(client);
	close(server);
	close(straight);
	close(listener);
	close(straight_listener);
}

/* Anything over TCP may pass straight, but TLS goes through the proxy. */
static void way_is_chosen_again_when_the_protocol_is_known(void **state)
{
	static const struct world_rule rules[] = {{.scheme = POLICY_SCHEME_HTTPS,
							  .verdict = POLICY_ALLOW,
							  .transport = POLICY_TRANSPORT_UPSTREAM},
		{.scheme = POLICY_SCHEME_TCP, .verdict = POLICY_ALLOW}, {0}};
	int listener = proxy_on_loopback(), client, server, straight_listener, straight;
	uint16_t port;
	char text[200];

	(void)state;
	w.rules = rules;
	straight_listener = listen_on("127.0.0.1", &port);
	world_name_dest(ALLOWED, port);
	client = connect_to(w.eager_port);
	straight = accept_from(straight_listener);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_end(straight);
	snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%u ", port);
	expect_text(server, text);
	close(client);
	close(server);
	close(straight);
	close(listener);
	close(straight_listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_start, world_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(tls_is_tunnelled_to_the_checked_address),
		TEST(requests_in_clear_are_tunnelled_too),
		TEST(proxy_is_asked_for_the_name_where_it_resolves),
		TEST(proxy_may_be_a_name_inside),
		TEST(inside_addresses_are_refused_before_the_proxy_is_asked),
		TEST(refusals_of_the_proxy_are_told_apart_from_the_policys),
		TEST(proxy_that_is_down_is_told),
		TEST(head_without_an_end_is_cut_off),
		TEST(another_address_is_asked_for_when_one_is_not_reached),
		TEST(each_request_goes_the_way_of_its_rule),
		TEST(way_is_chosen_again_when_the_protocol_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
