/* SPDX-License-Identifier: GPL-2.0-only */
/* Verdicts on connections, requests and names beyond the cases of the language. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "policies.h"

#define ANY POLICY_SCHEME_ANY
#define HTTPS POLICY_SCHEME_HTTPS
#define HTTP POLICY_SCHEME_HTTP
#define TCP POLICY_SCHEME_TCP
#define UDP POLICY_SCHEME_UDP

struct row {
	enum policy_scheme scheme;
	const char *host;
	uint16_t port;
	enum policy_verdict verdict;
	enum nej_reason reason;
	int rule; /* -1: none */
};

static void check_rows(const char *text, const struct row *rows, size_t n)
{
	struct policy *p = policy_of(text);

	for (size_t i = 0; i < n; i++) {
		struct policy_decision d =
			ask_connection(p, rows[i].scheme, rows[i].host, rows[i].port);

		if (d.verdict != rows[i].verdict || d.reason != rows[i].reason ||
			d.rule != (uint32_t)rows[i].rule)
			fail_msg("row %zu, %s:%u: verdict %d, reason %d, rule %d", i, rows[i].host,
				rows[i].port, d.verdict, d.reason, (int)d.rule);
	}
	policy_free(p);
}
#define CHECK(text, rows) check_rows(text, rows, sizeof(rows) / sizeof((rows)[0]))

