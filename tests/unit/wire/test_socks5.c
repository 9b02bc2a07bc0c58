/* SPDX-License-Identifier: GPL-2.0-only */
/* SOCKS5 messages at every split, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/wire/socks5.h"

static void greeting_prefers_no_authentication(void **state)
{
	static const struct {
		uint8_t bytes[6];
		size_t len;
		int result;
		enum socks5_method method;
	} rows[] = {
		{{5, 1, 0}, 3, 3, SOCKS5_NO_AUTH},
		{{5, 2, 2, 0}, 4, 4, SOCKS5_NO_AUTH},
		{{5, 2, 2, 1}, 4, 4, SOCKS5_PASSWORD},
		{{5, 1, 1}, 3, 3, SOCKS5_NONE_FITS},
		{{5, 1, 0, 5, 1}, 5, 3, SOCKS5_NO_AUTH},
		{{5}, 1, 0, 0},
		{{5, 2, 0}, 3, 0, 0},
		{{5, 0}, 2, -EBADMSG, 0},
		{{4, 1, 0}, 3, -EBADMSG, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum socks5_method method = 0;

		assert_int_equal(
			socks5_parse_greeting(rows[i].bytes, rows[i].len, &method), rows[i].result);
		if (rows[i].result > 0)
			assert_int_equal(method, rows[i].method);
	}
}

static void password_is_read_over_at_every_split(void **state)
{
	static const uint8_t bytes[] = {1, 2, 'm', 'e', 3, 'k', 'e', 'y', 5, 1};

	(void)state;
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(socks5_parse_password(bytes, n), 0);
	assert_int_equal(socks5_parse_password(bytes, sizeof(bytes)), 8);
	assert_int_equal(socks5_parse_password((const uint8_t *)"\x05\x01", 2), -EBADMSG);
}

static void request_names_a_host_or_an_address(void **state)
{
	static const struct {
		uint8_t bytes[30];
		size_t len;
		const char *name;
		enum host_kind kind;
	} rows[] = {
		{{5, 1, 0, 3, 6, 'A', '.', 't', 'e', 's', 't', 1, 187}, 13, "a.test", HOST_NAME},
		{{5, 1, 0, 3, 7, '1', '.', '2', '.', '3', '.', '4', 1, 187}, 14, "1.2.3.4",
			HOST_ADDR},
		{{5, 1, 0, 1, 1, 2, 3, 4, 1, 187}, 10, "1.2.3.4", HOST_ADDR},
		{{5, 1, 0, 4, 32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 187}, 22,
			"2001:db8::1", HOST_ADDR},
		{{5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4, 1, 187}, 22,
			"1.2.3.4", HOST_ADDR},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host host;
		uint16_t port;

		for (size_t n = 0; n < rows[i].len; n++)
			assert_int_equal(socks5_parse_request(rows[i].bytes, n, &host, &port), 0);
		assert_int_equal(socks5_parse_request(rows[i].bytes, rows[i].len, &host, &port),
			(int)rows[i].len);
		assert_string_equal(host.name, rows[i].name);
		assert_int_equal(host.kind, rows[i].kind);
		assert_int_equal(port, 443);
	}
}

static void requests_that_cannot_be_served_are_told_apart(void **state)
{
	static const struct {
		uint8_t bytes[16];
		int result;
	} rows[] = {
		{{5, 2, 0, 1, 1, 2, 3, 4, 1, 187}, -EOPNOTSUPP}, /* BIND */
		{{5, 3, 0, 1, 1, 2, 3, 4, 1, 187}, -EOPNOTSUPP}, /* UDP ASSOCIATE */
		{{5, 1, 0, 2, 1, 2, 3, 4, 1, 187}, -EAFNOSUPPORT},
		{{5, 1, 1, 1, 1, 2, 3, 4, 1, 187}, -EBADMSG},
		{{4, 1, 0, 1, 1, 2, 3, 4, 1, 187}, -EBADMSG},
		{{5, 1, 0, 1, 1, 2, 3, 4, 0, 0}, -EINVAL},
		{{5, 1, 0, 3, 0, 1, 187, 0, 0, 0}, -EINVAL},
		{{5, 1, 0, 3, 3, 'a', 0, 'b', 1, 187}, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host host;
		uint16_t port;

		assert_int_equal(
			socks5_parse_request(rows[i].bytes, 10, &host, &port), rows[i].result);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting_prefers_no_authentication),
		cmocka_unit_test(password_is_read_over_at_every_split),
		cmocka_unit_test(request_names_a_host_or_an_address),
		cmocka_unit_test(requests_that_cannot_be_served_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
