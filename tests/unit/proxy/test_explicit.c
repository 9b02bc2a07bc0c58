/* SPDX-License-Identifier: GPL-2.0-only */
/* CONNECT and SOCKS5. */
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
static const struct world_rule allow_any[] = {{.host = ALLOWED, .verdict = POLICY_ALLOW}, {0}};
static const struct world_rule allow_tcp[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_TCP, .verdict = POLICY_ALLOW},
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
static const uint8_t denied_alert[] = {21, 3, 3, 0, 2, 2, 49};

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

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_start, world_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(connect_answers_after_the_server_is_reached),
		TEST(hello_right_behind_connect_is_not_lost),
		TEST(denied_connect_gets_403_before_any_200),
		TEST(malformed_connect_targets_are_refused),
		TEST(sni_other_than_connects_name_is_refused),
		TEST(connect_to_a_dead_server_gets_502),
		TEST(inspected_host_is_refused_before_connects_200),
		TEST(other_bytes_inside_connect_are_reset_where_only_tls_is_allowed),
		TEST(server_behind_connect_may_speak_first_on_a_raw_port),
		TEST(socks5_reaches_a_name),
		TEST(socks5_password_is_read_over_and_denial_has_its_code),
		TEST(socks5_synthetic_address_stands_for_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
