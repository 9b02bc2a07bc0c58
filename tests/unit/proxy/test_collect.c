/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests whose bodies are looked into before anything goes up, and answers that are sifted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http.h"

static const struct world_rule looked_into[] = {
	{.host = NAME, .scheme = POLICY_SCHEME_HTTP, .verdict = POLICY_ALLOW, .mcp = "search"},
	{.host = "b.test",
		.scheme = POLICY_SCHEME_HTTP,
		.verdict = POLICY_ALLOW,
		.denies_hosted = true},
	{0}};

#define SEARCH                                                                                     \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"                                        \
	"call\",\"params\":{\"name\":\"search\"}}"
#define DELETE                                                                                     \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"                                        \
	"call\",\"params\":{\"name\":\"delete\"}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"

static int begin(void **state)
{
	start(state);
	w.rules = looked_into;
	go_transparent();
	return 0;
}

static void put_call(int fd, const char *fields, const char *body)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"POST /mcp HTTP/1.1\r\nHost: @\r\n%sContent-Length: %zu\r\n\r\n%s", fields,
		strlen(body), body);
	put_with_port(fd, text);
}

/* As it goes up: in one piece, with its length. */
static void expect_call(int fd, const char *fields, const char *body)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"POST /mcp HTTP/1.1\r\nHost: @\r\n%sAccept-Encoding: identity\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		fields, strlen(body), body);
	expect_with_port(fd, text);
}

