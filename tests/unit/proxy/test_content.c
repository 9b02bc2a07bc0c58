/* SPDX-License-Identifier: GPL-2.0-only */
/* What a rule says of its requests' content is held, whatever they look like. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "../../../user/proxy/content.h"
#include "../../../user/proxy/refuse.h"
#include "../policy/policies.h"

static const char policy_text[] = "rules:\n"
				  "  - {allow: m.example, mcp: {tools: [search, 'read_*']}}\n"
				  "  - {allow: api.example, hosted_tools: deny}\n"
				  "  - allow: o.example\n";

static struct http1_head head;
static size_t max;
static char head_text[4096];

/* fields: each with CRLF. The head stays in head. */
static void read_head(const char *method, const char *fields, size_t body_len)
{
	int n = snprintf(head_text, sizeof(head_text), "%s /mcp HTTP/1.1\r\nHost: m.example\r\n%s",
		method, fields);

	if (body_len)
		n += snprintf(head_text + n, sizeof(head_text) - (size_t)n,
			"Content-Length: %zu\r\n", body_len);
	n += snprintf(head_text + n, sizeof(head_text) - (size_t)n, "\r\n");
	assert_int_equal(http1_parse_request(head_text, (size_t)n, &head), 0);
}

static struct content *content_of(uint32_t rule, const char *path)
{
	struct policy *p = policy_of(policy_text);
	struct content *ct = NULL;

	assert_int_equal(content_new(p, rule, (struct http1_text){path, strlen(path)}, &ct), 0);
	policy_free(p);
	return ct;
}

/* Judges one request: 0, or what was said to it, with *why pointing into ct. */
static int judge(struct content *ct, const char *fields, const char *body, struct refusal *why)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_add_str(&b, body);
	read_head("POST", fields, b.len);
	r = content_begin(ct, &head, &max, why);
	if (r == 1)
		r = content_request(ct, &head, &b, why);
	buf_done(&b);
	return r;
}

static void rules_without_options_cost_nothing(void **state)
{
	(void)state;
	assert_null(content_of(2, "/"));
	assert_null(content_of(POLICY_NO_RULE, "/"));
}

#define CALL(name)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"}}"

