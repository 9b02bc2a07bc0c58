/* SPDX-License-Identifier: GPL-2.0-only */
/* The ClientHello reader over every split, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "../../../include/bounds.h"
#include "../../../user/wire/clienthello.h"
#include "hello.h"

static uint8_t bytes[400000];

/* Parses exactly these bytes, in memory of exactly their size. */
static int parse(const uint8_t *data, size_t n, struct clienthello *ret)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	memcpy(copy, data, n);
	r = clienthello_parse(copy, n, ret);
	free(copy);
	return r;
}

static int parse_parts(const struct hello_parts *p, struct clienthello *ret)
{
	return parse(bytes, hello_print_records(bytes, p, 16384), ret);
}

/* Every shorter piece wants more, the whole gives the name. */
static void assert_incremental(const struct hello_parts *p, size_t record_bytes, const char *name)
{
	size_t n = hello_print_records(bytes, p, record_bytes);
	struct clienthello hello;
	size_t step = n > 4000 ? 37 : 1;

	for (size_t i = 0; i < n; i += step)
		assert_int_equal(parse(bytes, i, &hello), -EAGAIN);
	assert_int_equal(parse(bytes, n, &hello), 0);
	assert_true(hello.has_sni);
	assert_string_equal(hello.host.name, name);
	/* what follows in the same read changes nothing */
	memcpy(bytes + n, "\x14\x03\x03\x00\x01\x01", 6);
	assert_int_equal(parse(bytes, n + 6, &hello), 0);
}

static void name_is_read_at_every_split(void **state)
{
	static const size_t record_bytes[] = {16384, 1, 2, 3, 5, 50, 90, 100, 200};
	const struct hello_parts p = {.sni = "api.allowed.test", .has_grease = true};

	(void)state;
	for (size_t i = 0; i < sizeof(record_bytes) / sizeof(record_bytes[0]); i++)
		assert_incremental(&p, record_bytes[i], "api.allowed.test");
}

static void post_quantum_hello_larger_than_a_segment_is_read(void **state)
{
	const struct hello_parts p = {
		.sni = "api.allowed.test", .key_share_bytes = 1220 + 1184, .has_grease = true};
	const struct hello_parts huge = {.sni = "api.allowed.test", .key_share_bytes = 20000};

	(void)state;
	assert_incremental(&p, 16384, "api.allowed.test");
	assert_incremental(&p, 1000, "api.allowed.test");
	assert_incremental(&huge, 16384, "api.allowed.test");
}

static void every_version_number_is_tls(void **state)
{
	static const uint16_t record[] = {0x0300, 0x0301, 0x0302, 0x0303, 0x0304};
	static const uint16_t legacy[] = {0x0301, 0x0303, 0x0304};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 3; k++) {
			const struct hello_parts p = {.sni = "a.test",
				.record_version = record[i],
				.legacy_version = legacy[k]};

			assert_int_equal(parse_parts(&p, &hello), 0);
			assert_string_equal(hello.host.name, "a.test");
		}
	}
}

static void spellings_of_a_name_are_one_name(void **state)
{
	static const char *const names[] = {
		"api.allowed.test", "API.Allowed.Test", "api.allowed.test."};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct hello_parts p = {.sni = names[i]};

		assert_int_equal(parse_parts(&p, &hello), 0);
		assert_string_equal(hello.host.name, "api.allowed.test");
		assert_int_equal(hello.host.kind, HOST_NAME);
	}
}

static void address_in_sni_is_an_address(void **state)
{
	static const char *const names[] = {"1.2.3.4", "10.0.0.5"};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct hello_parts p = {.sni = names[i]};

		assert_int_equal(parse_parts(&p, &hello), 0);
		assert_int_equal(hello.host.kind, HOST_ADDR);
	}
}

static void names_that_are_none_are_malformed(void **state)
{
	static const struct {
		const char *sni;
		size_t len;
	} rows[] = {
		{"evil.test\0.pkg.test", 18},
		{"evil.test\r\n", 0},
		{"a..test", 0},
		{"::1", 0},
		{"[api.allowed.test]", 0},
		{"user@a.test", 0},
		{"a.test:443", 0},
		{"g\xc3\xbc.test", 0},
		{"evil.test%23.pkg.test", 0},
		{" a.test", 0},
	};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct hello_parts p = {.sni = rows[i].sni, .sni_len = rows[i].len};

		assert_int_equal(parse_parts(&p, &hello), -EINVAL);
	}
}

static void hello_without_sni_is_complete(void **state)
{
	const struct hello_parts without = {.has_grease = true, .has_alpn_h2 = true};
	const struct hello_parts bare = {.has_no_extensions = true};
	struct clienthello hello;

	(void)state;
	assert_int_equal(parse_parts(&without, &hello), 0);
	assert_false(hello.has_sni);
	assert_true(hello.has_alpn_h2);
	assert_int_equal(parse_parts(&bare, &hello), 0);
	assert_false(hello.has_sni);
}

