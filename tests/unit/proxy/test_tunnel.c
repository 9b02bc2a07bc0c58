/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunnels: transparent TLS and raw TCP, CONNECT, SOCKS5; what is refused and how it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#include "../wire/hello.h"

#define ALLOWED "api.allowed.test"

static const struct world_rule allow_https[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
static const struct world_rule allow_any[] = {{.host = ALLOWED, .verdict = POLICY_ALLOW}, {0}};
static const struct world_rule allow_tcp[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_TCP, .verdict = POLICY_ALLOW},
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};

static const uint8_t denied_alert[] = {21, 3, 3, 0, 2, 2, 49};
static const uint8_t no_name_alert[] = {21, 3, 3, 0, 2, 2, 112};
static const uint8_t failed_alert[] = {21, 3, 3, 0, 2, 2, 80};

static void put_hello(int fd, const char *sni)
{
	uint8_t hello[2048];

	put(fd, hello, hello_print(hello, sni));
}

static void expect_hello(int fd, const char *sni)
{
	uint8_t hello[2048];
	size_t n = hello_print(hello, sni);

	expect(fd, hello, n);
}

/* --- transparent TLS */

static void allowed_tls_reaches_its_server_unchanged(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;
	struct world_event e;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	put_text(server, "server hello");
	expect_text(client, "server hello");
	put_text(client, "more");
	expect_text(server, "more");
	e = event_at(0);
	assert_int_equal(e.kind, AUDIT_NETWORK_ALLOWED);
	assert_int_equal(e.app, AUDIT_APP_TLS);
	assert_string_equal(e.host, ALLOWED);
	close(client);
	expect_end(server);
	close(server);
	wait_idle();
	assert_int_equal(event_at(0).bytes_in, 12);
	assert_true(event_at(0).bytes_out > 100);
	assert_int_equal(count_events(), 1);
	assert_int_equal(w.n_lookups, 1);
	close(listener);
}

static void hello_in_one_byte_segments_is_read(void **state)
{
	uint8_t hello[2048];
	size_t n = hello_print(hello, ALLOWED);
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	for (size_t i = 0; i < n; i++) {
		put(client, hello + i, 1);
		if (i % 32 == 0)
			usleep(1000);
	}
	server = accept_from(listener);
	expect(server, hello, n);
	close(client);
	close(server);
	close(listener);
}

