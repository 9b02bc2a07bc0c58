/* SPDX-License-Identifier: GPL-2.0-only */
/* Every error of a policy has its place and says what to write; nothing half-valid loads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "policies.h"

static const struct row {
	const char *text;
	unsigned int line, column; /* 0: any */
	const char *mention;       /* in what is wrong or how to mend it */
} rows[] = {
	/* the document */
	{"", 1, 0, "version: 1"},
	{"# nothing\n", 1, 0, "empty"},
	{"~\n", 1, 0, "empty"},
	{"- a\n", 1, 1, "a list"},
	{"word\n", 1, 1, "a single value"},
	{"rules: [a\n", 0, 0, "not YAML"},
	{"a: b: c\n", 0, 0, "not YAML"},
	{"version: 1\n---\nversion: 1\n", 0, 0, "second"},
	{"rules: &x []\n", 1, 0, "anchors"},
	{"version: &x 1\nrules: *x\n", 1, 0, "anchors"},
	{"rules:\n  - allow: *.a.example\n", 2, 13, "in quotes"},
	{"rules:\n  - allow: [a.example, *]\n", 2, 0, ""},
	{"version: !!int 1\n", 1, 0, "tags"},
	{"? [a]\n: b\n", 1, 0, "not a word"},
	{"version: 1\n# \xff\n", 2, 3, "UTF-8"},
	{"rules: [\xed\xa0\x80]\n", 1, 9, "UTF-8"},
	{"version: 1\x01\n", 1, 11, "control"},
	{"\xef\xbb\xbf%x\n", 1, 1, "directives"},
	{"%YAML 1.1\n---\nversion: 1\n", 1, 1, "directives"},
	{"version: 1\nrules:\n%&\xb1\xb1\n", 3, 1, "directives"},
	{"rules:\n  - allow: \"a\\0b\"\n", 2, 0, "NUL"},
	/* keys */
	{"version: 1\nrule: []\n", 2, 1, "rules"},
	{"hostports: []\n", 1, 1, "host_ports"},
	{"zebra: 1\n", 1, 1, "the keys are"},
	{"version: 1\ndns: resolve\nversion: 1\n", 3, 1, "line 1"},
	/* values */
	{"version: 2\n", 1, 10, "version: 1"},
	{"version: '1'\n", 1, 10, "version"},
	{"version:\n", 1, 1, "version"},
	{"default: maybe\n", 1, 10, "`deny` or `allow`"},
	{"default: [deny]\n", 1, 10, "one word"},
	{"rules:\n", 1, 1, "`[]`"},
	{"rules: null\n", 1, 8, "`[]`"},
	{"rules: a.example\n", 1, 8, "a list"},
	{"rules: {allow: a.example}\n", 1, 8, "a map"},
	{"private: sometimes\n", 1, 10, "deny"},
	{"private: [10.0.0.1/8]\n", 1, 11, "host bits"},
	{"private: [[]]\n", 1, 11, "a single value"},
	{"host_ports: 80\n", 1, 13, "a list"},
	{"host_ports: [0]\n", 1, 14, "65535"},
	{"host_ports: [65536]\n", 1, 14, "65535"},
	{"host_ports: ['80']\n", 1, 14, "80"},
	{"dns: yes\n", 1, 6, "synthetic"},
	{"resolver: 1.1.1.1\n", 1, 11, "a list"},
	{"resolver: []\n", 1, 11, "empty"},
	{"resolver: [dns.example]\n", 1, 12, "address"},
	{"resolver: [1.1.1.1:0]\n", 1, 12, "address"},
	{"inbound: allow\n", 1, 10, "loopback"},
	{"unix: all\n", 1, 7, "private"},
	{"unix: [run/x]\n", 1, 8, "/"},
	{"audit: true\n", 1, 8, "audit"},
	{"audit: {allowed: yes}\n", 1, 18, "true or false"},
	{"audit: {on_failure: stop}\n", 1, 21, "continue"},
	{"audit: {alowed: true}\n", 1, 9, "allowed"},
	{"limits: {connections: 0}\n", 1, 23, "whole number"},
	{"limits: {connections: -1}\n", 1, 23, "whole number"},
	{"limits: {bytes: 1}\n", 1, 10, "bytes_in"},
	/* secrets */
	{"secrets: []\n", 1, 10, "a map"},
	{"secrets:\n  T: { env: T }\n", 2, 3, "for"},
	{"secrets:\n  T: { for: [a.example] }\n", 2, 3, "env"},
	{"secrets:\n  T: { env: T, file: /t, for: [a.example] }\n", 2, 3, "more than one"},
	{"secrets:\n  T: { env: T, command: [/t], for: [a.example] }\n", 2, 3, "more than one"},
	{"secrets:\n  T: { command: [], for: [a.example] }\n", 2, 17, "empty"},
	{"secrets:\n  T: { command: /bin/pass, for: [a.example] }\n", 2, 17, "a list"},
	{"secrets:\n  T: { command: [pass, t], for: [a.example] }\n", 2, 18, "PATH"},
	{"secrets:\n  T: { command: [/p, [t]], for: [a.example] }\n", 2, 22, "a word"},
	{"secrets:\n  T: { env: T, for: [a.example], sign: v4 }\n", 2, 0, "aws-v4"},
	{"secrets:\n  T: { env: T, for: [a.example], key_id: K }\n", 2, 42, "sign"},
	{"secrets:\n  T: { env: T, for: [a.example], sign: aws-v4, key_id: '' }\n", 2, 0, "empty"},
	{"secrets:\n  T: { env: T, for: [a.example], sign: aws-v4, key_id: A-B }\n", 2, 0,
		"name of a variable"},
	{"secrets:\n  T: { env: T, for: a.example }\n", 2, 21, "a list"},
	{"secrets:\n  T: { env: T, for: [] }\n", 2, 21, "empty"},
	{"secrets:\n  T: { env: T, for: ['*'] }\n", 2, 22, "name the hosts"},
	{"secrets:\n  T: { env: T, for: [10.0.0.1] }\n", 2, 22, "not a host name"},
	{"secrets:\n  T: { env: T, for: ['a.example:443'] }\n", 2, 22, "alone"},
	{"secrets:\n  T: { env: T, for: [a.example], in: [cookies] }\n", 2, 0, "headers"},
	{"secrets:\n  1T: { env: T, for: [a.example] }\n", 2, 3, "variable"},
	{"secrets:\n  T: { env: T, for: [a.example] }\n  T: { env: T, for: [a.example] }\n", 3, 3,
		"duplicate"},
	{"secrets:\n  T: { file: x, for: [a.example] }\n", 2, 0, "relative"},
	{"secrets:\n  T: word\n", 2, 6, "a map"},
	/* upstreams */
	{"upstream: { a: {} }\n", 1, 13, "url"},
	{"upstream: { a: { url: 'ftp://x' } }\n", 1, 0, "http://"},
	{"upstream: { a: { url: 'http://x/y' } }\n", 1, 0, "http://"},
	{"upstream: { a: { url: 'http://u@x' } }\n", 1, 0, "username"},
	{"upstream: { a: { url: 'http://u:secret@x' } }\n", 1, 0, "password: SECRET"},
	{"upstream: { a: { url: 'http://x', username: u } }\n", 1, 13, "alone"},
	{"upstream: { a: { url: 'http://x', password: p } }\n", 1, 13, "alone"},
	{"upstream: { a: { url: 'http://x', username: 'u:v', password: p } }\n", 1, 0, "colon"},
	{"upstream: { a: { url: 'http://x', username: u, password: \"p\\n\" } }\n", 1, 0,
		"control"},
	{"upstream: { a: { url: 'https://x', ca: /nowhere/ca.pem } }\n", 1, 0, "/nowhere/ca.pem"},
	{"upstream: { a: { url: 'https://x', ca: /etc/passwd } }\n", 1, 0, "no certificate"},
	{"upstream: { a: { url: 'http://x', connect: both } }\n", 1, 0, "address"},
	{"upstream: { a: { uri: 'http://x' } }\n", 1, 0, "url"},
	/* rules */
	{"rules:\n  - a.example\n", 2, 5, "allow: host"},
	{"rules:\n  - {}\n", 2, 5, "allow: host"},
	{"rules:\n  - note: x\n", 2, 5, "neither"},
	{"rules:\n  - allow: a.example\n    deny: b.example\n", 2, 5, "both"},
	{"rules:\n  - allow: []\n", 2, 12, "without a target"},
	{"rules:\n  - allow:\n", 2, 0, "nothing"},
	{"rules:\n  - allow: [[a.example]]\n", 2, 13, "a list"},
	{"rules:\n  - allow: a.example\n    allow: b.example\n", 3, 5, "duplicate"},
	{"rules:\n  - alow: a.example\n", 2, 5, "allow"},
	{"rules:\n  - {deny: a.example, transport: kernel}\n", 2, 0, "transport"},
	{"rules:\n  - {deny: a.example, inspect: true}\n", 2, 0, "inspect"},
	{"rules:\n  - {allow: a.example, transport: fast}\n", 2, 0, "kernel"},
	{"rules:\n  - {allow: a.example, inspect: 1}\n", 2, 0, "true or false"},
	{"rules:\n  - {allow: a.example, inspect: true, transport: kernel}\n", 2, 0, "inspect"},
	{"rules:\n  - {allow: a.example, via: p}\n", 2, 0, "upstream"},
	{"rules:\n  - {allow: a.example, transport: upstream}\n", 2, 0, "upstream"},
	{"upstream: { p: { url: 'http://p:1' } }\nrules:\n"
	 "  - {allow: a.example, transport: upstream, via: q}\n",
		3, 0, "names no upstream"},
	{"upstream: { p: { url: 'http://p:1' }, q: { url: 'http://q:1' } }\nrules:\n"
	 "  - {allow: a.example, transport: upstream}\n",
		3, 0, "via"},
	{"rules:\n  - {allow: GET a.example, transport: kernel}\n", 2, 0, "paths"},
	{"rules:\n  - deny: 10.0.0.5\n  - {allow: 10.0.0.0/8, transport: kernel}\n", 3, 0,
		"line 2"},
	{"rules:\n  - {allow: https://a.example, mcp: {}}\n", 2, 0, "tools: [name"},
	{"rules:\n  - {allow: https://a.example, mcp: [x]}\n", 2, 0, "a map"},
	{"rules:\n  - {allow: https://a.example, mcp: {tools: x}}\n", 2, 0, "a list"},
	{"rules:\n  - {allow: https://a.example, mcp: {tools: ['']}}\n", 2, 0, "empty"},
	{"rules:\n  - {allow: https://a.example, mcp: {tools: [[x]]}}\n", 2, 0, "single value"},
	{"rules:\n  - {allow: https://a.example, mcp: {tool: [x]}}\n", 2, 0, "tools"},
	{"rules:\n  - {deny: https://a.example, mcp: {tools: [x]}}\n", 2, 0, "mcp"},
	{"rules:\n  - {allow: 'a.example:8443', mcp: {tools: [x]}}\n", 2, 0, "https://"},
	{"rules:\n  - {allow: [a.example, 'tcp://a.example:7'], mcp: {tools: [x]}}\n", 2, 0,
		"https://"},
	{"rules:\n  - {allow: a.example, mcp: {tools: [x]}, transport: kernel}\n", 2, 0,
		"the proxy"},
	{"rules:\n  - {allow: a.example, mcp: {tools: [x]}, inspect: false}\n", 2, 0,
		"inspect: false"},
	{"rules:\n  - {deny: a.example, hosted_tools: deny}\n", 2, 0, "hosted_tools"},
	{"rules:\n  - {allow: a.example, hosted_tools: true}\n", 2, 0, "`deny`"},
	{"rules:\n  - {allow: '10.0.0.1:99', hosted_tools: deny}\n", 2, 0, "https://"},
	{"rules:\n  - {allow: {list: none.txt}}\n", 2, 0, "none.txt"},
	{"rules:\n  - {allow: {list: /}}\n", 2, 0, "directory"},
	{"rules:\n  - {allow: {file: x}}\n", 2, 0, "list"},
	/* targets */
	{"rules:\n  - allow: ''\n", 2, 12, "empty"},
	{"rules:\n  - allow: a..b\n", 2, 12, "single dots"},
	{"rules:\n  - allow: \".\"\n", 2, 0, "not a host name"},
	{"rules:\n  - allow: \"*.\"\n", 2, 0, "*"},
	{"rules:\n  - allow: www*.com\n", 2, 12, "`*`"},
	{"rules:\n  - allow: a.*.test\n", 2, 12, "`*`"},
	{"rules:\n  - allow: \"**.x.test\"\n", 2, 0, "`*`"},
	{"rules:\n  - allow: \"*cdn.test\"\n", 2, 0, "`*`"},
	{"rules:\n  - allow: \"a.example \"\n", 2, 0, "method"},
	{"rules:\n  - allow: user@a.example\n", 2, 12, "secrets"},
	{"rules:\n  - allow: ftp://a.example\n", 2, 12, "schemes"},
	{"rules:\n  - allow: https://\n", 2, 0, "missing"},
	{"rules:\n  - allow: a.example:0\n", 2, 22, "`0`"},
	{"rules:\n  - allow: a.example:70000\n", 2, 22, "70000"},
	{"rules:\n  - allow: a.example:443x\n", 2, 22, "443x"},
	{"rules:\n  - allow: a.example:9-8\n", 2, 22, "smaller"},
	{"rules:\n  - allow: \"a.example:\"\n", 2, 0, "port"},
	{"rules:\n  - allow: tcp://a.example\n", 2, 12, "port"},
	{"rules:\n  - allow: tcp://a.example:80/x\n", 2, 0, "path"},
	{"rules:\n  - allow: GET tcp://a.example:80\n", 2, 12, "method"},
	{"rules:\n  - allow: udp://10.0.0.1:123\n", 2, 12, "kernel"},
	{"rules:\n  - allow: get https://a.example/\n", 2, 12, "capitals"},
	{"rules:\n  - allow: GET, https://a.example/\n", 2, 0, "comma"},
	{"rules:\n  - allow: a.example/x?y\n", 2, 23, "query"},
	{"rules:\n  - allow: a.example/x/../y\n", 2, 0, "resolves"},
	{"rules:\n  - allow: a.example/%zz\n", 2, 0, "escapes"},
	{"rules:\n  - allow: 10.0.0.1/8\n", 2, 0, "must be zero"},
	{"rules:\n  - allow: 10.0.0.0/33\n", 2, 0, "10.0.0.0/33"},
	{"rules:\n  - allow: .10.0.0.1\n", 2, 0, "not a host name"},
	{"rules:\n  - allow: .1-2-3-4.sslip.io\n", 2, 0, "addresses"},
	{"rules:\n  - allow: \"[a.example]\"\n", 2, 0, "not a host name"},
};

