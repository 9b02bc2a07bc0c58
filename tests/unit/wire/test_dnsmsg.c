/* SPDX-License-Identifier: GPL-2.0-only */
/* DNS messages: names with compression, records built anew, alias chains, reversed addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/wire/dnsmsg.h"

#include <errno.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(s) (const uint8_t *)(s), sizeof(s) - 1

static void compression_leads_backwards_only(void **state)
{
	static const struct {
		const uint8_t *bytes;
		size_t len, at;
		const char *name; /* NULL: refused */
		size_t next;
	} rows[] = {
		{BYTES("\3www\4test\0"), 0, "www.test", 10},
		{BYTES("\4test\0\3www\xc0\0"), 6, "www.test", 12},
		{BYTES("\4TEST\0\3wWw\xc0\0"), 6, "www.test", 12},
		{BYTES("\0"), 0, "", 1},
		{BYTES("\xc0\0"), 0, NULL, 0},       /* itself */
		{BYTES("\1a\xc0\0"), 0, NULL, 0},    /* round and round */
		{BYTES("\xc0\2\xc0\0"), 2, NULL, 0}, /* to and fro */
		{BYTES("\xc0\2\0"), 0, NULL, 0},     /* forwards */
		{BYTES("\3ab"), 0, NULL, 0},         /* past the end */
		{BYTES("\1a"), 0, NULL, 0},          /* no end */
		{BYTES("\xc0"), 0, NULL, 0},         /* half a pointer */
		{BYTES("\x41"
		       "abc\0"),
			0, NULL, 0}, /* an extended label */
		{BYTES("\x80"
		       "abc\0"),
			0, NULL, 0},
		{BYTES("\3a.b\0"), 0, NULL, 0}, /* a dot that is no border */
		{BYTES("\3a\0b\0"), 0, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char name[DNSMSG_NAME_BYTES] = "";
		size_t next = 0;
		int r = dnsmsg_read_name(rows[i].bytes, rows[i].len, rows[i].at, name, &next);

		if ((r == 0) != (rows[i].name != NULL) ||
			(r == 0 && (strcmp(name, rows[i].name) || next != rows[i].next)))
			fail_msg("row %zu: %d `%s` %zu", i, r, name, next);
	}
}

static void name_longer_than_the_limit_is_refused(void **state)
{
	uint8_t bytes[400];
	char name[DNSMSG_NAME_BYTES];
	size_t n = 0, next;

	(void)state;
	for (int i = 0; i < 5; i++) {
		bytes[n++] = 50;
		memset(bytes + n, 'a', 50);
		n += 50;
	}
	bytes[n++] = 0;
	assert_int_equal(dnsmsg_read_name(bytes, n, 0, name, &next), -EBADMSG);
	bytes[204] = 48; /* 4 * 51 + 49 = 253 with the dots */
	bytes[204 + 49] = 0;
	assert_int_equal(dnsmsg_read_name(bytes, n, 0, name, &next), 0);
	assert_int_equal(strlen(name), 252);
}

static void records_are_built_anew(void **state)
{
	static const struct {
		uint16_t type;
		const uint8_t *rdata;
		size_t len;
		int want; /* length or error */
		const char *out;
	} rows[] = {
		{DNSMSG_MX, BYTES("\0\12\1m\xc0\0"), 10, "\0\12\1m\4test\0"},
		{DNSMSG_MX, BYTES("\0\12\1m\xc0\0x"), -EBADMSG, NULL},
		{DNSMSG_MX, BYTES("\0"), -EBADMSG, NULL},
		{DNSMSG_TXT, BYTES("\3one\2ab"), 7, "\3one\2ab"},
		{DNSMSG_TXT, BYTES("\3on"), -EBADMSG, NULL},
		{DNSMSG_SRV, BYTES("\0\1\0\2\1\xbb\xc0\0"), 12, "\0\1\0\2\1\xbb\4test\0"},
		{DNSMSG_CNAME, BYTES("\xc0\0"), 6, "\4test\0"},
		{DNSMSG_SOA, BYTES("\xc0\0\xc0\0aaaabbbbccccddddeeee"), 32,
			"\4test\0\4test\0aaaabbbbccccddddeeee"},
		{DNSMSG_SOA, BYTES("\xc0\0\xc0\0aaaabbbbccccdddd"), -EBADMSG, NULL},
		{10, BYTES("bulk"), -ENOTSUP, NULL},
		{65280, BYTES("bulk"), -ENOTSUP, NULL},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\1\0\3\2h2\0\3\0\2\1\xbb"), 16,
			"\0\1\0\0\1\0\3\2h2\0\3\0\2\1\xbb"},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\4\0\4abcd\0\6\0\20abcdefghijklmnop"), 3, "\0\1\0"},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\5\0\4echk"), 3, "\0\1\0"},
		{DNSMSG_HTTPS, BYTES("\0\1\0\xff\0\0\4data"), 3, "\0\1\0"},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\0\0\2\0\5\0\5\0\4echk"), -ENODATA, NULL},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\0\0\3\0\1\0"), -ENODATA, NULL},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\1\0\11"), -EBADMSG, NULL},
		{DNSMSG_HTTPS, BYTES("\0\1\0\0\1"), -EBADMSG, NULL},
		{DNSMSG_SVCB, BYTES("\0\0\xc0\0"), 8, "\0\0\4test\0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t msg[200] = "\4test", out[200];
		struct dnsmsg_record rec = {
			.type = rows[i].type, .rdata_at = 6, .rdata_len = rows[i].len};
		int n;

		memcpy(msg + 6, rows[i].rdata, rows[i].len);
		n = dnsmsg_rebuild(msg, 6 + rows[i].len, &rec, out, sizeof(out));
		if (n != rows[i].want || (n > 0 && memcmp(out, rows[i].out, (size_t)n)))
			fail_msg("row %zu: %d", i, n);
		if (n > 0)
			assert_int_equal(
				dnsmsg_rebuild(msg, 6 + rows[i].len, &rec, out, (size_t)n - 1),
				-ENOSPC);
	}
}

