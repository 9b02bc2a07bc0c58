/* SPDX-License-Identifier: GPL-2.0-only */
/* MCP over HTTP: calls are found however they are written, and lists lose what is not allowed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/wire/toollist.h"

#define CALL(id, name)                                                                             \
	"{\"jsonrpc\":\"2.0\"," id "\"method\":\"tools/call\",\"params\":{\"name\":" name "}}"

static bool allows(const void *arg, const char *tool, size_t len)
{
	(void)arg;
	return (len == 6 && !memcmp(tool, "search", 6)) || (len >= 5 && !memcmp(tool, "read_", 5));
}

static const struct toollist_policy policy = {.allows = allows};

static void calls_are_judged_by_the_decoded_name(void **state)
{
	static const struct {
		const char *body, *denied; /* NULL: all allowed */
	} rows[] = {
		{CALL("\"id\":1,", "\"search\""), NULL},
		{CALL("\"id\":1,", "\"s\\u0065arch\""), NULL},
		{CALL("\"id\":1,", "\"delete\""), "delete"},
		{CALL("\"id\":1,", "\"search\\u0000\""), "search"},
		{CALL("\"id\":1,", "\"Search\""), "Search"},
		{CALL("\"id\":1,", "\"\""), ""},
		{CALL("", "\"d\\u0065lete\""), "delete"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"m\\u0065thod\":\"tools\\/call\",\"params\":"
		 "{\"name\":\"delete\"}}",
			"delete"},
		{"[" CALL("\"id\":1,", "\"search\"") "," CALL("\"id\":2,", "\"drop\"") "]", "drop"},
		{"[" CALL("\"id\":1,", "\"search\"") "," CALL("\"id\":2,", "\"read_x\"") "]", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", NULL},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"prompts/get\","
		 "\"params\":{\"name\":\"delete\"}}",
			NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"x\"}}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = NULL;
		struct jsonrpc r;
		struct buf tool;

		buf_init(&tool);
		if (jsonrpc_parse(rows[i].body, strlen(rows[i].body), &r, &why) < 0)
			fail_msg("%s: %s", rows[i].body, why);
		if (jsonrpc_find_denied(&r, allows, NULL, &tool) != (rows[i].denied != NULL))
			fail_msg("%s", rows[i].body);
		if (rows[i].denied)
			assert_string_equal(tool.data ? tool.data : "", rows[i].denied);
		buf_done(&tool);
		jsonrpc_done(&r);
	}
}

static void ambiguous_messages_are_refused(void **state)
{
	static const char *const rows[] = {"", "[]", "7", "{}", "[7]", "{\"id\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"id\":1,\"method\":\"ping\"}",
		"{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}",
		"{\"jsonrpc\":2.0,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"method\":7}",
		"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"Method\":\"tools/call\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"Tools/Call\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[\"search\"]}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":7}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"search\",\"Name\":\"delete\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"search\",\"n\\u0061me\":\"delete\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"Params\":{},\"params\":"
		"{\"name\":\"search\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"param\xc5\xbf\":"
		"{\"name\":\"delete\"},\"params\":{\"name\":\"search\"}}",
		CALL("\"id\":1,", "\"search\"") CALL("\"id\":2,", "\"delete\""),
		"[" CALL("\"id\":1,", "\"search\"") ",[]]"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = NULL;
		struct jsonrpc r;

		if (jsonrpc_parse(rows[i], strlen(rows[i]), &r, &why) != -EBADMSG)
			fail_msg("taken: %s", rows[i]);
		assert_non_null(why);
		jsonrpc_done(&r);
	}
}