static void calls_of_other_tools_are_answered(void **state)
{
	struct content *ct = content_of(0, "/mcp");
	struct refusal why;

	(void)state;
	assert_true(judge(ct, "Accept: application/json, text/event-stream\r\n",
			    CALL("drop\\u0020\\u0007x"), &why) < 0);
	assert_int_equal(why.reason, NEJ_REASON_RULE);
	assert_int_equal(why.rule, 0);
	assert_string_equal(why.detail, "tool drop ?x is not among mcp.tools");
	assert_int_equal(refuse_status(&why), 200);
	assert_non_null(strstr(why.answer->body, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"));
	assert_non_null(strstr(why.answer->body, "line 2"));
	content_free(ct);
}

static void clients_of_the_older_transport_get_a_status(void **state)
{
	struct content *ct = content_of(0, "/messages?s=1");
	struct refusal why;

	(void)state;
	assert_true(judge(ct, "Accept: */*\r\nMCP-Protocol-Version: 2025-11-25\r\n", CALL("drop"),
			    &why) < 0);
	assert_int_equal(refuse_status(&why), 403);
	assert_non_null(why.answer->body);
	content_free(ct);
}

static void allowed_calls_go_on_with_plain_answers_asked_for(void **state)
{
	struct content *ct = content_of(0, "/mcp");
	struct refusal why;
	bool is_said = false;

	(void)state;
	assert_int_equal(judge(ct, "Accept-Encoding: gzip, br\r\n", CALL("read_all"), &why), 0);
	for (size_t i = 0; i < head.n_fields; i++)
		if (http1_text_is(head.fields[i].name, "accept-encoding"))
			is_said = http1_text_is(head.fields[i].value, "identity");
	assert_true(is_said);
	content_free(ct);
}

static void unreadable_requests_are_refused(void **state)
{
	static const struct {
		const char *fields, *body;
		enum nej_reason reason;
		uint16_t status;
	} rows[] = {
		{"", "{}", NEJ_REASON_FRAMING, 400},
		{"", CALL("search") "x", NEJ_REASON_FRAMING, 400},
		{"Content-Encoding: gzip\r\n", CALL("search"), NEJ_REASON_FRAMING, 415},
		{"Content-Encoding: identity\r\n", "x", NEJ_REASON_FRAMING, 400},
		{"Content-Type: application/json; charset=utf-7\r\n", CALL("search"),
			NEJ_REASON_FRAMING, 415},
		{"Content-Type: application/json;Charset = utf-8\r\n", CALL("search"),
			NEJ_REASON_FRAMING, 415},
		{"Content-Type: application/json; charset=utf-8; charset=utf-16\r\n",
			CALL("search"), NEJ_REASON_FRAMING, 415},
		{"Content-Type: application/json; charset=utf-8le\r\n", CALL("search"),
			NEJ_REASON_FRAMING, 415},
		{"Content-Type: application/json\r\nContent-Type: application/json\r\n",
			CALL("search"), NEJ_REASON_FRAMING, 415},
		{"Mcp-Method: tools/list\r\n", CALL("search"), NEJ_REASON_FRAMING, 400},
		{"Mcp-Name: delete\r\n", CALL("search"), NEJ_REASON_FRAMING, 400},
		{"Mcp-Name: =?base64?ZGVsZXRl?=\r\n", CALL("search"), NEJ_REASON_FRAMING, 400},
		{"Mcp-Name: =?base64?x?=\r\n", CALL("search"), NEJ_REASON_FRAMING, 400},
		{"Mcp-Method: tools/call\r\n", "[" CALL("search") "]", NEJ_REASON_FRAMING, 400},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct content *ct = content_of(0, "/mcp");
		struct refusal why;

		if (judge(ct, rows[i].fields, rows[i].body, &why) >= 0)
			fail_msg("taken: %s%s", rows[i].fields, rows[i].body);
		assert_int_equal(why.reason, rows[i].reason);
		assert_int_equal(refuse_status(&why), rows[i].status);
		assert_non_null(why.detail);
		content_free(ct);
	}
}

static void headers_that_tell_the_truth_pass(void **state)
{
	struct content *ct = content_of(0, "/mcp");
	struct refusal why;

	(void)state;
	assert_int_equal(judge(ct, "Content-Type: application/json; CHARSET=\"Utf-8\"; a=b\r\n",
				 CALL("search"), &why),
		0);
	assert_int_equal(judge(ct, "Mcp-Method: tools/call\r\nMcp-Name: =?Base64?c2VhcmNo?=\r\n",
				 CALL("search"), &why),
		0);
	content_free(ct);
}

static void hosted_tools_get_the_error_of_the_api(void **state)
{
	static const struct {
		const char *path, *body, *error;
	} rows[] = {
		{"/v1/messages", "{\"tools\":[{\"type\":\"web_search_20250305\"}]}",
			"{\"type\":\"error\",\"error\":{\"type\":\"permission_error\""},
		{"/v1/responses?x", "{\"tools\":[{\"type\":\"web_search\"}]}",
			"{\"error\":{\"message\""},
		{"/v1beta/models/g:generateContent", "{\"tools\":[{\"google_search\":{}}]}",
			"{\"error\":{\"code\":403,"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct content *ct = content_of(1, rows[i].path);
		struct refusal why;

		assert_true(judge(ct, "", rows[i].body, &why) < 0);
		assert_int_equal(why.reason, NEJ_REASON_RULE);
		assert_int_equal(refuse_status(&why), 403);
		assert_memory_equal(why.answer->body, rows[i].error, strlen(rows[i].error));
		content_free(ct);
	}
}

static void files_are_not_read_where_only_files_go(void **state)
{
	static const struct {
		const char *path, *fields;
		int result;
	} rows[] = {
		{"/v1/files", "Content-Type: multipart/form-data; boundary=x\r\n", 0},
		{"/v1/files", "Content-Type: application/json\r\n", 1},
		{"/v1/messages", "Content-Type: multipart/form-data; boundary=x\r\n", 1},
		{"/v1/files/..;/messages", "Content-Type: multipart/form-data\r\n", 1},
		{"/v1/messages%2f../files", "Content-Type: multipart/form-data\r\n", 0},
		{"/v1/files/%2e%2e/messages", "Content-Type: multipart/form-data\r\n", 1},
		{"/v1/files/..%2fmessages", "Content-Type: multipart/form-data\r\n", 1},
		{"/upload/v1beta/files", "Content-Type: image/png\r\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct content *ct = content_of(1, rows[i].path);
		struct refusal why;

		read_head("POST", rows[i].fields, 10);
		if (content_begin(ct, &head, &max, &why) != rows[i].result)
			fail_msg("%s", rows[i].path);
		content_free(ct);
	}
}

static void requests_without_a_body_pass(void **state)
{
	struct content *ct = content_of(0, "/mcp");
	struct refusal why;

	(void)state;
	read_head("GET", "Accept: text/event-stream\r\n", 0);
	assert_int_equal(content_begin(ct, &head, &max, &why), 0);
	assert_int_equal(content_request(ct, &head, NULL, &why), 0);
	content_free(ct);
}

static void websockets_are_refused(void **state)
{
	struct content *ct = content_of(1, "/v1/realtime");
	struct refusal why;

	(void)state;
	read_head("GET",
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
		0);
	assert_true(content_begin(ct, &head, &max, &why) < 0);
	assert_int_equal(why.reason, NEJ_REASON_UNKNOWN_PROTOCOL);
	assert_int_equal(refuse_status(&why), 403);
	content_free(ct);
}

static int answer(struct content *ct, const char *fields, struct sieve **ret)
{
	size_t held = 0;
	int n = snprintf(head_text, sizeof(head_text),
		"HTTP/1.1 200 OK\r\n%sContent-Length: 9\r\n\r\n", fields);
	int r;

	assert_int_equal(http1_parse_response(head_text, (size_t)n, false, &head), 0);
	*ret = NULL;
	r = content_response_body(ct, &head, &held, ret);
	sieve_free(*ret);
	return r;
}

static void answers_with_lists_are_sifted(void **state)
{
	struct content *ct = content_of(0, "/mcp");
	struct refusal why;
	struct sieve *s;

	(void)state;
	assert_int_equal(answer(ct, "Content-Type: text/event-stream\r\n", &s), 0);
	assert_non_null(s);
	assert_int_equal(answer(ct, "Content-Type: application/json\r\n", &s), 0);
	assert_null(s);
	assert_int_equal(
		judge(ct, "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", &why), 0);
	assert_int_equal(answer(ct, "Content-Type: Application/JSON ; charset=utf-8\r\n", &s), 0);
	assert_non_null(s);
	assert_int_equal(answer(ct, "Content-Type: text/html\r\n", &s), 0);
	assert_null(s);
	assert_int_equal(
		answer(ct, "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", &s),
		-EPROTONOSUPPORT);
	content_free(ct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_without_options_cost_nothing),
		cmocka_unit_test(calls_of_other_tools_are_answered),
		cmocka_unit_test(clients_of_the_older_transport_get_a_status),
		cmocka_unit_test(allowed_calls_go_on_with_plain_answers_asked_for),
		cmocka_unit_test(unreadable_requests_are_refused),
		cmocka_unit_test(headers_that_tell_the_truth_pass),
		cmocka_unit_test(hosted_tools_get_the_error_of_the_api),
		cmocka_unit_test(files_are_not_read_where_only_files_go),
		cmocka_unit_test(requests_without_a_body_pass),
		cmocka_unit_test(websockets_are_refused),
		cmocka_unit_test(answers_with_lists_are_sifted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
