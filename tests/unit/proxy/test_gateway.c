/* SPDX-License-Identifier: GPL-2.0-only */
/* The gateway's door and what its proxies do otherwise than a sandbox's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "../../../user/proxy/front.h"
#include "../../../user/wire/basic.h"
#include "world.h"

#define ALLOWED "api.allowed.test"
#define AUTH "Proxy-Authorization: Basic Ym94OnNlY3JldA==\r\n" /* box:secret */

static struct front *front;
static struct proxy *box, *stranger;
static uint16_t front_port;
static enum nej_reason box_refuses;

static bool has_credentials(const struct http1_head *head)
{
	struct basic b;

	for (size_t i = 0; i < head->n_fields; i++)
		if (head->fields[i].id == HTTP1_NAME_PROXY_AUTHORIZATION)
			return basic_parse(head->fields[i].value, &b) == 0 &&
				!strcmp(b.name, "box") && !strcmp(b.password, "secret");
	return false;
}

static bool admits_box(void *arg, const struct http1_head *head)
{
	(void)arg;
	return has_credentials(head);
}

static bool admits_nobody(void *arg, const struct http1_head *head)
{
	(void)arg;
	(void)head;
	return false;
}

static enum nej_reason box_may_pass(void *arg)
{
	(void)arg;
	return box_refuses;
}

static struct proxy *find(void *arg, const struct http1_head *head)
{
	(void)arg;
	return head && has_credentials(head) ? box : stranger;
}

static void start_gateway(const struct proxy_options *options)
{
	struct proxy_options o = *options;
	struct front_options f = {.loop = w.loop, .find = find};

	o.is_gateway = true;
	o.may_pass = box_may_pass;
	o.admits = admits_box;
	assert_int_equal(proxy_new(&o, &box), 0);
	o.admits = admits_nobody;
	assert_int_equal(proxy_new(&o, &stranger), 0);
	assert_int_equal(front_new(&f, &front), 0);
	front_add_listener(front, nonblocking(listen_on("127.0.0.1", &front_port)));
	box_refuses = NEJ_REASON_NONE;
}

static int start(void **state)
{
	w.on_start = start_gateway;
	return world_start(state);
}