/* --- chains */

static size_t add_alias(uint8_t *msg, size_t n, const char *owner, const char *target)
{
	static const uint8_t fixed[] = {0, 5, 0, 1, 0, 0, 0, 9, 0, 3};

	msg[n++] = 1;
	msg[n++] = (uint8_t)*owner;
	msg[n++] = 0;
	memcpy(msg + n, fixed, sizeof(fixed));
	n += sizeof(fixed);
	msg[n++] = 1;
	msg[n++] = (uint8_t)*target;
	msg[n++] = 0;
	msg[7]++;
	return n;
}

static size_t reply_head(uint8_t *msg)
{
	memcpy(msg, "\0\1\x81\x80\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 19);
	return 19;
}

static void chain_is_followed_in_any_order(void **state)
{
	uint8_t msg[600];
	struct dnsmsg_chain chain;
	size_t n = reply_head(msg);

	(void)state;
	assert_int_equal(dnsmsg_read_chain(msg, n, "a", &chain), 0);
	assert_string_equal(chain.last, "a");
	assert_int_equal(chain.len, 0);
	n = add_alias(msg, n, "b", "c");
	n = add_alias(msg, n, "a", "b");
	n = add_alias(msg, n, "x", "y"); /* nobody's */
	assert_int_equal(dnsmsg_read_chain(msg, n, "a", &chain), 0);
	assert_string_equal(chain.last, "c");
	assert_int_equal(chain.len, 4);
	assert_memory_equal(chain.names, "b\0c", 4);
	assert_int_equal(chain.ttl_s, 9);
	n = add_alias(msg, n, "c", "a");
	assert_int_equal(dnsmsg_read_chain(msg, n, "a", &chain), -ELOOP);
}

static void reversed_addresses_are_read(void **state)
{
	static const struct {
		const char *name, *addr;
		int r;
	} rows[] = {
		{"4.3.2.1.in-addr.arpa", "1.2.3.4", 0},
		{"1.0.0.127.in-addr.arpa", "127.0.0.1", 0},
		{"3.2.1.in-addr.arpa", NULL, -EINVAL},
		{"256.3.2.1.in-addr.arpa", NULL, -EINVAL},
		{"5.4.3.2.1.in-addr.arpa", NULL, -EINVAL},
		{"in-addr.arpa", NULL, -EINVAL},
		{"1.in-addr.arpa.test", NULL, -ENOENT},
		{"xin-addr.arpa", NULL, -ENOENT},
		{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", "::1",
			0},
		{"8.b.d.0.1.0.0.2.ip6.arpa", NULL, -EINVAL},
		{"g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", NULL,
			-EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[ADDR_TEXT_BYTES];
		struct addr a;
		int r = dnsmsg_parse_reverse(rows[i].name, &a);

		if (r != rows[i].r || (r == 0 && strcmp(addr_print(&a, text), rows[i].addr)))
			fail_msg("row %zu: %d", i, r);
	}
}

static void reply_without_room_is_cut_and_keeps_its_opt(void **state)
{
	static const uint8_t query[] =
		"\0\1\1\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\2\0\0\0\0\0\0";
	uint8_t out[DNSMSG_MIN_REPLY_BYTES], big[400] = {0};
	struct dnsmsg_query q;
	struct dnsmsg_reply r;
	size_t len;

	(void)state;
	assert_int_equal(dnsmsg_parse_query(query, sizeof(query), &q), 0);
	assert_int_equal(q.edns_size, 512);
	dnsmsg_reply_init(&r, out, sizeof(out), query, &q);
	dnsmsg_add_record(&r, DNSMSG_TXT, 1, big, sizeof(big));
	dnsmsg_add_record(&r, DNSMSG_TXT, 1, big, sizeof(big));
	len = dnsmsg_reply_end(&r, &q, DNSMSG_NOERROR, DNSMSG_EDE_BLOCKED, (char *)big, 300);
	assert_in_range(len, 400, sizeof(out));
	assert_int_equal(out[7], 1);
	assert_int_equal(out[11], 1);
	assert_true(out[2] & 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compression_leads_backwards_only),
		cmocka_unit_test(name_longer_than_the_limit_is_refused),
		cmocka_unit_test(records_are_built_anew),
		cmocka_unit_test(chain_is_followed_in_any_order),
		cmocka_unit_test(reversed_addresses_are_read),
		cmocka_unit_test(reply_without_room_is_cut_and_keeps_its_opt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