static void answer_empty(int client, int server)
{
	put_text(server, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
	expect_text(client, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
}

static void chunked_body_goes_up_whole_and_with_its_length(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client,
		"POST /mcp HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n"
		"Trailer: X-Sum\r\n\r\n5;x=1\r\n"
		"{\"jso\r\n");
	expect_quiet(listener);
	put_text(client, "2d\r\nnrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"par\r\n");
	put_text(client, "1a\r\nams\":{\"name\":\"search\"}}   \r\n");
	put_text(client, "0\r\nX-Sum: 7\r\n\r\n");
	server = accept_from(listener);
	expect_call(server, "Trailer: X-Sum\r\n", SEARCH "   ");
	answer_empty(client, server);
	put_call(client, "", SEARCH);
	expect_call(server, "", SEARCH);
	close(client);
	close(server);
}

static void refused_call_is_answered_and_the_connection_goes_on(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nX-Nej-Reason: rule\r\n"
				   "Content-Type: application/json\r\n";
	int client = connect_to(w.port), server;
	char got[4096];
	size_t n = 0;

	(void)state;
	put_call(client, "Accept: application/json\r\n", DELETE);
	while (n < 4 || memcmp(got + n - 4, "}}}}", 4) != 0) {
		ssize_t r = recv(client, got + n, sizeof(got) - 1 - n, 0);

		assert_true(r > 0);
		n += (size_t)r;
	}
	got[n] = 0;
	assert_memory_equal(got, head, sizeof(head) - 1);
	assert_non_null(strstr(got, "\"id\":1,\"error\":{\"code\":-32050,"));
	expect_quiet(listener);
	put_call(client, "", SEARCH);
	server = accept_from(listener);
	expect_call(server, "", SEARCH);
	assert_int_equal(event_at(0).kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(event_at(0).reason, NEJ_REASON_RULE);
	assert_int_equal(event_at(0).status, 200);
	assert_string_equal(event_at(0).detail, "tool delete is not among mcp.tools");
	close(client);
	close(server);
}

static void client_that_waits_is_told_to_go_on(void **state)
{
	int client = connect_to(w.port), server;
	char text[256];

	(void)state;
	snprintf(text, sizeof(text),
		"POST /mcp HTTP/1.1\r\nHost: @\r\nExpect: 100-continue\r\nContent-Length: "
		"%zu\r\n\r\n",
		strlen(SEARCH));
	put_with_port(client, text);
	expect_text(client, "HTTP/1.1 100 Continue\r\n\r\n");
	expect_quiet(listener);
	put_text(client, SEARCH);
	server = accept_from(listener);
	expect_call(server, "", SEARCH);
	close(client);
	close(server);
}

static void too_large_a_body_is_refused_at_once(void **state)
{
	int client = connect_to(w.port);

	(void)state;
	put_with_port(client, "POST /mcp HTTP/1.1\r\nHost: @\r\nContent-Length: 4194305\r\n\r\n{");
	take_refusal(client, "413", "framing");
	expect_end(client);
	close(client);
	expect_quiet(listener);
}

static void endless_chunks_are_refused_when_they_are_too_many(void **state)
{
	static char chunk[65536 + 16];
	int client = connect_to(w.port);
	int n = sprintf(chunk, "10000\r\n");

	(void)state;
	memset(chunk + n, ' ', 65536);
	memcpy(chunk + n + 65536, "\r\n", 2);
	put_with_port(
		client, "POST /mcp HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 65; i++)
		if (send(client, chunk, (size_t)n + 65538, MSG_NOSIGNAL) < 0)
			break;
	take_refusal(client, "413", "framing");
	close(client);
	expect_quiet(listener);
}

/* A server's connection that ended unseen must not make a call happen twice. */
static void collected_body_is_not_sent_twice(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_call(client, "", SEARCH);
	server = accept_from(listener);
	expect_call(server, "", SEARCH);
	answer_empty(client, server);
	put_call(client, "", SEARCH);
	expect_call(server, "", SEARCH);
	close(server);
	take_refusal(client, "502", "upstream-refused");
	expect_quiet(listener);
	close(client);
}

static void list_is_sifted_and_sent_in_chunks(void **state)
{
	static const char body[] = "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"x\"},{\"name\":"
				   "\"search\"}]}}";
	char text[512];
	int client = connect_to(w.port), server;

	(void)state;
	put_call(client, "", LIST);
	server = accept_from(listener);
	expect_call(server, "", LIST);
	snprintf(text, sizeof(text),
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
		"%zu\r\n\r\n%s",
		strlen(body), body);
	put(server, text, strlen(text) - 5);
	expect_text(client,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		"Transfer-Encoding: chunked\r\n\r\n");
	put_text(server, text + strlen(text) - 5);
	expect_text(client,
		"2f\r\n{\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\"}]}}\r\n0\r\n\r\n");
	put_call(client, "", SEARCH);
	expect_call(server, "", SEARCH);
	close(client);
	close(server);
}

static void events_pass_one_by_one(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_with_port(client, "GET /mcp HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(
		server, "GET /mcp HTTP/1.1\r\nHost: @\r\nAccept-Encoding: identity\r\n\r\n");
	put_text(server, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n");
	expect_text(client,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Transfer-Encoding: chunked\r\n\r\n6\r\n: hi\n\n\r\n");
	put_text(server, "data: {\"result\":{\"tools\":[{\"na");
	expect_quiet(client);
	put_text(server, "me\":\"x\"}]}}\n\n");
	expect_text(client, "1f\r\ndata: {\"result\":{\"tools\":[]}}\n\n\r\n");
	close(server);
	expect_text(client, "0\r\n\r\n");
	close(client);
}

static void ambiguous_list_is_cut_and_on_record(void **state)
{
	int client = connect_to(w.port), server;
	char got[4096];

	(void)state;
	put_with_port(client, "GET /mcp HTTP/1.1\r\nHost: @\r\n\r\n");
	server = accept_from(listener);
	expect_with_port(
		server, "GET /mcp HTTP/1.1\r\nHost: @\r\nAccept-Encoding: identity\r\n\r\n");
	put_text(server,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		"data: {\"result\":{\"tools\":[],\"tools\":[{\"name\":\"x\"}]}}\n\n");
	while (recv(client, got, sizeof(got), 0) > 0)
		assert_null(memmem(got, sizeof(got), "name", 4));
	assert_int_equal(event_at(1).kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(event_at(1).reason, NEJ_REASON_FRAMING);
	close(client);
	close(server);
}

static void compressed_list_is_refused(void **state)
{
	int client = connect_to(w.port), server;

	(void)state;
	put_call(client, "Accept-Encoding: gzip\r\n", LIST);
	server = accept_from(listener);
	expect_call(server, "", LIST);
	put_text(server,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: br\r\n"
		"Content-Length: 3\r\n\r\nabc");
	take_refusal(client, "502", "upstream-refused");
	close(client);
	close(server);
}

static void hosted_tools_never_leave(void **state)
{
	static const char body[] = "{\"tools\":[{\"type\":\"web_search\"}]}";
	int client = connect_to(w.port);
	char text[512];

	(void)state;
	w.synthetic_name = "b.test";
	snprintf(text, sizeof(text),
		"POST /v1/responses HTTP/1.1\r\nHost: b.test:%%\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);
	put_with_port(client, text);
	take_refusal(client, "403", "rule");
	expect_quiet(listener);
	close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			chunked_body_goes_up_whole_and_with_its_length, begin, stop),
		cmocka_unit_test_setup_teardown(
			refused_call_is_answered_and_the_connection_goes_on, begin, stop),
		cmocka_unit_test_setup_teardown(client_that_waits_is_told_to_go_on, begin, stop),
		cmocka_unit_test_setup_teardown(too_large_a_body_is_refused_at_once, begin, stop),
		cmocka_unit_test_setup_teardown(
			endless_chunks_are_refused_when_they_are_too_many, begin, stop),
		cmocka_unit_test_setup_teardown(collected_body_is_not_sent_twice, begin, stop),
		cmocka_unit_test_setup_teardown(list_is_sifted_and_sent_in_chunks, begin, stop),
		cmocka_unit_test_setup_teardown(events_pass_one_by_one, begin, stop),
		cmocka_unit_test_setup_teardown(ambiguous_list_is_cut_and_on_record, begin, stop),
		cmocka_unit_test_setup_teardown(compressed_list_is_refused, begin, stop),
		cmocka_unit_test_setup_teardown(hosted_tools_never_leave, begin, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