static bool is_reported(const struct err_list *errs, const struct row *row)
{
	for (size_t i = 0; i < errs->n_items; i++) {
		const struct err *e = &errs->items[i];

		if (!e->is_warning && (!row->line || e->line == row->line) &&
			(!row->column || e->column == row->column) &&
			(strstr(e->what, row->mention) || strstr(e->mend, row->mention)))
			return true;
	}
	return false;
}

static void errors_have_place_and_mend(void **state)
{
	struct err_list *errs = malloc(sizeof(*errs));
	bool is_good = true;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy *p = NULL;

		err_init(errs, "policy.yaml");
		if (policy_load_text(rows[i].text, strlen(rows[i].text), "/nonexistent", errs,
			    &p) == -EINVAL &&
			is_reported(errs, &rows[i]))
			continue;
		print_error("row %zu, want %u:%u `%s`:\n%s", i, rows[i].line, rows[i].column,
			rows[i].mention, rows[i].text);
		err_print(errs, stderr);
		policy_free(p);
		is_good = false;
	}
	free(errs);
	assert_true(is_good);
}

static const char *const good[] = {
	"version: 1\n",
	"{version: 1, default: allow, rules: [deny: .mirror.test]}",
	"rules: []\n",
	"rules: [] # only a remark\n",
	"\xef\xbb\xbfversion: 1\r\nrules:\r\n  - allow: a.example\r\n",
	"rules:\n  - allow: X.test\n",
	"rules:\n  - allow: \"*.com\"\n",
	"rules:\n  - allow: https://x.test\n",
	"rules:\n  - allow: x.test:443\n",
	"rules:\n  - allow: x.test/p\n",
	"rules:\n  - allow: b\xc3\xbc"
	"cher.example\n",
	"rules:\n  - allow: .b\xc3\xbc"
	"cher.example/x\n",
	"rules:\n  - allow: 10.0.0.5/32:8080\n",
	"rules:\n  - allow: \"[::ffff:10.0.0.0]/104\"\n",
	"rules:\n  - allow: https://10.0.0.1/x\n",
	"rules:\n  - allow: 127.1\n",
	"rules:\n  - allow: \"*:443\"\n",
	"rules:\n  - allow: a.example\n    note: |\n      why\n      not\n",
	"rules:\n  - {allow: [a.example, 'https://b.example:8443/mcp'], mcp: {tools: []}}\n",
	"rules:\n  - {allow: http://a.example/mcp, mcp: {tools: ['*', a/b.c]}, inspect: true}\n",
	"rules:\n  - {allow: a.example, hosted_tools: deny, mcp: {tools: [x]}}\n",
	"rules:\n  - {allow: 'a.example:99', hosted_tools: allow}\n",
	"unix: private\n",
	"private: []\n",
	"upstream: { p: { url: 'https://p.example:3128', username: u, password: p } }\n"
	"rules:\n  - {allow: a.example, transport: upstream}\n",
	"secrets: { T: { env: T, for: [.a.example, '*.b.example'], in: [headers, query, body] } "
	"}\n",
};

static void good_policies_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		policy_free(policy_of(good[i]));
}

static void errors_are_counted_beyond_the_shown(void **state)
{
	char text[16384] = "rules:\n";
	struct err_list errs;
	struct policy *p = NULL;
	size_t n = strlen(text);

	(void)state;
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "  - allow: a..b\n");
	err_init(&errs, "policy.yaml");
	assert_int_equal(policy_load_text(text, n, NULL, &errs, &p), -EINVAL);
	assert_int_equal(errs.n_errors, 100);
	assert_int_equal(errs.n_items, NEJ_MAX_ERRORS);
}

static void deep_nesting_ends(void **state)
{
	char text[4096];
	struct err_list errs;
	struct policy *p = NULL;

	(void)state;
	memset(text, '[', sizeof(text));
	err_init(&errs, "policy.yaml");
	assert_int_equal(policy_load_text(text, sizeof(text), NULL, &errs, &p), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_place_and_mend),
		cmocka_unit_test(good_policies_load),
		cmocka_unit_test(errors_are_counted_beyond_the_shown),
		cmocka_unit_test(deep_nesting_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
