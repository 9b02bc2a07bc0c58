/* SPDX-License-Identifier: GPL-2.0-only */
/* Transparent connections of other protocols: servers that speak first, host ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#define ALLOWED "api.allowed.test"

static const struct world_rule allow_https[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
static const struct world_rule allow_tcp[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_TCP, .verdict = POLICY_ALLOW},
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
static const uint8_t denied_alert[] = {21, 3, 3, 0, 2, 2, 49};

/* --- other protocols */

static void unknown_protocol_is_reset_where_only_tls_is_allowed(void **state)
{
	int client;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_text(client, "SSH-2.0-OpenSSH_9.2p1 Debian\r\n");
	expect_reset(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_UNKNOWN_PROTOCOL);
	close(client);
}

static void server_that_speaks_first_is_heard(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_tcp;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.eager_port);
	server = accept_from(listener);
	put_text(server, "SSH-2.0-server\r\n");
	expect_text(client, "SSH-2.0-server\r\n");
	put_text(client, "SSH-2.0-client\r\n");
	expect_text(server, "SSH-2.0-client\r\n");
	close(server);
	expect_end(client);
	close(client);
	wait_idle();
	assert_int_equal(count_events(), 1);
	assert_int_equal(event_at(0).app, AUDIT_APP_RAW);
	close(listener);
}

static void nameless_tls_passes_where_anything_may(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_tcp;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	put_hello(client, NULL);
	server = accept_from(listener);
	expect_hello(server, NULL);
	close(client);
	close(server);
	close(listener);
}

static void client_that_waits_for_a_server_it_may_not_have_is_told_soon(void **state)
{
	uint64_t start_ms = clock_monotonic_ms();
	int client;

	(void)state;
	w.rules = allow_tcp;
	world_dest("93.184.216.34", 25);
	client = connect_to(w.eager_port);
	expect_reset(client);
	assert_in_range(clock_monotonic_ms() - start_ms, 0, 1000);
	assert_int_equal(event_at(0).reason, NEJ_REASON_ADDRESS_LITERAL);
	close(client);
}

static void tls_with_another_name_is_refused_on_a_raw_port_too(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_tcp;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.eager_port);
	server = accept_from(listener);
	put_hello(client, "evil.test");
	expect(client, denied_alert, sizeof(denied_alert));
	expect_end(client);
	expect_end(server);
	assert_int_equal(event_at(0).reason, NEJ_REASON_HOST_MISMATCH);
	assert_int_equal(count_events(), 1);
	close(client);
	close(server);
	close(listener);
}

static void client_that_only_listens_may_close_its_side(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_tcp;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.eager_port);
	shutdown(client, SHUT_WR);
	server = accept_from(listener);
	expect_end(server);
	put_text(server, "time: now");
	close(server);
	expect_text(client, "time: now");
	expect_end(client);
	close(client);
	close(listener);
}

static void host_port_reaches_the_hosts_loopback_and_no_other_does(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.host_port = port;
	world_dest("127.0.0.1", port);
	client = connect_to(w.eager_port);
	server = accept_from(listener);
	put_text(server, "hello");
	expect_text(client, "hello");
	close(client);
	close(server);
	world_dest("127.0.0.1", 1);
	client = connect_to(w.eager_port);
	expect_reset(client);
	assert_int_equal(event_at(1).reason, NEJ_REASON_LOOPBACK);
	close(client);
	close(listener);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_start, world_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(unknown_protocol_is_reset_where_only_tls_is_allowed),
		TEST(server_that_speaks_first_is_heard),
		TEST(tls_with_another_name_is_refused_on_a_raw_port_too),
		TEST(client_that_only_listens_may_close_its_side),
		TEST(host_port_reaches_the_hosts_loopback_and_no_other_does),
		TEST(nameless_tls_passes_where_anything_may),
		TEST(client_that_waits_for_a_server_it_may_not_have_is_told_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
