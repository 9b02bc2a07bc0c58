/* SPDX-License-Identifier: GPL-2.0-only */
/* Transparent TLS: whom it reaches, what is refused and how it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "world.h"

#define ALLOWED "api.allowed.test"

static const struct world_rule allow_https[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
static const struct world_rule allow_any[] = {{.host = ALLOWED, .verdict = POLICY_ALLOW}, {0}};
static const uint8_t denied_alert[] = {21, 3, 3, 0, 2, 2, 49};
static const uint8_t no_name_alert[] = {21, 3, 3, 0, 2, 2, 112};
static const uint8_t failed_alert[] = {21, 3, 3, 0, 2, 2, 80};

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

static void stalled_address_does_not_hold_up_the_next(void **state)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	uint16_t port;
	int listener = listen_on("127.0.0.3", &port), client, server;
	int stalled = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), filler[4];
	uint64_t start_ms;

	(void)state;
	/* a full backlog: SYNs are dropped */
	inet_pton(AF_INET, "127.0.0.2", &sa.sin_addr);
	sa.sin_port = htons(port);
	assert_int_equal(bind(stalled, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(stalled, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(filler); i++) {
		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(filler[i], (struct sockaddr *)&sa, sizeof(sa));
	}
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	w.names[0].addrs[0] = "127.0.0.2";
	w.names[0].addrs[1] = "127.0.0.3";
	start_ms = clock_monotonic_ms();
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	assert_in_range(clock_monotonic_ms() - start_ms, 200, 1000);
	put_text(server, "answer");
	expect_text(client, "answer");
	for (size_t i = 0; i < ARRAY_SIZE(filler); i++)
		close(filler[i]);
	close(client);
	close(server);
	close(stalled);
	close(listener);
}

static void slow_server_is_waited_for(void **state)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), filler[2], client, server;

	(void)state;
	/* the SYN is dropped until there is room, and comes again after a second */
	listen(listener, 0);
	filler[0] = connect_to(port);
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	put_hello(client, ALLOWED);
	usleep(100000);
	filler[1] = accept_from(listener);
	server = accept_from(listener);
	expect_hello(server, ALLOWED);
	put_text(server, "answer");
	expect_text(client, "answer");
	put_text(client, "more");
	expect_text(server, "more");
	close(server);
	expect_end(client);
	close(client);
	close(filler[0]);
	close(filler[1]);
	close(listener);
}

static void exhausted_descriptors_refuse_and_recover(void **state)
{
	struct rlimit limit, low;
	static int held[4096];
	size_t n = 0;
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, other, server;
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(w.port), .sin_addr = {htonl(0x7f000001)}};

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	set_limit(client);
	set_limit(other);
	getrlimit(RLIMIT_NOFILE, &limit);
	low = limit;
	low.rlim_cur = 1024;
	setrlimit(RLIMIT_NOFILE, &low);
	while (n < ARRAY_SIZE(held) && (held[n] = dup(0)) >= 0)
		n++;
	assert_int_equal(connect(client, (struct sockaddr *)&sa, sizeof(sa)), 0);
	put_hello(client, ALLOWED);
	expect_reset(client);
	/* one more descriptor: accepted, but no socket to dial with */
	close(held[--n]);
	assert_int_equal(connect(other, (struct sockaddr *)&sa, sizeof(sa)), 0);
	put_hello(other, ALLOWED);
	expect(other, failed_alert, sizeof(failed_alert));
	assert_int_equal(event_at(0).reason, NEJ_REASON_LIMIT);
	assert_int_equal(event_at(1).reason, NEJ_REASON_LIMIT);
	while (n)
		close(held[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	close(client);
	close(other);
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

static void halt_stops_an_open_tunnel_at_once(void **state)
{
	uint8_t hello[2048];
	size_t n = hello_print(hello, ALLOWED);
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port), client, server;

	(void)state;
	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	client = connect_to(w.port);
	put(client, hello, n);
	server = accept_from(listener);
	expect(server, hello, n);
	w.may_pass = NEJ_REASON_HALTED;
	put(client, "not a byte more", 15);
	usleep(50000);
	assert_int_equal(recv(server, hello, sizeof(hello), MSG_DONTWAIT), -1);
	w.may_pass = NEJ_REASON_NONE;
	expect(server, "not a byte more", 15);
	close(client);
	close(server);
	close(listener);
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
	world_dest("127.0.0.1", w.port);
	second = connect_to(w.port);
	put_text(second, "CONNECT a.test:443 HTTP/1.1\r\n\r\n");
	expect_text(second, "HTTP/1.1 429 ");
	close(second);
	close(first);
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
		TEST(stalled_address_does_not_hold_up_the_next),
		TEST(slow_server_is_waited_for),
		TEST(exhausted_descriptors_refuse_and_recover),
		TEST(server_that_is_down_is_a_failure_not_a_denial),
		TEST(late_answer_of_the_resolver_is_waited_for),
		TEST(client_that_leaves_while_the_name_is_resolved_is_forgotten),
		TEST(host_that_needs_inspection_is_refused_as_such),
		TEST(halted_sandbox_passes_nothing),
		TEST(halt_stops_an_open_tunnel_at_once),
		TEST(full_audit_ring_passes_nothing),
		TEST(connection_without_a_record_in_the_kernel_is_reset),
		TEST(connections_beyond_the_limit_are_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
