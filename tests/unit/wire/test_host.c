/* SPDX-License-Identifier: GPL-2.0-only */
/* What is a name, what is an address in some notation, and what is neither. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/wire/host.h"

struct text {
	const char *s;
	size_t len;
};
#define T(s)                                                                                       \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}

static void names_are_folded(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"a.example", "a.example"},
		{"A.Example.", "a.example"},
		{"a_b.example", "a_b.example"},
		{"_dns.a.example", "_dns.a.example"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		{"123.pkg.test", "123.pkg.test"},
		{"0xff.pkg.test", "0xff.pkg.test"},
		{"1.2.3.4.example", "1.2.3.4.example"},
		{"v1-2-3-4.pkg.test", "v1-2-3-4.pkg.test"},
		{"a.1e100", "a.1e100"},
		{"example", "example"},
		{"plain.sslip.io", "plain.sslip.io"},
		{"sslip.io", "sslip.io"},
		{"1-2-3.sslip.io", "1-2-3.sslip.io"},
		{"1-2-3-4sslip.io", "1-2-3-4sslip.io"},
		{"notlocaltest.me", "notlocaltest.me"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		assert_int_equal(host_parse(rows[i].in, strlen(rows[i].in), &h), 0);
		assert_int_equal(h.kind, HOST_NAME);
		assert_false(h.is_embedded);
		assert_string_equal(h.name, rows[i].out);
		assert_int_equal(h.len, strlen(rows[i].out));
	}
}

static void loose_notations_are_addresses(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1.", "127.0.0.1"},
		{"2130706433", "127.0.0.1"},
		{"0x7f000001", "127.0.0.1"},
		{"0X7F000001", "127.0.0.1"},
		{"0x7f.1", "127.0.0.1"},
		{"0177.0.0.1", "127.0.0.1"},
		{"0177.1", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"127.65535", "127.0.255.255"},
		{"0", "0.0.0.0"},
		{"0300.0250.1.1", "192.168.1.1"},
		{"3232235777", "192.168.1.1"},
		{"93.184.55330", "93.184.216.34"},
		{"0135.0270.0330.042", "93.184.216.34"},
		{"4294967295", "255.255.255.255"},
		{"[::1]", "::1"},
		{"[::ffff:7f00:1]", "127.0.0.1"},
		{"[2606:2800:220:1::5]", "2606:2800:220:1::5"},
		{"[::FFFF:10.0.0.5]", "10.0.0.5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		assert_int_equal(host_parse(rows[i].in, strlen(rows[i].in), &h), 0);
		assert_int_equal(h.kind, HOST_ADDR);
		assert_false(h.is_embedded);
		assert_string_equal(h.name, rows[i].out);
	}
}

static void service_names_are_their_address(void **state)
{
	static const struct {
		const char *in, *addr;
	} rows[] = {
		{"1-2-3-4.sslip.io", "1.2.3.4"},
		{"www.10.0.0.1.sslip.io", "10.0.0.1"},
		{"www-10-0-0-1.sslip.io", "10.0.0.1"},
		{"10-0-0-1-www.sslip.io", "10.0.0.1"},
		{"7f000001.sslip.io", "127.0.0.1"},
		{"127.0.0.1.nip.io", "127.0.0.1"},
		{"10-0-0-5.sslip.io", "10.0.0.5"},
		{"7f000001.nip.io", "127.0.0.1"},
		{"app.10.0.0.5.nip.io", "10.0.0.5"},
		{"app-c0a801fc.nip.io", "192.168.1.252"},
		{"APP.10.0.0.5.NIP.IO.", "10.0.0.5"},
		{"10.0.0.1.xip.io", "10.0.0.1"},
		{"10.0.0.1.traefik.me", "10.0.0.1"},
		{"10.0.0.1.backname.io", "10.0.0.1"},
		{"10-0-0-1.my.local-ip.co", "10.0.0.1"},
		{"10-0-0-1.local-ip.sh", "10.0.0.1"},
		{"10-0-0-1.local-ip.medicmobile.org", "10.0.0.1"},
		{"10-0-0-1.ip.addr.tools", "10.0.0.1"},
		{"7f000001.c0a80001.rbndr.us", "127.0.0.1"},
		{"make-10-0-0-1-rr.1u.ms", "10.0.0.1"},
		{"fd00-ec2--254.sslip.io", "fd00:ec2::254"},
		{"www.fe80--1.sslip.io", "fe80::1"},
		{"localtest.me", "127.0.0.1"},
		{"app.localtest.me", "127.0.0.1"},
		{"x.lvh.me", "127.0.0.1"},
		{"x.vcap.me", "127.0.0.1"},
		{"x.fuf.me", "127.0.0.1"},
		{"x.lacolhost.com", "127.0.0.1"},
		{"x.localho.st", "127.0.0.1"},
		{"x.local.gd", "127.0.0.1"},
		{"x.lndo.site", "127.0.0.1"},
		{"x.ddev.site", "127.0.0.1"},
		{"x.docksal.site", "127.0.0.1"},
		{"10.0.0.1.xip.name", "10.0.0.1"},
	};
	char text[ADDR_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		assert_int_equal(host_parse(rows[i].in, strlen(rows[i].in), &h), 0);
		if (h.kind != HOST_ADDR)
			fail_msg("%s is taken for a name", rows[i].in);
		assert_true(h.is_embedded);
		assert_string_equal(addr_print(&h.addr, text), rows[i].addr);
	}
}

static void what_is_no_host_is_refused(void **state)
{
	static const struct text rows[] = {
		T(""),
		T("."),
		T(".."),
		T(".a.example"),
		T("a..example"),
		T("a.example.."),
		T("-a.example"),
		T("a-.example"),
		T("a.-b"),
		T("a b.example"),
		T("a.example "),
		T("evil.test\0.pkg.test"),
		T("evil.test\r\n"),
		T("evil.test\x7f"),
		T("a\tb"),
		T("evil.test%23.pkg.test"),
		T("evil.test%2f.pkg.test"),
		T("evil.test#.pkg.test"),
		T("a/b"),
		T("a\\b"),
		T("user@a.example"),
		T("a:80"),
		T("[a.example]"),
		T("[[::1]]"),
		T("[::1"),
		T("::1"),
		T("[::1]x"),
		T("[fe80::1%25eth0]"),
		T("[fe80::1%eth0]"),
		T("[127.0.0.1]"),
		T("[]"),
		T("[:]"),
		T("b\xc3\xbc"
		  "cher.example"),
		T("a\xe3\x80\x82"
		  "b"),
		T("1.2.3.4.5"),
		T("256.256.256.256"),
		T("1.2.3.256"),
		T("0x"),
		T("0x.1"),
		T("08.1"),
		T("1.2.3.08"),
		T("4294967296"),
		T("0x100000000"),
		T("a.example.1"),
		T("foo.0x1"),
		T("*.a.example"),
		T("*"),
		T("127.0.0.1.."),
		T("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example"),
		T("--1.sslip.io"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		if (host_parse(rows[i].s, rows[i].len, &h) != -EINVAL)
			fail_msg("`%s` is taken for a host", rows[i].s);
	}
}

static void length_has_its_limit(void **state)
{
	char s[260];
	struct host h;

	(void)state;
	memset(s, 'a', sizeof(s));
	for (size_t i = 49; i < sizeof(s); i += 50)
		s[i] = '.';
	assert_int_equal(host_parse(s, 253, &h), 0);
	assert_int_equal(h.len, 253);
	s[253] = '.';
	assert_int_equal(host_parse(s, 254, &h), 0);
	s[253] = 'a';
	assert_int_equal(host_parse(s, 254, &h), -EINVAL);
}

static void localhost_is_marked(void **state)
{
	struct host h;

	(void)state;
	assert_int_equal(host_parse("LocalHost.", 10, &h), 0);
	assert_true(h.is_local);
	assert_int_equal(host_parse("a.localhost", 11, &h), 0);
	assert_true(h.is_local);
	assert_int_equal(host_parse("alocalhost", 10, &h), 0);
	assert_false(h.is_local);
}

static void ports_are_strict(void **state)
{
	static const struct {
		const char *s;
		int port; /* -1: refused */
	} rows[] = {
		{"a.example:443", 443},
		{"a.example", 0},
		{"[::1]:443", 443},
		{"[::1]", 0},
		{"127.1:80", 80},
		{"a.example:0", -1},
		{"a.example:65536", -1},
		{"a.example:443x", -1},
		{"a.example:0443", -1},
		{"a.example:", -1},
		{"a.example:+1", -1},
		{"a.example: 1", -1},
		{":443", -1},
		{"[::1]:", -1},
		{"a:1:2", -1},
		{"::1:443", -1},
		{"[::1]443", -1},
		{"", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;
		uint16_t port = 7;
		int r = host_parse_port(rows[i].s, strlen(rows[i].s), &h, &port);

		if ((r < 0) != (rows[i].port < 0) || (!r && port != rows[i].port))
			fail_msg("`%s`: %d, port %u", rows[i].s, r, port);
	}
}

static void equality_is_of_kind_and_name(void **state)
{
	struct host a, b;

	(void)state;
	host_parse("A.example.", 10, &a);
	host_parse("a.example", 9, &b);
	assert_true(host_equal(&a, &b));
	host_parse("127.1", 5, &a);
	host_parse("0x7f000001", 10, &b);
	assert_true(host_equal(&a, &b));
	host_parse("127-0-0-1.nip.io", 16, &b);
	assert_false(host_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_folded),
		cmocka_unit_test(loose_notations_are_addresses),
		cmocka_unit_test(service_names_are_their_address),
		cmocka_unit_test(what_is_no_host_is_refused),
		cmocka_unit_test(length_has_its_limit),
		cmocka_unit_test(localhost_is_marked),
		cmocka_unit_test(ports_are_strict),
		cmocka_unit_test(equality_is_of_kind_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