static void ech_is_seen_and_the_outer_name_stands(void **state)
{
	const struct hello_parts p = {.sni = "front.test", .has_ech = true};
	struct clienthello hello;

	(void)state;
	assert_int_equal(parse_parts(&p, &hello), 0);
	assert_true(hello.has_ech);
	assert_string_equal(hello.host.name, "front.test");
}

static void two_names_are_refused_however_they_are_put(void **state)
{
	const struct hello_parts extensions = {.sni = "a.test", .n_sni_extensions = 2};
	const struct hello_parts entries = {.sni = "a.test", .n_sni_entries = 2};
	const struct hello_parts other_type = {.sni = "a.test", .sni_type = 1};
	struct clienthello hello;

	(void)state;
	assert_int_equal(parse_parts(&extensions, &hello), -EPROTO);
	assert_int_equal(parse_parts(&entries, &hello), -EPROTO);
	assert_int_equal(parse_parts(&other_type, &hello), -EPROTO);
}

static void lengths_that_do_not_add_up_are_refused(void **state)
{
	const struct hello_parts p = {.sni = "a.test"};
	size_t n = hello_print_records(bytes, &p, 16384);
	struct clienthello hello;

	(void)state;
	/* each byte that is part of a length, made larger or smaller, must not be accepted as
	 * another name */
	for (size_t i = 0; i < n; i++) {
		for (int d = -1; d <= 1; d += 2) {
			int r;

			bytes[i] = (uint8_t)(bytes[i] + d);
			r = parse(bytes, n, &hello);
			bytes[i] = (uint8_t)(bytes[i] - d);
			if (r == 0 && hello.has_sni && strcmp(hello.host.name, "a.test"))
				assert_int_equal(strlen(hello.host.name), 6);
		}
	}
}

static void other_records_between_are_refused(void **state)
{
	const struct hello_parts p = {.sni = "api.allowed.test"};
	uint8_t cut[400];
	size_t n = hello_print_records(bytes, &p, 100), at = 105;
	struct clienthello hello;
	static const struct {
		uint8_t bytes[7];
		size_t len;
	} between[] = {
		{{22, 3, 1, 0, 0}, 5},       /* empty */
		{{21, 3, 1, 0, 2, 1, 0}, 7}, /* alert */
		{{23, 3, 1, 0, 1, 0}, 6},    /* data */
		{{22, 2, 1, 0, 1, 0}, 6},    /* another protocol's version */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		memcpy(cut, bytes, at);
		memcpy(cut + at, between[i].bytes, between[i].len);
		memcpy(cut + at + between[i].len, bytes + at, n - at);
		assert_int_equal(parse(cut, n + between[i].len, &hello), -EPROTO);
	}
}

static void other_protocols_are_not_tls(void **state)
{
	static const char *const rows[] = {"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n",
		"\x80\x2e\x01\x03", "\x16\x02\x01", "\x15\x03\x01\x00\x02\x01\x00",
		"\x16\x03\x01\x00\x04\x02\x00\x00\x26"};
	static const size_t lens[] = {16, 11, 4, 3, 7, 9};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(parse((const uint8_t *)rows[i], lens[i], &hello), -EPROTO);
	assert_int_equal(parse((const uint8_t *)"", 0, &hello), -EAGAIN);
}

static void hello_beyond_the_bound_is_refused(void **state)
{
	static const uint8_t head[] = {22, 3, 1, 64, 0, 1, 1, 0, 0}; /* 65536 bytes of message */
	struct clienthello hello;

	(void)state;
	assert_int_equal(parse(head, sizeof(head), &hello), -EMSGSIZE);
	memset(bytes, 22, NEJ_MAX_HEAD_BYTES + 1);
	assert_int_equal(parse(bytes, NEJ_MAX_HEAD_BYTES + 1, &hello), -EMSGSIZE);
}

static void second_message_in_the_record_is_refused(void **state)
{
	const struct hello_parts p = {.sni = "a.test"};
	size_t n = hello_print_records(bytes, &p, 16384), len = n - 5 + 4;
	struct clienthello hello;

	(void)state;
	memset(bytes + n, 0, 4);
	bytes[3] = (uint8_t)(len >> 8);
	bytes[4] = (uint8_t)len;
	assert_int_equal(parse(bytes, n + 4, &hello), -EPROTO);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_is_read_at_every_split),
		cmocka_unit_test(post_quantum_hello_larger_than_a_segment_is_read),
		cmocka_unit_test(every_version_number_is_tls),
		cmocka_unit_test(spellings_of_a_name_are_one_name),
		cmocka_unit_test(address_in_sni_is_an_address),
		cmocka_unit_test(names_that_are_none_are_malformed),
		cmocka_unit_test(hello_without_sni_is_complete),
		cmocka_unit_test(ech_is_seen_and_the_outer_name_stands),
		cmocka_unit_test(two_names_are_refused_however_they_are_put),
		cmocka_unit_test(lengths_that_do_not_add_up_are_refused),
		cmocka_unit_test(other_records_between_are_refused),
		cmocka_unit_test(other_protocols_are_not_tls),
		cmocka_unit_test(hello_beyond_the_bound_is_refused),
		cmocka_unit_test(second_message_in_the_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