static void refusals_answer_each_request_with_its_id(void **state)
{
	static const struct jsonrpc_error error = {
		.message = "no", .reason = "rule", .line = 7, .rule = "allow: x"};
	static const char tail[] =
		",\"error\":{\"code\":-32050,\"message\":\"no\",\"data\":{"
		"\"reason\":\"rule\",\"rule\":{\"line\":7,\"text\":\"allow: x\"}}}}";
	static const struct {
		const char *body, *ids[3];
	} rows[] = {
		{CALL("\"id\":\"a\\u0062\",", "\"x\""), {"\"a\\u0062\""}},
		{CALL("\"id\":12345678901234567890123,", "\"x\""), {"12345678901234567890123"}},
		{CALL("", "\"x\""), {"null"}},
		{"[" CALL("\"id\":1,", "\"x\"") "," CALL("", "\"x\"") "," CALL(
			 "\"id\":-2,", "\"y\"") ",{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":1}]",
			{"1", "-2"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out, wanted;
		struct jsonrpc r;
		const char *why;
		bool is_batch = rows[i].body[0] == '[';

		buf_init(&out);
		buf_init(&wanted);
		assert_int_equal(jsonrpc_parse(rows[i].body, strlen(rows[i].body), &r, &why), 0);
		jsonrpc_print_error(&r, &error, &out);
		buf_add_str(&wanted, is_batch ? "[" : "");
		for (size_t k = 0; rows[i].ids[k]; k++)
			buf_printf(&wanted, "%s{\"jsonrpc\":\"2.0\",\"id\":%s%s", k ? "," : "",
				rows[i].ids[k], tail);
		buf_add_str(&wanted, is_batch ? "]" : "");
		assert_string_equal(out.data, wanted.data);
		buf_done(&out);
		buf_done(&wanted);
		jsonrpc_done(&r);
	}
}

static void headers_must_say_what_the_body_says(void **state)
{
	static const char call[] = CALL("\"id\":1,", "\"search\"");
	struct jsonrpc r;
	const char *why;

	(void)state;
	assert_int_equal(jsonrpc_parse(call, sizeof(call) - 1, &r, &why), 0);
	assert_true(jsonrpc_agrees(&r, "method", "tools/call", 10));
	assert_false(jsonrpc_agrees(&r, "method", "tools/list", 10));
	assert_true(jsonrpc_agrees(&r, "name", "search", 6));
	assert_false(jsonrpc_agrees(&r, "name", "delete", 6));
	jsonrpc_done(&r);
}

/* --- lists */

static const struct {
	const char *before, *after; /* NULL: as it was */
} lists[] = {
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\",\"x\":[1]}, "
	 "{\"name\":\"delete\"} ,{\"name\":\"read_a\"}],\"nextCursor\":\"c\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\",\"x\":"
		"[1]},{\"name\":\"read_a\"}],\"nextCursor\":\"c\"}}"},
	{"{\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\"}, {\"name\":\"read_\"}]}}", NULL},
	{"{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
		"{\"id\":1,\"result\":{\"tools\":[]}}"},
	{"[{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"}]}},{\"id\":2,\"result\":{\"tools\":"
	 "[{\"name\":\"search\"},{\"nam\\u0065\":\"b\"}]}}]",
		"[{\"id\":1,\"result\":{\"tools\":[]}},{\"id\":2,\"result\":{\"tools\":"
		"[{\"name\":\"search\"}]}}]"},
	{"{\"id\":1,\"result\":{\"Tools\":[{\"name\":\"search\",\"Name\":\"b\"},{\"title\":\"c\"}]}"
	 "}",
		"{\"id\":1,\"result\":{\"Tools\":[]}}"},
	{"{\"id\":1,\"result\":{\"tools\":{\"name\":\"a\"}}}", NULL},
	{"{\"id\":1,\"result\":{\"content\":[{\"name\":\"a\",\"tools\":[{\"name\":\"a\"}]}]}}",
		NULL},
	{"{\"id\":1,\"method\":\"sampling/"
	 "createMessage\",\"params\":{\"tools\":[{\"name\":\"a\"}]}}",
		NULL},
	{"/messages?session=7", NULL},
	{"", NULL},
};

static void lists_lose_what_is_not_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct buf out;
		int r;

		buf_init(&out);
		r = toollist_filter(lists[i].before, strlen(lists[i].before), &policy, &out);
		if (r != (lists[i].after != NULL))
			fail_msg("%d: %s", r, lists[i].before);
		if (lists[i].after)
			assert_string_equal(out.data, lists[i].after);
		else
			assert_int_equal(out.len, 0);
		buf_done(&out);
	}
}

/* Fed in pieces of step bytes. */
static int sift(struct sieve *s, const char *text, size_t step, struct buf *out)
{
	size_t len = strlen(text);
	int r = 0;

	assert_non_null(s);
	for (size_t at = 0; at < len && r == 0; at += step)
		r = s->feed(s, text + at, len - at < step ? len - at : step, out);
	if (r == 0)
		r = s->finish(s, out);
	s->free(s);
	return r;
}

