/* SPDX-License-Identifier: GPL-2.0-only */
/* What a placeholder has of its secret, and what it has not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/placeholder.h"

static const struct {
	const char *value;
	const char *prefix; /* of both */
} rows[] = {
	{"ghp_abcdEFGH0123456789abcdEFGH01234567", "ghp_"},
	{"github_pat_11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ0123456789", "github_pat_"},
	{"sk-ant-api03-AbCdEf_123-456789012345678901234567890AA", "sk-ant-api03-"},
	{"sk-ant-zzzzzzzzzzzzzzzzzzzzzzzzz", "sk-ant-"},
	{"npm_0123456789abcdefghijABCDEFGHIJ012345", "npm_"},
	{"AKIAIOSFODNN7EXAMPLE", "AKIA"},
	{"xoxb-123456789012-abcdefghijklmnop", "xoxb-"},
	/* what only looks like a prefix may be secret */
	{"a7F_9xk-Qq2mmmmmmmmmmmmmmmmmmmmmmmm", ""},
	{"mycorp_abcdefghijklmnopqrstuvwxyz", ""},
	{"0123456789abcdef0123456789abcdef01234567", ""},
	{"A1B2-C3D4-E5F6", ""},
	{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF_123-456", ""},
	{"ghp_x", ""}, /* there would be next to nothing left */
	{"hunter2", ""},
	{"x", ""},
};

static bool is_kept(char c)
{
	return c == '_' || c == '-' || c == '.';
}

static void expect_like(const char *value, const char *drawn, size_t prefix)
{
	size_t len = strlen(value), n_random = 0;

	for (size_t i = 0; drawn[i]; i++) {
		unsigned char c = (unsigned char)drawn[i],
			      v = i < len ? (unsigned char)value[i] : 0;

		assert_true(isalnum(c) || is_kept((char)c));
		if (v && isdigit(v))
			assert_true(isdigit(c));
		if (v && islower(v))
			assert_true(islower(c));
		if (v && isupper(v))
			assert_true(isupper(c));
		if (v && is_kept((char)v))
			assert_int_equal(c, v);
		n_random += i >= prefix && isalnum(c);
	}
	assert_true(n_random >= PLACEHOLDER_MIN_RANDOM);
}

static void placeholders_look_like_their_secrets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = rows[i].value;
		size_t len = strlen(value), prefix = strlen(rows[i].prefix);
		char drawn[128 + PLACEHOLDER_MORE_BYTES], again[128 + PLACEHOLDER_MORE_BYTES];
		int n = placeholder_draw(value, len, drawn);

		assert_int_equal(n, strlen(drawn));
		assert_int_equal(placeholder_prefix(value, len), prefix);
		assert_memory_equal(drawn, value, prefix);
		assert_true((size_t)n >= len && (size_t)n <= len + PLACEHOLDER_MORE_BYTES);
		if (len - prefix >= 2 * PLACEHOLDER_MIN_RANDOM)
			assert_int_equal(n, len);
		expect_like(value, drawn, prefix);
		if (len - prefix >= 8)
			assert_null(strstr(drawn, value + prefix));
		placeholder_draw(value, len, again);
		assert_string_not_equal(drawn, again);
	}
}

static void hexadecimal_stays_hexadecimal(void **state)
{
	static const char value[] = "0123456789abcdef-0123456789ABCDEF-ffff";
	char drawn[sizeof(value) + PLACEHOLDER_MORE_BYTES];

	(void)state;
	placeholder_draw(value, sizeof(value) - 1, drawn);
	assert_int_equal(strspn(drawn, "0123456789abcdefABCDEF-"), strlen(drawn));
}

/* Of the random positions none is more often right than chance has it. */
static void nothing_of_the_secret_is_told(void **state)
{
	static const char value[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	size_t n_same[sizeof(value)] = {0};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char drawn[sizeof(value) + PLACEHOLDER_MORE_BYTES];

		placeholder_draw(value, sizeof(value) - 1, drawn);
		for (size_t k = 0; k < sizeof(value) - 1; k++)
			n_same[k] += drawn[k] == value[k];
	}
	/* 77 of 2000 are expected of 26 letters; 200 would be 14 deviations away */
	for (size_t k = 0; k < sizeof(value) - 1; k++)
		assert_in_range(n_same[k], 1, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders_look_like_their_secrets),
		cmocka_unit_test(hexadecimal_stays_hexadecimal),
		cmocka_unit_test(nothing_of_the_secret_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
