/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 and HMAC-SHA256 by published examples (FIPS 180-4, RFC 4231). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../../../user/tls/hmac.h"

static void hashes_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *text, *hash;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	};
	char hex[HMAC_HEX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(hmac_hash(rows[i].text, strlen(rows[i].text), hex), 0);
		assert_string_equal(hex, rows[i].hash);
	}
}

static void codes_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *key, *text, *code;
	} rows[] = {
		{"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
			"Hi There",
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"Jefe", "what do ya want for nothing?",
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
	};
	uint8_t raw[HMAC_BYTES];
	char hex[HMAC_HEX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(hmac_sign(rows[i].key, strlen(rows[i].key), rows[i].text,
					 strlen(rows[i].text), raw),
			0);
		hmac_print(raw, hex);
		assert_string_equal(hex, rows[i].code);
	}
}

static void a_code_may_replace_its_key(void **state)
{
	uint8_t key[HMAC_BYTES] = {1}, apart[HMAC_BYTES];

	(void)state;
	assert_int_equal(hmac_sign(key, sizeof(key), "x", 1, apart), 0);
	assert_int_equal(hmac_sign(key, sizeof(key), "x", 1, key), 0);
	assert_true(hmac_equal(key, apart, sizeof(key)));
	apart[HMAC_BYTES - 1] ^= 1;
	assert_false(hmac_equal(key, apart, sizeof(key)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_standard),
		cmocka_unit_test(codes_are_those_of_the_standard),
		cmocka_unit_test(a_code_may_replace_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