static void unknown_protocol_is_settled_only_when_all_agree(void **state)
{
	static const struct row rows[] = {
		{ANY, "web.example", 443, POLICY_NEED_URL, NEJ_REASON_RULE, 0},
		{ANY, "web.example", 80, POLICY_NEED_URL, NEJ_REASON_RULE, 0},
		{ANY, "web.example", 22, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{ANY, "db.example", 5432, POLICY_ALLOW, NEJ_REASON_RULE, 1},
		{ANY, "db.example", 443, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{ANY, "api.example", 443, POLICY_NEED_URL, NEJ_REASON_RULE, 2},
		{HTTPS, "api.example", 443, POLICY_NEED_URL, NEJ_REASON_RULE, 2},
		{HTTP, "api.example", 80, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{TCP, "api.example", 443, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{ANY, "gone.example", 443, POLICY_DENY, NEJ_REASON_RULE, 3},
		{TCP, "gone.example", 8022, POLICY_DENY, NEJ_REASON_RULE, 3},
	};

	(void)state;
	CHECK("rules:\n"
	      "  - allow: web.example\n"
	      "  - allow: db.example:5432\n"
	      "  - allow: GET https://api.example\n"
	      "  - deny: gone.example\n"
	      "  - allow: \"*:8022\"\n",
		rows);
}

static void passed_conditions_ask_for_the_url(void **state)
{
	static const struct row rows[] = {
		/* a denial of some requests before an allow of all */
		{HTTPS, "a.example", 443, POLICY_NEED_URL, NEJ_REASON_RULE, 0},
		{HTTP, "a.example", 80, POLICY_ALLOW, NEJ_REASON_RULE, 1},
		/* only denials: nothing a URL could change */
		{HTTPS, "b.example", 443, POLICY_DENY, NEJ_REASON_RULE, 3},
		{HTTPS, "c.example", 443, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		/* an allow of some before a denial of all */
		{HTTPS, "d.example", 443, POLICY_NEED_URL, NEJ_REASON_RULE, 5},
		/* conditions behind the whole host are never reached */
		{HTTPS, "e.example", 443, POLICY_ALLOW, NEJ_REASON_RULE, 7},
	};

	(void)state;
	CHECK("rules:\n"
	      "  - deny: POST https://a.example\n"
	      "  - allow: a.example\n"
	      "  - deny: https://b.example/x\n"
	      "  - deny: b.example\n"
	      "  - deny: https://c.example/x\n"
	      "  - allow: https://d.example/x\n"
	      "  - deny: d.example\n"
	      "  - allow: e.example\n"
	      "  - deny: https://e.example/x\n",
		rows);
}

static void bare_denial_shuts_every_port(void **state)
{
	static const struct row rows[] = {
		{ANY, "m.example", 443, POLICY_DENY, NEJ_REASON_RULE, 0},
		{TCP, "a.m.example", 22, POLICY_DENY, NEJ_REASON_RULE, 0},
		{HTTP, "m.example", 8080, POLICY_DENY, NEJ_REASON_RULE, 0},
		{TCP, "s.example", 22, POLICY_DENY, NEJ_REASON_RULE, 1},
		{TCP, "s.example", 23, POLICY_ALLOW, NEJ_REASON_NO_RULE, -1},
		{HTTPS, "t.example", 443, POLICY_DENY, NEJ_REASON_RULE, 2},
		{HTTPS, "t.example", 8443, POLICY_ALLOW, NEJ_REASON_NO_RULE, -1},
		{UDP, "x.example", 443, POLICY_DENY, NEJ_REASON_UDP, -1},
	};

	(void)state;
	CHECK("default: allow\n"
	      "rules:\n"
	      "  - deny: .m.example\n"
	      "  - deny: s.example:22\n"
	      "  - deny: https://t.example\n",
		rows);
}

static void resolvers_over_https_are_shut_in_denylist_mode(void **state)
{
	static const struct row rows[] = {
		{HTTPS, "dns.google", 443, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{ANY, "x.cloudflare-dns.com", 443, POLICY_DENY, NEJ_REASON_NO_RULE, -1},
		{HTTPS, "doh.opendns.com", 443, POLICY_ALLOW, NEJ_REASON_RULE, 0},
		{HTTPS, "google", 443, POLICY_ALLOW, NEJ_REASON_NO_RULE, -1},
	};
	struct policy *p = policy_of("rules: []\ndefault: allow\n");

	(void)state;
	assert_int_equal(ask_dns(p, "dns.google").verdict, POLICY_DENY);
	assert_int_equal(ask_dns(p, "www.google").verdict, POLICY_ALLOW);
	policy_free(p);
	CHECK("default: allow\nrules:\n  - allow: doh.opendns.com\n", rows);
	/* an allowlist means what it names */
	p = policy_of("rules:\n  - allow: \"*\"\n");
	assert_int_equal(ask_connection(p, HTTPS, "dns.google", 443).verdict, POLICY_ALLOW);
	policy_free(p);
}

static void names_resolve_iff_something_is_reachable(void **state)
{
	static const struct {
		const char *name;
		enum policy_verdict verdict;
		int rule;
	} rows[] = {
		{"a.example", POLICY_ALLOW, 1},  /* 22 is left by the denial of https */
		{"b.example", POLICY_DENY, 2},   /* all ports are shut */
		{"c.example", POLICY_DENY, 4},   /* two denials shut what the allow opens */
		{"d.example", POLICY_ALLOW, 7},  /* one port of the range is left */
		{"e.example", POLICY_ALLOW, 9},  /* POST is left */
		{"f.example", POLICY_DENY, -1},  /* unknown */
		{"g.example", POLICY_ALLOW, 10}, /* over UDP */
	};
	struct policy *p = policy_of("rules:\n"
				     "  - deny: https://a.example\n"     /* 0 */
				     "  - allow: tcp://a.example:22\n"   /* 1 */
				     "  - deny: b.example\n"             /* 2 */
				     "  - allow: tcp://b.example:22\n"   /* 3 */
				     "  - deny: c.example:1-99\n"        /* 4 */
				     "  - deny: c.example:100-200\n"     /* 5 */
				     "  - allow: c.example:50-150\n"     /* 6 */
				     "  - allow: d.example:5\n"          /* 7 */
				     "  - deny: GET https://e.example\n" /* 8 */
				     "  - allow: https://e.example\n"    /* 9 */
				     "  - {allow: udp://g.example:123, transport: kernel}\n");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_decision d = ask_dns(p, rows[i].name);

		if (d.verdict != rows[i].verdict || d.rule != (uint32_t)rows[i].rule)
			fail_msg("%s: %d, rule %d", rows[i].name, d.verdict, (int)d.rule);
	}
	assert_int_equal(ask_dns(p, "localhost").reason, NEJ_REASON_LOOPBACK);
	assert_int_equal(ask_dns(p, "10.0.0.1.nip.io").verdict, POLICY_DENY);
	policy_free(p);
}

static void server_may_speak_first_where_raw_tcp_is_allowed(void **state)
{
	struct policy *p = policy_of("rules:\n"
				     "  - allow: tcp://git.example:22\n"
				     "  - allow: db.example:5432\n"
				     "  - allow: web.example\n"
				     "  - allow: https://alt.example:8443\n");

	(void)state;
	assert_true(ask_connection(p, ANY, "git.example", 22).may_speak_first);
	assert_true(ask_connection(p, TCP, "db.example", 5432).may_speak_first);
	assert_false(ask_connection(p, ANY, "web.example", 443).may_speak_first);
	assert_false(ask_connection(p, ANY, "alt.example", 8443).may_speak_first);
	policy_free(p);
}

static void kernel_rules_know_ports_not_schemes(void **state)
{
	struct policy *p = policy_of("rules:\n"
				     "  - {allow: fast.example, transport: kernel}\n"
				     "  - {allow: \"https://tls.example\", transport: kernel}\n"
				     "  - deny: http://mix.example\n"
				     "  - {allow: mix.example, transport: kernel}\n");
	struct policy_decision d = ask_connection(p, ANY, "fast.example", 443);

	(void)state;
	assert_int_equal(d.verdict, POLICY_ALLOW);
	assert_int_equal(d.transport, POLICY_TRANSPORT_KERNEL);
	assert_int_equal(ask_connection(p, ANY, "fast.example", 80).verdict, POLICY_ALLOW);
	assert_int_equal(ask_connection(p, ANY, "fast.example", 22).verdict, POLICY_DENY);
	assert_int_equal(ask_connection(p, ANY, "tls.example", 443).verdict, POLICY_ALLOW);
	assert_int_equal(ask_connection(p, ANY, "tls.example", 80).verdict, POLICY_DENY);
	/* one protocol is denied, so the kernel cannot let the port straight out */
	assert_int_equal(ask_connection(p, ANY, "mix.example", 80).verdict, POLICY_NEED_URL);
	policy_free(p);
}

static void secrets_and_inspect_open_tls(void **state)
{
	struct policy *p = policy_of("rules:\n"
				     "  - allow: .hub.example\n"
				     "  - {allow: seen.example, inspect: true}\n"
				     "secrets:\n"
				     "  T: { env: T, for: [\"*.hub.example\"] }\n");

	(void)state;
	assert_true(ask_connection(p, HTTPS, "a.hub.example", 443).is_inspect);
	assert_false(ask_connection(p, HTTPS, "hub.example", 443).is_inspect);
	assert_false(ask_connection(p, HTTP, "a.hub.example", 80).is_inspect);
	assert_true(ask_connection(p, HTTPS, "seen.example", 443).is_inspect);
	assert_true(ask_connection(p, ANY, "seen.example", 443).is_inspect);
	assert_int_equal(ask_connection(p, HTTPS, "x.example", 443).verdict, POLICY_DENY);
	policy_free(p);
}

static size_t secrets_of(const struct policy *p, const char *name, uint16_t *ret)
{
	struct host h;

	assert_int_equal(host_parse(name, strlen(name), &h), 0);
	return policy_secrets_for(p, &h, 443, ret, 8);
}

static void secrets_are_found_by_host(void **state)
{
	struct policy *p =
		policy_of("secrets:\n"
			  "  A: { env: A, for: [a.example, '*.hub.example', b.example] }\n"
			  "  B: { file: /run/b, in: [query, body], for: [.hub.example] }\n"
			  "  C: { command: [/bin/x, '', y], for: [b.hub.example, hub.example],\n"
			  "       sign: aws-v4, key_id: A }\n");
	struct policy_secret s;
	uint16_t found[8];

	(void)state;
	assert_int_equal(policy_secret_count(p), 3);
	assert_int_equal(secrets_of(p, "x.example", found), 0);
	assert_int_equal(secrets_of(p, "10.0.0.1", found), 0);
	assert_int_equal(secrets_of(p, "a.example", found), 1);
	assert_int_equal(secrets_of(p, "x.a.example", found), 0);
	assert_int_equal(secrets_of(p, "hub.example", found), 2);
	assert_int_equal(found[0], 1);
	assert_int_equal(found[1], 2);
	assert_int_equal(secrets_of(p, "B.hub.example.", found), 3);
	assert_int_equal(secrets_of(p, "c.b.hub.example", found), 2);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], 1);

	assert_true(policy_secret(p, 0, &s));
	assert_string_equal(s.name, "A");
	assert_int_equal(s.in, POLICY_SECRET_HEADERS);
	assert_false(s.is_aws || s.key_id);
	assert_true(policy_secret(p, 1, &s));
	assert_int_equal(s.in, POLICY_SECRET_QUERY | POLICY_SECRET_BODY);
	assert_int_equal(policy_secret_source(p, 1), POLICY_SOURCE_FILE);
	assert_string_equal(policy_secret_arg(p, 1, 0), "/run/b");
	assert_null(policy_secret_arg(p, 1, 1));
	assert_true(policy_secret(p, 2, &s));
	assert_true(s.is_aws);
	assert_string_equal(s.key_id, "A");
	assert_int_equal(policy_secret_source(p, 2), POLICY_SOURCE_COMMAND);
	assert_string_equal(policy_secret_arg(p, 2, 1), "");
	assert_string_equal(policy_secret_arg(p, 2, 2), "y");
	assert_null(policy_secret_arg(p, 2, 3));
	assert_false(policy_secret(p, 3, &s));
	policy_free(p);
}

static void only_policies_that_look_inside_inspect(void **state)
{
	static const struct {
		const char *text;
		bool inspects;
	} rows[] = {
		{"rules: [{allow: a.example}]\n", false},
		{"default: allow\nrules: [{deny: a.example}]\n", false},
		{"rules: [{allow: http://a.example/x}]\n", false},
		{"rules: [{allow: GET a.example}]\n", true},
		{"rules: [{allow: a.example/x}]\n", true},
		{"default: allow\nrules: [{deny: https://a.example/x}]\n", true},
		{"rules: [{allow: a.example, inspect: true}]\n", true},
		{"rules: [{allow: http://a.example, inspect: true}]\n", false},
		{"secrets: {T: {env: T, for: [a.example]}}\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy *p = policy_of(rows[i].text);

		if (policy_inspects(p) != rows[i].inspects)
			fail_msg("row %zu: %s", i, rows[i].text);
		policy_free(p);
	}
}

static void paths_are_decided_by_the_stricter_reading(void **state)
{
	static const struct {
		const char *path;
		enum policy_verdict verdict;
		enum nej_reason reason;
	} rows[] = {
		{"/repos/x", POLICY_ALLOW, NEJ_REASON_RULE},
		{"/repos", POLICY_ALLOW, NEJ_REASON_RULE},
		{"/reposx", POLICY_DENY, NEJ_REASON_NO_RULE},
		{"/repos/../admin", POLICY_DENY, NEJ_REASON_NO_RULE},
		{"/repos/..%2fadmin", POLICY_DENY, NEJ_REASON_NO_RULE},
		{"/repos%2fx", POLICY_DENY, NEJ_REASON_NO_RULE}, /* one segment to a plain reader */
		{"/repos/..;/admin", POLICY_DENY, NEJ_REASON_NO_RULE},
		{"/repos/..\\admin", POLICY_DENY, NEJ_REASON_NO_RULE},
		{"/repos//../admin", POLICY_DENY, NEJ_REASON_FRAMING},
		{"/repos/%zz", POLICY_DENY, NEJ_REASON_FRAMING},
		{"/repos/%00", POLICY_DENY, NEJ_REASON_FRAMING},
		{"/repos/%c0%ae%c0%ae/admin", POLICY_DENY, NEJ_REASON_FRAMING},
		{"/repos/x#y", POLICY_DENY, NEJ_REASON_FRAMING},
		{"/repos/x?y=../z%zz", POLICY_ALLOW, NEJ_REASON_RULE},
		{"/repos/caf%C3%A9/@a%2fb", POLICY_ALLOW, NEJ_REASON_RULE},
	};
	struct policy *p = policy_of("rules:\n  - allow: GET http://a.example/repos\n"
				     "  - allow: http://b.example\n");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_decision d = ask_url(p, HTTP, "a.example", 80, "GET", rows[i].path);

		if (d.verdict != rows[i].verdict || d.reason != rows[i].reason)
			fail_msg("%s: %d, reason %d", rows[i].path, d.verdict, d.reason);
	}
	/* no rule looks at the path: only what nobody can frame is refused */
	assert_int_equal(ask_url(p, HTTP, "b.example", 80, "GET", "/%zz").verdict, POLICY_ALLOW);
	assert_int_equal(
		ask_url(p, HTTP, "b.example", 80, "GET", "/a#b").reason, NEJ_REASON_FRAMING);
	policy_free(p);
}

static void resolved_addresses_are_checked(void **state)
{
	static const struct {
		const char *addr;
		bool deny, list, allow; /* reachable under private: deny, [10.1.0.0/16], allow */
	} rows[] = {
		{"93.184.216.34", true, true, true}, {"2606:2800:220::5", true, true, true},
		{"64:ff9b::5db8:d822", true, true, true}, {"10.1.2.3", false, true, true},
		{"::ffff:10.1.2.3", false, true, true}, {"64:ff9b::a01:203", false, true, true},
		{"2002:a01:203::1", false, true, true}, {"10.2.0.1", false, false, true},
		{"198.18.0.1", false, false, true}, {"fd12::1", false, false, true},
		{"fec0::1", false, false, true}, {"127.0.0.1", false, false, false},
		{"0.0.0.0", false, false, false}, {"::1", false, false, false},
		{"169.254.169.254", false, false, false},
		{"64:ff9b::a9fe:a9fe", false, false, false}, {"fe80::1", false, false, false},
		{"224.0.0.1", false, false, false}, {"::ffff:0:127.0.0.1", false, false, false},
		{"::127.0.0.1", false, false, false},
		{"2001:0:5db8:d822::80ff:fffe", false, false, false}, /* Teredo of 127.0.0.1 */
	};
	struct policy *deny = policy_of("version: 1\n");
	struct policy *list = policy_of("private: [10.1.0.0/16]\n");
	struct policy *allow = policy_of("private: allow\n");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct addr a;

		assert_int_equal(addr_parse(rows[i].addr, strlen(rows[i].addr), &a), 0);
		if ((policy_check_resolved(deny, &a) == NEJ_REASON_NONE) != rows[i].deny ||
			(policy_check_resolved(list, &a) == NEJ_REASON_NONE) != rows[i].list ||
			(policy_check_resolved(allow, &a) == NEJ_REASON_NONE) != rows[i].allow)
			fail_msg("%s", rows[i].addr);
	}
	policy_free(deny);
	policy_free(list);
	policy_free(allow);
}

static void literals_need_a_rule_of_their_range(void **state)
{
	static const struct row rows[] = {
		{TCP, "8.8.8.8", 443, POLICY_DENY, NEJ_REASON_ADDRESS_LITERAL, -1},
		{HTTPS, "8.8.8.8", 443, POLICY_ALLOW, NEJ_REASON_RULE, 1},
		{HTTPS, "8.8.4.4", 443, POLICY_DENY, NEJ_REASON_RULE, 0},
		{HTTPS, "[64:ff9b::808:808]", 443, POLICY_ALLOW, NEJ_REASON_RULE, 1},
		/* 6to4 is another place than the address in it, but a denial of that holds */
		{HTTPS, "[2001:0:1::f7f7:f7f7]", 443, POLICY_DENY, NEJ_REASON_ADDRESS_LITERAL, -1},
		{HTTPS, "[2002:909:909::1]", 443, POLICY_ALLOW, NEJ_REASON_RULE, 2},
		{HTTPS, "[2002:808:404::1]", 443, POLICY_DENY, NEJ_REASON_RULE, 0},
		{HTTPS, "[2002:a00:1::1]", 443, POLICY_DENY, NEJ_REASON_PRIVATE_ADDRESS, 2},
		{HTTPS, "[2002:7f00:1::1]", 443, POLICY_DENY, NEJ_REASON_LOOPBACK, -1},
		{HTTPS, "10.9.9.9", 443, POLICY_DENY, NEJ_REASON_PRIVATE_ADDRESS, 3},
		{TCP, "1.1.1.1", 53, POLICY_ALLOW, NEJ_REASON_RULE, 4},
		{TCP, "1.1.1.2", 53, POLICY_DENY, NEJ_REASON_ADDRESS_LITERAL, -1},
		/* every name is no address */
		{HTTPS, "7.7.7.7", 443, POLICY_DENY, NEJ_REASON_ADDRESS_LITERAL, -1},
	};

	(void)state;
	CHECK("rules:\n"
	      "  - deny: 8.8.4.4\n"
	      "  - allow: 8.8.0.0/16\n"
	      "  - allow: \"[2002::]/16\"\n"
	      "  - allow: 10.0.0.0/8\n"
	      "  - allow: tcp://1.1.1.1:53\n"
	      "  - allow: \"*\"\n",
		rows);
}

static void ports_are_the_exact_set(void **state)
{
	static const struct policy_port want[] = {
		{6, 22, 22, true},
		{6, 80, 80, false},
		{6, 443, 443, false},
		{6, 5432, 5432, true},
		{6, 8000, 8009, false},
		{6, 8010, 8010, true},
		{6, 8011, 8099, false},
		{17, 123, 123, false},
	};
	struct policy *p =
		policy_of("rules:\n"
			  "  - deny: x.example:9999\n"
			  "  - allow: [web.example, db.example:5432, 'tcp://g.example:22']\n"
			  "  - allow: ['https://r.example:8000-8099', 'e.example:8010']\n"
			  "  - {allow: udp://t.example:123, transport: kernel}\n");
	const struct policy_port *ports;

	(void)state;
	assert_int_equal(policy_ports(p, &ports), sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(ports[i].proto, want[i].proto);
		assert_int_equal(ports[i].first, want[i].first);
		assert_int_equal(ports[i].last, want[i].last);
		assert_int_equal(ports[i].is_eager, want[i].is_eager);
	}
	assert_false(policy_opens_any_port(p));
	policy_free(p);
}

static void open_policies_cover_every_port(void **state)
{
	struct policy *p = policy_of("rules:\n  - allow: tcp://a.example:*\n");
	const struct policy_port *ports;

	(void)state;
	assert_true(policy_opens_any_port(p));
	assert_int_equal(policy_ports(p, &ports), 1);
	assert_int_equal(ports[0].first, 1);
	assert_int_equal(ports[0].last, 65535);
	policy_free(p);
	p = policy_of("default: allow\n");
	assert_true(policy_opens_any_port(p));
	assert_int_equal(policy_ports(p, &ports), 5);
	assert_int_equal(ports[1].first, 80);
	assert_false(ports[1].is_eager);
	assert_int_equal(ports[3].first, 443);
	assert_false(ports[3].is_eager);
	assert_true(ports[4].is_eager);
	policy_free(p);
}

static void kernel_ranges_are_told(void **state)
{
	struct policy *p = policy_of(
		"rules:\n"
		"  - {allow: [192.0.2.0/24, 'tcp://198.51.100.1:5000-5001'], transport: kernel}\n"
		"  - {allow: 'udp://192.0.2.1:123', transport: kernel}\n");
	const struct policy_range *ranges;

	(void)state;
	assert_int_equal(policy_kernel_ranges(p, &ranges), 4);
	assert_int_equal(ranges[0].first, 443);
	assert_int_equal(ranges[1].first, 80);
	assert_int_equal(ranges[1].prefix.bits, 120);
	assert_int_equal(ranges[2].last, 5001);
	assert_int_equal(ranges[3].proto, 17);
	assert_int_equal(ranges[3].rule, 1);
	policy_free(p);
}

static void options_are_kept(void **state)
{
	struct policy *p =
		policy_of("dns: blackhole\ninbound: deny\nhost_ports: [5432, 80]\n"
			  "resolver: [192.0.2.53, '[2001:db8::1]:5353']\n"
			  "unix: [/run/a.sock, '@b']\n"
			  "audit: {allowed: false, on_failure: continue}\n"
			  "limits: {connections: 7}\n"
			  "rules:\n  - {allow: a.example, note: why, limits: {bytes_out: 5}}\n");
	struct policy_limits limits;
	struct policy_rule_info rule;
	struct endpoint resolvers[4];

	(void)state;
	assert_int_equal(policy_dns_mode(p), POLICY_DNS_BLACKHOLE);
	assert_true(policy_denies_inbound(p));
	assert_true(policy_has_host_port(p, 5432));
	assert_false(policy_has_host_port(p, 5433));
	assert_int_equal(policy_resolvers(p, resolvers, 4), 2);
	assert_int_equal(resolvers[0].port, 53);
	assert_int_equal(resolvers[1].port, 5353);
	assert_string_equal(policy_unix_path(p, 1), "@b");
	assert_null(policy_unix_path(p, 2));
	assert_false(policy_audits_allowed(p));
	assert_false(policy_fails_closed(p));
	assert_int_equal(policy_max_connections(p), 7);
	policy_limits(p, 0, &limits);
	assert_int_equal(limits.bytes_out, 5);
	assert_true(policy_rule(p, 0, &rule));
	assert_string_equal(rule.note, "why");
	assert_string_equal(rule.text, "allow: a.example, limits: {bytes_out: 5}");
	assert_false(policy_rule(p, POLICY_NO_RULE, &rule));
	policy_free(p);
}

static void defaults_are_the_strict_ones(void **state)
{
	struct policy *p = policy_of("version: 1\n");

	(void)state;
	assert_int_equal(policy_dns_mode(p), POLICY_DNS_SYNTHETIC);
	assert_false(policy_is_default_allow(p));
	assert_false(policy_has_rules(p));
	assert_true(policy_audits_allowed(p));
	assert_true(policy_fails_closed(p));
	assert_int_equal(policy_max_connections(p), 0);
	assert_null(policy_unix_path(p, 0));
	/* sha256sum of the ten letters and the line's end */
	assert_string_equal(policy_sha256(p),
		"09bfcc6a14b83e2192b8673677725c84883ee9cd0c70e45c9ec09daa8f2b2847");
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_protocol_is_settled_only_when_all_agree),
		cmocka_unit_test(passed_conditions_ask_for_the_url),
		cmocka_unit_test(bare_denial_shuts_every_port),
		cmocka_unit_test(resolvers_over_https_are_shut_in_denylist_mode),
		cmocka_unit_test(names_resolve_iff_something_is_reachable),
		cmocka_unit_test(server_may_speak_first_where_raw_tcp_is_allowed),
		cmocka_unit_test(kernel_rules_know_ports_not_schemes),
		cmocka_unit_test(secrets_and_inspect_open_tls),
		cmocka_unit_test(secrets_are_found_by_host),
		cmocka_unit_test(only_policies_that_look_inside_inspect),
		cmocka_unit_test(paths_are_decided_by_the_stricter_reading),
		cmocka_unit_test(resolved_addresses_are_checked),
		cmocka_unit_test(literals_need_a_rule_of_their_range),
		cmocka_unit_test(ports_are_the_exact_set),
		cmocka_unit_test(open_policies_cover_every_port),
		cmocka_unit_test(kernel_ranges_are_told),
		cmocka_unit_test(options_are_kept),
		cmocka_unit_test(defaults_are_the_strict_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