static int stop(void **state)
{
	uint64_t one = 1;

	assert_int_equal(write(w.stop_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(w.thread, NULL);
	front_free(front);
	proxy_free(box);
	proxy_free(stranger);
	pthread_create(&w.thread, NULL, run_loop, NULL);
	return world_stop(state);
}

static int ask(const char *head)
{
	int client = connect_to(front_port);

	put_text(client, head);
	return client;
}

static void expect_refusal(int client, const char *status, const char *reason)
{
	char got[4096], field[80];

	assert_true(take_all(client, got, sizeof(got)) > 0);
	snprintf(field, sizeof(field), "X-Nej-Reason: %s\r\n", reason);
	if (memcmp(got + 9, status, 3) || !strstr(got, field))
		print_error("got: %s\n", got);
	assert_memory_equal(got + 9, status, 3);
	assert_non_null(strstr(got, field));
	assert_int_equal(!strcmp(status, "407"),
		strstr(got, "Proxy-Authenticate: Basic realm=\"nej\"") != NULL);
	assert_null(strstr(got, "secret"));
	close(client);
}

static int name_at_loopback(uint16_t *ret_port)
{
	static const struct world_rule rules[] = {{.host = ALLOWED, .verdict = POLICY_ALLOW}, {0}};

	w.rules = rules;
	w.names[0] = (struct world_name){.name = ALLOWED, .addrs = {"127.0.0.1"}};
	return listen_on("127.0.0.1", ret_port);
}

static void known_sandbox_is_let_through(void **state)
{
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	snprintf(head, sizeof(head), "CONNECT " ALLOWED ":%u HTTP/1.1\r\n" AUTH "\r\n", port);
	client = ask(head);
	server = accept_from(listener);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	put_text(server, "down");
	expect_text(client, "down");
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_ALLOWED);
	assert_int_equal(event_at(0).layer, AUDIT_LAYER_GATEWAY);
	close(client);
	close(server);
	close(listener);
}

static void head_may_come_in_pieces(void **state)
{
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client = connect_to(front_port), server;

	(void)state;
	snprintf(head, sizeof(head),
		"GET http://" ALLOWED ":%u/a HTTP/1.1\r\nHost: x\r\n" AUTH "\r\n", port);
	for (size_t i = 0; head[i]; i++)
		put(client, head + i, 1);
	server = accept_from(listener);
	snprintf(head, sizeof(head), "GET /a HTTP/1.1\r\nHost: " ALLOWED ":%u\r\n\r\n", port);
	expect_text(server, head); /* and no credentials */
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	close(client);
	close(server);
	close(listener);
}

static void strangers_are_told_apart_from_the_denied(void **state)
{
	static const char *const heads[] = {
		"CONNECT " ALLOWED ":443 HTTP/1.1\r\n\r\n",
		"CONNECT " ALLOWED ":443 HTTP/1.1\r\nProxy-Authorization: Basic Ym94Ong=\r\n\r\n",
		"CONNECT " ALLOWED ":443 HTTP/1.1\r\nProxy-Authorization: Bearer x\r\n\r\n",
		"CONNECT " ALLOWED ":443 HTTP/1.1\r\nAuthorization: Basic Ym94OnNlY3JldA==\r\n\r\n",
		"GET http://" ALLOWED "/ HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	uint16_t port;
	int listener = name_at_loopback(&port);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct world_event e;

		expect_refusal(ask(heads[i]), "407", "credentials");
		e = event_at(i);
		assert_int_equal(e.kind, AUDIT_NETWORK_BLOCKED);
		assert_int_equal(e.layer, AUDIT_LAYER_GATEWAY);
		assert_int_equal(e.reason, NEJ_REASON_CREDENTIALS);
		assert_non_null(strstr(e.detail, "from 127.0.0.1"));
	}
	expect_refusal(ask("CONNECT evil.test:443 HTTP/1.1\r\n" AUTH "\r\n"), "403", "no-rule");
	assert_int_equal(w.n_lookups, 0);
	close(listener);
}

static void every_request_needs_its_credentials(void **state)
{
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	snprintf(head, sizeof(head),
		"GET http://" ALLOWED ":%u/ HTTP/1.1\r\nHost: x\r\n" AUTH "\r\n", port);
	client = ask(head);
	server = accept_from(listener);
	expect_text(server, "GET / HTTP/1.1\r\n");
	put_text(server, "HTTP/1.1 204 No Content\r\n\r\n");
	expect_text(client, "HTTP/1.1 204 No Content\r\n\r\n");
	put_text(client, "CONNECT " ALLOWED ":443 HTTP/1.1\r\n\r\n");
	expect_refusal(client, "407", "credentials");
	close(server);
	close(listener);
}

static void name_field_decides_and_is_dialled(void **state)
{
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	snprintf(head, sizeof(head),
		"CONNECT 93.184.216.34:%u HTTP/1.1\r\n" AUTH "X-Nej-Name: " ALLOWED ":%u\r\n\r\n",
		port, port);
	client = ask(head);
	server = accept_from(listener);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	assert_string_equal(event_at(0).host, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void name_field_must_agree(void **state)
{
	static const struct {
		const char *head, *status, *reason;
	} cases[] = {
		{"CONNECT 93.184.216.34:443 HTTP/1.1\r\n" AUTH "\r\n", "403", "address-literal"},
		{"CONNECT 93.184.216.34:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: evil.test:443\r\n\r\n",
			"403", "no-rule"},
		{"CONNECT 93.184.216.34:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: " ALLOWED ":80\r\n\r\n",
			"421", "host-mismatch"},
		{"CONNECT b.test:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: " ALLOWED ":443\r\n\r\n",
			"421", "host-mismatch"},
		{"CONNECT 10.0.0.1:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: " ALLOWED ":443\r\n\r\n",
			"403", "private-address"},
		{"CONNECT 93.184.216.34:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: 10.0.0.1:443\r\n\r\n",
			"400", "malformed-host"},
		{"CONNECT 93.184.216.34:443 HTTP/1.1\r\n" AUTH "X-Nej-Name: " ALLOWED
		 ":443\r\nX-Nej-Name: " ALLOWED ":443\r\n\r\n",
			"400", "framing"},
	};
	uint16_t port;
	int listener = name_at_loopback(&port);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_refusal(ask(cases[i].head), cases[i].status, cases[i].reason);
	assert_int_equal(w.n_lookups, 0);
	close(listener);
}

static void rules_of_urls_are_left_to_the_sandboxs_own_nej(void **state)
{
	static const struct world_rule rules[] = {{.host = ALLOWED,
							  .scheme = POLICY_SCHEME_HTTPS,
							  .path = "/repos",
							  .is_inspect = true,
							  .verdict = POLICY_ALLOW,
							  .transport = POLICY_TRANSPORT_UPSTREAM},
		{0}};
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	w.rules = rules;
	snprintf(head, sizeof(head), "CONNECT " ALLOWED ":%u HTTP/1.1\r\n" AUTH "\r\n", port);
	client = ask(head);
	server = accept_from(listener); /* straight: a gateway is where upstreams end */
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	put_hello(client, ALLOWED);
	expect_hello(server, ALLOWED);
	close(client);
	close(server);
	close(listener);
}

static void inside_the_tunnel_names_must_agree(void **state)
{
	char head[512], got[64];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	snprintf(head, sizeof(head), "CONNECT " ALLOWED ":%u HTTP/1.1\r\n" AUTH "\r\n", port);
	client = ask(head);
	server = accept_from(listener);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	put_hello(client, "evil.test");
	expect_end(server);
	assert_int_equal(take_all(client, got, sizeof(got)), 7);
	assert_int_equal(event_at(0).reason, NEJ_REASON_HOST_MISMATCH);
	close(client);
	close(server);
	close(listener);
}

static void broken_policy_refuses_with_503(void **state)
{
	uint16_t port;
	int listener = name_at_loopback(&port);

	(void)state;
	box_refuses = NEJ_REASON_POLICY_UNAVAILABLE;
	expect_refusal(ask("CONNECT " ALLOWED ":443 HTTP/1.1\r\n" AUTH "\r\n"), "503",
		"policy-unavailable");
	close(listener);
}

static void loopback_is_nobodys(void **state)
{
	static const char *const heads[] = {
		"CONNECT 127.0.0.1:8080 HTTP/1.1\r\n" AUTH "\r\n",
		"CONNECT localhost:8080 HTTP/1.1\r\n" AUTH "\r\n",
		"CONNECT [::1]:8080 HTTP/1.1\r\n" AUTH "\r\n",
		"GET http://127.0.0.1:8080/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" AUTH
		"\r\n",
	};
	uint16_t port;
	int listener = name_at_loopback(&port);

	(void)state;
	w.host_port = 8080; /* open to the sandbox, not here */
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char got[4096];
		int client = ask(heads[i]);

		assert_true(take_all(client, got, sizeof(got)) > 0);
		assert_memory_equal(got, "HTTP/1.1 403 ", 13);
		close(client);
	}
	close(listener);
}

static void what_is_no_request_is_answered_or_cut(void **state)
{
	char *much = malloc(NEJ_MAX_HEAD_BYTES + 1);
	int client;

	(void)state;
	expect_refusal(ask("CONNECT " ALLOWED ":443\r\n\r\n"), "400", "framing");
	expect_refusal(ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "407", "credentials");
	expect_reset(ask("\x05\x01\x02"));
	expect_reset(ask("\x16\x03\x01"));
	assert_non_null(much);
	memset(much, 'A', NEJ_MAX_HEAD_BYTES);
	client = connect_to(front_port);
	put(client, much, NEJ_MAX_HEAD_BYTES);
	expect_refusal(client, "400", "framing");
	free(much);
}

static void silent_guests_keep_nobody_out(void **state)
{
	static int guests[FRONT_MAX_GUESTS + 1];
	struct rlimit files;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; i < ARRAY_SIZE(guests); i++) {
		guests[i] = connect_to(front_port);
		put_text(guests[i], "G");
	}
	expect_reset(guests[0]);
	expect_refusal(ask("CONNECT " ALLOWED ":443 HTTP/1.1\r\n\r\n"), "407", "credentials");
	for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
		close(guests[i]);
}

static void one_more_than_the_policy_admits_is_told(void **state)
{
	char head[512];
	uint16_t port;
	int listener = name_at_loopback(&port), client, server;

	(void)state;
	w.max_connections = 1;
	snprintf(head, sizeof(head), "CONNECT " ALLOWED ":%u HTTP/1.1\r\n" AUTH "\r\n", port);
	client = ask(head);
	server = accept_from(listener);
	expect_text(client, "HTTP/1.1 200 Connection established\r\n\r\n");
	expect_refusal(ask(head), "429", "limit");
	close(client);
	close(server);
	close(listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(known_sandbox_is_let_through),
		TEST(head_may_come_in_pieces),
		TEST(strangers_are_told_apart_from_the_denied),
		TEST(every_request_needs_its_credentials),
		TEST(name_field_decides_and_is_dialled),
		TEST(name_field_must_agree),
		TEST(rules_of_urls_are_left_to_the_sandboxs_own_nej),
		TEST(inside_the_tunnel_names_must_agree),
		TEST(broken_policy_refuses_with_503),
		TEST(loopback_is_nobodys),
		TEST(what_is_no_request_is_answered_or_cut),
		TEST(silent_guests_keep_nobody_out),
		TEST(one_more_than_the_policy_admits_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