static void json_answers_are_whole_before_they_are_sifted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t step = 1; step < 40; step += 13) {
			struct buf out;

			buf_init(&out);
			assert_int_equal(
				sift(toollist_new_json(&policy), lists[i].before, step, &out), 0);
			assert_string_equal(out.data ? out.data : "",
				lists[i].after ? lists[i].after : lists[i].before);
			buf_done(&out);
		}
}

#define LIST "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"},{\"name\":\"search\"}]}}"
#define KEPT "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\"}]}}"

static void events_are_sifted_one_by_one(void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{"data: " LIST "\n\n", "data: " KEPT "\n\n"},
		{"data:" LIST "\n\n", "data: " KEPT "\n\n"},
		{"event: message\nid: 4\ndata: " LIST "\nretry: 5\n\ndata: x\n\n",
			"event: message\nid: 4\nretry: 5\ndata: " KEPT "\n\ndata: x\n\n"},
		{"data: " LIST "\r\n\r\n: ping\r\n\r\n", "data: " KEPT "\n\n: ping\r\n\r\n"},
		{"data: {\"id\":1,\"result\":{\"tools\":[\ndata: {\"name\":\"a\"}\ndata: ]}}\n\n",
			"data: {\"id\":1,\"result\":{\"tools\":[]}}\n\n"},
		{"\xef\xbb\xbf"
		 "data: " LIST "\n\n",
			"\xef\xbb\xbf"
			"data: " KEPT "\n\n"},
		{"event: endpoint\ndata: /messages?id=1\n\n",
			"event: endpoint\ndata: /messages?id=1\n\n"},
		{": c\n\n: c\ndata\n\ndatas: " LIST "\n\n",
			": c\n\n: c\ndata\n\ndatas: " LIST "\n\n"},
		{"data: " LIST, "data: " KEPT "\n"},
		{"data: " LIST "\nid: 1", "id: 1\ndata: " KEPT "\n"},
		{"data: {\"id\":1,\"result\":{}}\n\n", "data: {\"id\":1,\"result\":{}}\n\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t step = 1; step < 200; step += 1 + step / 2) {
			struct buf out;

			buf_init(&out);
			assert_int_equal(
				sift(toollist_new_events(&policy), rows[i].before, step, &out), 0);
			if (strcmp(out.data, rows[i].after) != 0)
				fail_msg("%zu: %s\n%s", step, rows[i].before, out.data);
			buf_done(&out);
		}
}

/* Lines end with a lone CR too, and whatever ends them their event is sifted. */
static void every_line_end_ends_lines(void **state)
{
	struct buf out;

	(void)state;
	for (size_t step = 1; step < 100; step++) {
		buf_init(&out);
		assert_int_equal(sift(toollist_new_events(&policy),
					 "data: " LIST "\r\rdata: " LIST "\r\n\r", step, &out),
			0);
		assert_string_equal(out.data, "data: " KEPT "\n\ndata: " KEPT "\n\n");
		buf_done(&out);
	}
}

static void what_is_no_list_does_not_wait(void **state)
{
	struct sieve *s = toollist_new_events(&policy);
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_non_null(s);
	assert_int_equal(s->feed(s, ": ping\nevent: x\n", 16, &out), 0);
	assert_string_equal(out.data, ": ping\nevent: x\n");
	assert_int_equal(s->feed(s, "data: {}\n\nda", 12, &out), 0);
	assert_string_equal(out.data, ": ping\nevent: x\ndata: {}\n\n");
	s->free(s);
	buf_done(&out);
}

static void ambiguous_lists_are_cut(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(
		sift(toollist_new_events(&policy),
			"data: {\"result\":{\"tools\":[],\"tools\":[{\"name\":\"a\"}]}}\n\n", 9,
			&out),
		-EBADMSG);
	assert_int_equal(sift(toollist_new_json(&policy),
				 "{\"result\":{\"tools\":[{\"name\":\"a\"}]}}}", 99, &out),
		-EBADMSG);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_judged_by_the_decoded_name),
		cmocka_unit_test(ambiguous_messages_are_refused),
		cmocka_unit_test(refusals_answer_each_request_with_its_id),
		cmocka_unit_test(headers_must_say_what_the_body_says),
		cmocka_unit_test(lists_lose_what_is_not_allowed),
		cmocka_unit_test(json_answers_are_whole_before_they_are_sifted),
		cmocka_unit_test(events_are_sifted_one_by_one),
		cmocka_unit_test(every_line_end_ends_lines),
		cmocka_unit_test(what_is_no_list_does_not_wait),
		cmocka_unit_test(ambiguous_lists_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
