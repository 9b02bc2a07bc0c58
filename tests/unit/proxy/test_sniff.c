/* SPDX-License-Identifier: GPL-2.0-only */
/* What the first bytes say, and what a refusal says back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#include "../../../user/proxy/refuse.h"
#include "../../../user/proxy/sniff.h"

static void first_bytes_tell_the_protocol(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum sniff_kind kind;
	} rows[] = {
		{"", 0, SNIFF_MORE},
		{"\x16", 1, SNIFF_MORE},
		{"\x16\x03", 2, SNIFF_MORE},
		{"\x16\x03\x01\x02\x00", 5, SNIFF_MORE},
		{"\x16\x03\x01\x02\x00\x01", 6, SNIFF_TLS},
		{"\x16\x03\x04\x00\x01\x01", 6, SNIFF_TLS},
		{"\x16\x03\x01\x02\x00\x02", 6, SNIFF_RAW},
		{"\x16\x02", 2, SNIFF_RAW},
		{"\x15\x03\x01", 3, SNIFF_RAW},
		{"G", 1, SNIFF_MORE},
		{"GET", 3, SNIFF_MORE},
		{"GET ", 4, SNIFF_MORE},
		{"GETX", 4, SNIFF_RAW},
		{"GET / HTTP/1.", 13, SNIFF_MORE},
		{"GET / HTTP/1.1\r\n", 16, SNIFF_HTTP},
		{"GET / HTTP/1.1\n", 15, SNIFF_HTTP},
		{"\r\nGET / HTTP/1.1\r\n", 18, SNIFF_HTTP},
		{"get / HTTP/1.1\r\n", 16, SNIFF_HTTP},
		{"QUERY /x HTTP/1.1\r\n", 19, SNIFF_HTTP},
		{"GET http://a.test/ HTTP/1.0\r\n", 29, SNIFF_HTTP},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, SNIFF_RAW},
		{"SSH-2.0-OpenSSH_9.2p1 Debian\r\n", 30, SNIFF_RAW},
		{"SSH-2.0", 7, SNIFF_RAW},
		{"EHLO mail.test\r\n", 16, SNIFF_RAW},
		{"HELO", 4, SNIFF_RAW},
		{"PING\r\n", 6, SNIFF_RAW},
		{"GET key\r\n", 9, SNIFF_RAW}, /* a Redis inline command */
		{"*1\r\n$4\r\nPING\r\n", 14, SNIFF_RAW},
		{"\x00\x00\x00\x08\x04\xd2\x16\x2f", 8, SNIFF_RAW}, /* PostgreSQL SSLRequest */
		{"\x05\x01\x00", 3, SNIFF_RAW},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum sniff_kind kind = sniff_classify(rows[i].bytes, rows[i].len);

		if (kind != rows[i].kind)
			print_error("%s: %d\n", rows[i].bytes, kind);
		assert_int_equal(kind, rows[i].kind);
	}
}

static const char *print(const struct ask *ask, const struct refusal *why, struct buf *out)
{
	const struct refuse_shape shape = {.is_close = true};

	buf_init(out);
	refuse_print(NULL, ask, why, &shape, out);
	assert_false(out->is_failed);
	return out->data;
}

static void refusal_says_what_was_asked_why_and_what_to_do(void **state)
{
	struct host host;
	struct ask ask = {.host = &host, .port = 8443};
	struct refusal why = {.reason = NEJ_REASON_NO_RULE, .rule = POLICY_NO_RULE};
	struct buf out;
	const char *text;

	(void)state;
	host_parse("evil.test", 9, &host);
	text = print(&ask, &why, &out);
	assert_memory_equal(text, "HTTP/1.1 403 Forbidden\r\nX-Nej-Reason: no-rule\r\n", 47);
	assert_non_null(strstr(text, "evil.test:8443\n"));
	assert_non_null(strstr(text, "Do not retry"));
	assert_non_null(strstr(text, "`- allow: evil.test:8443`"));
	buf_done(&out);

	why = (struct refusal){.reason = NEJ_REASON_RULE, .rule = 3};
	text = print(&ask, &why, &out);
	assert_non_null(strstr(text, "line 10: deny: some.test"));
	assert_null(strstr(text, "ask the operator to add"));
	buf_done(&out);
}

static void clients_text_is_made_harmless_and_short(void **state)
{
	static const char nasty[] = "\x1b[2Jx\r\nSet-Cookie: a\xff";
	char url[2000];
	struct ask ask = {.as_sent = {nasty, sizeof(nasty) - 1}, .method = {"CONNECT", 7}};
	const struct refusal why = {.reason = NEJ_REASON_MALFORMED_HOST, .rule = POLICY_NO_RULE};
	struct buf out;
	const char *text;

	(void)state;
	text = print(&ask, &why, &out);
	assert_memory_equal(text, "HTTP/1.1 400 ", 13);
	assert_non_null(strstr(text, "CONNECT \\x1b[2Jx\\x0d\\x0aSet-Cookie: a\\xff"));
	assert_null(strchr(text, '\x1b'));
	buf_done(&out);

	memset(url, 'a', sizeof(url));
	ask.url = (struct http1_text){url, sizeof(url)};
	ask.wants_json = true;
	text = print(&ask, &why, &out);
	assert_true(out.len < 1500);
	assert_non_null(strstr(text, "\"reason\":\"malformed-host\""));
	assert_non_null(strstr(text, "\"rule\":null"));
	buf_done(&out);
}

static void status_and_alert_fit_the_reason(void **state)
{
	static const struct {
		enum nej_reason reason;
		int error;
		uint16_t status;
		uint8_t alert;
	} rows[] = {
		{NEJ_REASON_NO_RULE, 0, 403, 49},
		{NEJ_REASON_RULE, 0, 403, 49},
		{NEJ_REASON_PRIVATE_ADDRESS, 0, 403, 49},
		{NEJ_REASON_INSPECT_UNAVAILABLE, 0, 403, 49},
		{NEJ_REASON_HALTED, 0, 403, 49},
		{NEJ_REASON_HOST_MISMATCH, 0, 421, 49},
		{NEJ_REASON_MALFORMED_HOST, 0, 400, 112},
		{NEJ_REASON_NO_NAME, 0, 403, 112},
		{NEJ_REASON_FRAMING, 0, 400, 50},
		{NEJ_REASON_UPSTREAM_REFUSED, -ECONNREFUSED, 502, 80},
		{NEJ_REASON_UPSTREAM_REFUSED, -ETIMEDOUT, 504, 80},
		{NEJ_REASON_RESOLVE_FAILED, -ENOENT, 502, 80},
		{NEJ_REASON_LIMIT, 0, 503, 80},
		{NEJ_REASON_AUDIT_UNAVAILABLE, 0, 503, 80},
		{NEJ_REASON_INTERNAL, 0, 500, 80},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct refusal why = {.reason = rows[i].reason, .error = rows[i].error};

		assert_int_equal(refuse_status(&why), rows[i].status);
		assert_int_equal(refuse_alert(rows[i].reason), rows[i].alert);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_bytes_tell_the_protocol),
		cmocka_unit_test(refusal_says_what_was_asked_why_and_what_to_do),
		cmocka_unit_test(clients_text_is_made_harmless_and_short),
		cmocka_unit_test(status_and_alert_fit_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