static void denied_name_gets_an_alert_and_an_orderly_end(void **state)
{
	int client;
	struct world_event e;

	(void)state;
	w.rules = allow_https;
	world_name_dest("evil.test", 443);
	client = connect_to(w.port);
	put_hello(client, "evil.test");
	expect(client, denied_alert, sizeof(denied_alert));
	expect_end(client);
	e = event_at(0);
	assert_int_equal(e.kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(e.reason, NEJ_REASON_NO_RULE);
	assert_string_equal(e.host, "evil.test");
	assert_int_equal(e.port, 443);
	assert_int_equal(w.n_lookups, 0);
	close(client);
}

static void sni_other_than_the_name_is_refused(void **state)
{
	static const struct world_rule both[] = {{.verdict = POLICY_ALLOW}, {0}};
	int client;

	(void)state;
	w.rules = both;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_hello(client, "b.pkg.test");
	expect(client, denied_alert, sizeof(denied_alert));
	expect_end(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_HOST_MISMATCH);
	assert_non_null(strstr(event_at(0).detail, "b.pkg.test"));
	assert_non_null(strstr(event_at(0).detail, ALLOWED));
	close(client);
}

static void tls_without_sni_to_a_name_is_refused(void **state)
{
	int client;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_hello(client, NULL);
	expect(client, no_name_alert, sizeof(no_name_alert));
	expect_end(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_NO_NAME);
	close(client);
}

static void real_address_is_replaced_by_the_names_own(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	world_dest("203.0.113.9", port); /* where the attacker listens */
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void address_literal_without_a_name_is_refused(void **state)
{
	int client;

	(void)state;
	w.rules = allow_any;
	world_dest("93.184.216.34", 443);
	client = connect_to(w.port);
	put_hello(client, NULL);
	expect(client, denied_alert, sizeof(denied_alert));
	expect_end(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_ADDRESS_LITERAL);
	close(client);
}

static void inside_address_of_an_allowed_name_is_never_dialled(void **state)
{
	static const char *const bad[] = {
		"10.0.0.5", "169.254.169.254", "9.9.9.9", "fd00::1", "::ffff:0:a00:5"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int client;

		w.rules = allow_https;
		world_name_dest(ALLOWED, 443);
		w.names[0].addrs[1] = bad[i]; /* behind a good one */
		client = connect_to(w.port);
		put_hello(client, ALLOWED);
		expect(client, denied_alert, sizeof(denied_alert));
		expect_end(client);
		assert_int_equal(event_at(i).reason, NEJ_REASON_PRIVATE_ADDRESS);
		close(client);
	}
}

static void next_address_is_dialled_when_one_refuses(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.3", &port), client, server;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	w.names[0].addrs[0] = "127.0.0.2";
	w.names[0].addrs[1] = "127.0.0.3";
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void server_that_is_down_is_a_failure_not_a_denial(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client;

	(void)state;
	close(listener);
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	expect(client, failed_alert, sizeof(failed_alert));
	expect_end(client);
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_FAILED);
	assert_int_equal(event_at(0).reason, NEJ_REASON_UPSTREAM_REFUSED);
	close(client);
}

static void late_answer_of_the_resolver_is_waited_for(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	w.names[0].is_late = true;
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	put_text(client, "early data");
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	expect_text(server, "early data");
	close(client);
	expect_end(server);
	close(server);
	close(listener);
}

static void client_that_leaves_while_the_name_is_resolved_is_forgotten(void **state)
{
	struct linger rst = {.l_onoff = 1};
	int client;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, 443);
	w.names[0].is_late = true;
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	usleep(5000);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(client);
	wait_idle();
}

static void host_that_needs_inspection_is_refused_as_such(void **state)
{
	static const struct world_rule rules[] = {
		{.host = ALLOWED, .path = "/repos", .verdict = POLICY_ALLOW, .is_inspect = true},
		{0}};
	int client;

	(void)state;
	w.rules = rules;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	expect(client, denied_alert, sizeof(denied_alert));
	assert_int_equal(event_at(0).reason, NEJ_REASON_INSPECT_UNAVAILABLE);
	close(client);
}

static void halted_sandbox_passes_nothing(void **state)
{
	int client;

	(void)state;
	w.rules = allow_any;
	w.may_pass = NEJ_REASON_HALTED;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	expect(client, denied_alert, sizeof(denied_alert));
	assert_int_equal(event_at(0).reason, NEJ_REASON_HALTED);
	close(client);
}

static void full_audit_ring_passes_nothing(void **state)
{
	int client;

	(void)state;
	w.rules = allow_any;
	w.is_ring_full = true;
	world_name_dest(ALLOWED, 443);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	expect(client, failed_alert, sizeof(failed_alert));
	close(client);
	assert_int_equal(w.n_lookups, 0);
}

static void connection_without_a_record_in_the_kernel_is_reset(void **state)
{
	int client;

	(void)state;
	w.rules = allow_any;
	w.has_origin = false;
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	expect_reset(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_INTERNAL);
	close(client);
}

static void connections_beyond_the_limit_are_reset(void **state)
{
	int first, second;

	(void)state;
	w.rules = allow_any;
	w.max_connections = 1;
	world_name_dest(ALLOWED, 443);
	first = connect_to(w.port);
	put(first, "\x16", 1);
	usleep(20000);
	second = connect_to(w.port);
	put_hello(second, ALLOWED);
	expect_reset(second);
	assert_int_equal(event_at(0).reason, NEJ_REASON_LIMIT);
	close(second);
	close(first);
}

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

/* --- CONNECT */

static void connect_answers_after_the_server_is_reached(void **state)
{
	uint16_t port;
	char line[200];
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	snprintf(line, sizeof(line), "CONNECT %s:%u HTTP/1.1\r\nHost: x\r\n\r\n", ALLOWED, port);
	client = connect_to(w.port);
	put_text(client, line);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	server = accept_from(listener);
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	put_text(server, "answer");
	expect_text(client, "answer");
	assert_string_equal(event_at(0).method, "CONNECT");
	assert_int_equal(event_at(0).app, AUDIT_APP_TLS);
	close(client);
	expect_end(server);
	close(server);
	close(listener);
}

static void hello_right_behind_connect_is_not_lost(void **state)
{
	uint16_t port;
	uint8_t bytes[4096];
	int listener = listen_on("127.0.0.1", &port), client, server, n;

	(void)state;
	w.rules = allow_https;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	n = snprintf((char *)bytes, sizeof(bytes), "CONNECT %s:%u HTTP/1.1\r\n\r\n", ALLOWED, port);
	n += (int)hello_print(bytes + n, ALLOWED);
	client = connect_to(w.port);
	put(client, bytes, (size_t)n);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void denied_connect_gets_403_before_any_200(void **state)
{
	char got[4096];
	int client = connect_to(w.port);

	(void)state;
	w.rules = allow_https;
	put_text(client, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 403 ", 13);
	assert_non_null(strstr(got, "\r\nX-Nej-Reason: no-rule\r\n"));
	assert_non_null(strstr(got, "- allow: evil.test`"));
	assert_non_null(strstr(got, "\r\nCache-Control: no-store\r\n"));
	assert_int_equal(event_at(0).status, 403);
	assert_string_equal(event_at(0).host, "evil.test");
	close(client);
}

static void malformed_connect_targets_are_refused(void **state)
{
	static const struct {
		const char *target;
		const char *status;
	} rows[] = {
		{"api.allowed.test", "400"},
		{"api.allowed.test:", "400"},
		{"api.allowed.test:0", "400"},
		{"api.allowed.test:65536", "400"},
		{"api.allowed.test:443x", "400"},
		{"api.allowed.test:0443", "400"},
		{"user@api.allowed.test:443", "400"},
		{"[api.allowed.test]:443", "400"},
		{"[[api.allowed.test]]:443", "400"},
		{"api..allowed.test:443", "400"},
		{"http://api.allowed.test:443", "400"},
		{"/", "400"},
		{"93.184.216.34:443", "403"},
		{"[2606:2800:220:1::1]:443", "403"},
		{"evil.test:22", "403"},
	};

	(void)state;
	w.rules = allow_any;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[300], got[4096];
		int client = connect_to(w.port);

		snprintf(line, sizeof(line), "CONNECT %s HTTP/1.1\r\n\r\n", rows[i].target);
		put_text(client, line);
		assert_true(take_all(client, got, sizeof(got)) > 0);
		if (memcmp(got + 9, rows[i].status, 3))
			print_error("%s: %.20s\n", rows[i].target, got);
		assert_memory_equal(got + 9, rows[i].status, 3);
		close(client);
	}
	assert_int_equal(w.n_lookups, 0);
}

static void sni_other_than_connects_name_is_refused(void **state)
{
	uint16_t port;
	char line[200];
	static const struct world_rule all[] = {
		{.scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = all;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	snprintf(line, sizeof(line), "CONNECT %s:%u HTTP/1.1\r\n\r\n", ALLOWED, port);
	client = connect_to(w.port);
	put_text(client, line);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	server = accept_from(listener);
	put_hello(client, "evil.test");
	expect(client, denied_alert, sizeof(denied_alert));
	expect_end(client);
	expect_end(server); /* not a byte went up */
	assert_int_equal(event_at(0).reason, NEJ_REASON_HOST_MISMATCH);
	assert_int_equal(count_events(), 1);
	close(client);
	close(server);
	close(listener);
}

static void connect_to_a_dead_server_gets_502(void **state)
{
	uint16_t port;
	char line[200], got[4096];
	int listener = listen_on("127.0.0.1", &port), client;

	(void)state;
	close(listener);
	w.rules = allow_any;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	snprintf(line, sizeof(line), "CONNECT %s:%u HTTP/1.1\r\n\r\n", ALLOWED, port);
	client = connect_to(w.port);
	put_text(client, line);
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 502 ", 13);
	close(client);
	w.names[0].name = "other.test";
	client = connect_to(w.port);
	put_text(client, line);
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 502 ", 13);
	assert_non_null(strstr(got, "X-Nej-Reason: resolve-failed"));
	close(client);
}

static void inspected_host_is_refused_before_connects_200(void **state)
{
	static const struct world_rule rules[] = {{.host = ALLOWED,
							  .scheme = POLICY_SCHEME_HTTPS,
							  .path = "/repos",
							  .verdict = POLICY_ALLOW},
		{0}};
	char got[4096];
	int client = connect_to(w.port);

	(void)state;
	w.rules = rules;
	put_text(client,
		"CONNECT api.allowed.test:443 HTTP/1.1\r\nAccept: application/json\r\n\r\n");
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 403 ", 13);
	assert_non_null(strstr(got, "X-Nej-Reason: inspect-unavailable"));
	assert_non_null(strstr(got, "Content-Type: application/json"));
	assert_non_null(strstr(got, "\"reason\":\"inspect-unavailable\""));
	close(client);
}

static void upstream_transport_is_refused_until_it_exists(void **state)
{
	static const struct world_rule rules[] = {
		{.host = ALLOWED, .verdict = POLICY_ALLOW, .transport = POLICY_TRANSPORT_UPSTREAM},
		{0}};
	char got[4096];
	int client = connect_to(w.port);

	(void)state;
	w.rules = rules;
	put_text(client, "CONNECT api.allowed.test:443 HTTP/1.1\r\n\r\n");
	assert_true(take_all(client, got, sizeof(got)) > 0);
	assert_memory_equal(got, "HTTP/1.1 500 ", 13);
	assert_non_null(strstr(got, "not available in this build"));
	close(client);
}

static void other_bytes_inside_connect_are_reset_where_only_tls_is_allowed(void **state)
{
	uint16_t port;
	char line[200];
	int listener = listen_on("127.0.0.1", &port), client;

	(void)state;
	w.rules = allow_https;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	snprintf(line, sizeof(line), "CONNECT %s:%u HTTP/1.1\r\n\r\n", ALLOWED, port);
	client = connect_to(w.port);
	put_text(client, line);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	put_text(client, "SSH-2.0-OpenSSH_9.2p1\r\n");
	expect_reset(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_UNKNOWN_PROTOCOL);
	assert_int_equal(count_events(), 1);
	close(client);
	close(listener);
}

static void server_behind_connect_may_speak_first_on_a_raw_port(void **state)
{
	uint16_t port;
	char line[200];
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_tcp;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	snprintf(line, sizeof(line), "CONNECT %s:%u HTTP/1.1\r\n\r\n", ALLOWED, port);
	client = connect_to(w.port);
	put_text(client, line);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	server = accept_from(listener);
	put_text(server, "220 smtp\r\n");
	expect_text(client, "220 smtp\r\n");
	put_text(client, "EHLO x\r\n");
	expect_text(server, "EHLO x\r\n");
	close(client);
	close(server);
	close(listener);
}

/* --- SOCKS5 */

static void socks5_reaches_a_name(void **state)
{
	uint8_t request[64] = {5, 1, 0, 3, sizeof(ALLOWED) - 1};
	static const uint8_t ok[10] = {5, 0, 0, 1};
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;
	size_t n = 5 + sizeof(ALLOWED) - 1;

	(void)state;
	w.rules = allow_https;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	client = connect_to(w.port);
	put(client, "\x05\x02\x00\x02", 4);
	expect(client, "\x05\x00", 2);
	memcpy(request + 5, ALLOWED, sizeof(ALLOWED) - 1);
	request[n++] = (uint8_t)(port >> 8);
	request[n++] = (uint8_t)port;
	put(client, request, n);
	expect(client, ok, sizeof(ok));
	server = accept_from(listener);
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void socks5_password_is_read_over_and_denial_has_its_code(void **state)
{
	static const uint8_t denied[10] = {5, 2, 0, 1};
	int client = connect_to(w.port);

	(void)state;
	w.rules = allow_https;
	put(client, "\x05\x01\x02", 3);
	expect(client, "\x05\x02", 2);
	put(client, "\x01\x02me\x03key", 8);
	expect(client, "\x01\x00", 2);
	put(client, "\x05\x01\x00\x01\x5d\xb8\xd8\x22\x01\xbb", 10);
	expect(client, denied, sizeof(denied));
	expect_end(client);
	assert_int_equal(event_at(0).reason, NEJ_REASON_ADDRESS_LITERAL);
	assert_int_equal(event_at(0).app, AUDIT_APP_SOCKS5);
	close(client);
}

static void socks5_synthetic_address_stands_for_its_name(void **state)
{
	static const uint8_t ok[10] = {5, 0, 0, 1};
	uint8_t request[10] = {5, 1, 0, 1, 198, 18, 0, 7};
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	world_dest("127.0.0.1", w.port);
	client = connect_to(w.port);
	put(client, "\x05\x01\x00", 3);
	expect(client, "\x05\x00", 2);
	request[8] = (uint8_t)(port >> 8);
	request[9] = (uint8_t)port;
	put(client, request, sizeof(request));
	expect(client, ok, sizeof(ok));
	server = accept_from(listener);
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

/* --- the relay */

struct flood {
	int fd;
	size_t bytes;
	uint32_t sum;
};

static void *flood_out(void *arg)
{
	struct flood *f = arg;
	uint8_t block[10000];
	uint32_t seed = 1;

	for (size_t n = 0; n < f->bytes; n += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++) {
			seed = seed * 1103515245 + 12345;
			block[i] = (uint8_t)(seed >> 16);
			f->sum = f->sum * 31 + block[i];
		}
		for (size_t at = 0; at < sizeof(block);) {
			ssize_t r = send(f->fd, block + at, sizeof(block) - at, MSG_NOSIGNAL);

			if (r <= 0)
				return NULL;
			at += (size_t)r;
		}
	}
	shutdown(f->fd, SHUT_WR);
	return NULL;
}

static uint32_t drink(int fd, size_t *ret_bytes, bool is_slow)
{
	static uint8_t block[70000];
	uint32_t sum = 0;
	size_t all = 0;
	ssize_t n;

	while ((n = recv(fd, block, sizeof(block), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + block[i];
		all += (size_t)n;
		if (is_slow && all % 7 == 0)
			usleep(500);
	}
	*ret_bytes = all;
	return sum;
}

/* Opens a tunnel; the hello is taken off. */
static void open_tunnel(int *ret_client, int *ret_server)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port);

	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	*ret_client = connect_to(w.port);
	put_hello(*ret_client, ALLOWED);
	*ret_server = accept_from(listener);
	expect_hello(*ret_server, ALLOWED);
	close(listener);
}

static void bulk_arrives_whole_in_both_directions_at_once(void **state)
{
	struct flood up = {.bytes = 20000000}, down = {.bytes = 8000000};
	pthread_t threads[2];
	size_t n;
	int client, server;
	uint32_t sum, other;

	(void)state;
	open_tunnel(&client, &server);
	up.fd = client;
	down.fd = server;
	pthread_create(&threads[0], NULL, flood_out, &up);
	pthread_create(&threads[1], NULL, flood_out, &down);
	sum = drink(client, &n, true);
	assert_int_equal(n, 8000000);
	/* the other direction is read only now: it had to wait without harm */
	other = drink(server, &n, false);
	assert_int_equal(n, 20000000);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(sum, down.sum);
	assert_int_equal(other, up.sum);
	close(client);
	close(server);
	wait_idle();
	assert_int_equal(event_at(0).bytes_in, 8000000);
}

static void half_close_keeps_the_other_direction(void **state)
{
	char block[4096] = {1};
	size_t n;
	int client, server;

	(void)state;
	open_tunnel(&client, &server);
	put_text(client, "request");
	shutdown(client, SHUT_WR);
	expect_text(server, "request");
	expect_end(server);
	for (int i = 0; i < 256; i++)
		put(server, block, sizeof(block));
	close(server);
	drink(client, &n, false);
	assert_int_equal(n, 1 << 20);
	close(client);

	open_tunnel(&client, &server);
	shutdown(server, SHUT_WR);
	expect_end(client);
	put_text(client, "still going up");
	expect_text(server, "still going up");
	close(client);
	expect_end(server);
	close(server);
}

static void reset_is_passed_as_reset(void **state)
{
	static const struct linger rst = {.l_onoff = 1};
	int client, server;

	(void)state;
	open_tunnel(&client, &server);
	setsockopt(server, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(server);
	expect_reset(client);
	close(client);
	open_tunnel(&client, &server);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(client);
	expect_reset(server);
	close(server);
}

static void totals_of_a_drained_record_come_as_another(void **state)
{
	int client, server;

	(void)state;
	w.is_drained = true;
	open_tunnel(&client, &server);
	put_text(server, "12345");
	expect_text(client, "12345");
	close(server);
	close(client);
	assert_int_equal(event_at(1).kind, AUDIT_NETWORK_CLOSED);
	assert_int_equal(event_at(1).bytes_in, 5);
	assert_string_equal(event_at(1).host, ALLOWED);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_start, world_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(allowed_tls_reaches_its_server_unchanged),
		TEST(hello_in_one_byte_segments_is_read),
		TEST(denied_name_gets_an_alert_and_an_orderly_end),
		TEST(sni_other_than_the_name_is_refused),
		TEST(tls_without_sni_to_a_name_is_refused),
		TEST(real_address_is_replaced_by_the_names_own),
		TEST(address_literal_without_a_name_is_refused),
		TEST(inside_address_of_an_allowed_name_is_never_dialled),
		TEST(next_address_is_dialled_when_one_refuses),
		TEST(server_that_is_down_is_a_failure_not_a_denial),
		TEST(late_answer_of_the_resolver_is_waited_for),
		TEST(client_that_leaves_while_the_name_is_resolved_is_forgotten),
		TEST(host_that_needs_inspection_is_refused_as_such),
		TEST(halted_sandbox_passes_nothing),
		TEST(full_audit_ring_passes_nothing),
		TEST(connection_without_a_record_in_the_kernel_is_reset),
		TEST(connections_beyond_the_limit_are_reset),
		TEST(unknown_protocol_is_reset_where_only_tls_is_allowed),
		TEST(server_that_speaks_first_is_heard),
		TEST(tls_with_another_name_is_refused_on_a_raw_port_too),
		TEST(client_that_only_listens_may_close_its_side),
		TEST(host_port_reaches_the_hosts_loopback_and_no_other_does),
		TEST(connect_answers_after_the_server_is_reached),
		TEST(hello_right_behind_connect_is_not_lost),
		TEST(denied_connect_gets_403_before_any_200),
		TEST(malformed_connect_targets_are_refused),
		TEST(sni_other_than_connects_name_is_refused),
		TEST(connect_to_a_dead_server_gets_502),
		TEST(inspected_host_is_refused_before_connects_200),
		TEST(upstream_transport_is_refused_until_it_exists),
		TEST(other_bytes_inside_connect_are_reset_where_only_tls_is_allowed),
		TEST(server_behind_connect_may_speak_first_on_a_raw_port),
		TEST(nameless_tls_passes_where_anything_may),
		TEST(socks5_reaches_a_name),
		TEST(socks5_password_is_read_over_and_denial_has_its_code),
		TEST(socks5_synthetic_address_stands_for_its_name),
		TEST(bulk_arrives_whole_in_both_directions_at_once),
		TEST(half_close_keeps_the_other_direction),
		TEST(reset_is_passed_as_reset),
		TEST(totals_of_a_drained_record_come_as_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
