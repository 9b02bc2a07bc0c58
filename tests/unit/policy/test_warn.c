/* SPDX-License-Identifier: GPL-2.0-only */
/* What check warns about, and what it leaves in peace. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "policies.h"

static const struct row {
	const char *text;
	unsigned int line;
	const char *mention; /* NULL: no warning at all */
} rows[] = {
	{"rules:\n  - allow: [a.example, .pypi.org, '*.b.example']\n", 0, NULL},
	{"rules:\n  - allow: .github.io\n", 2, "register"},
	{"rules:\n  - allow: '*.co.uk'\n", 2, "public suffix"},
	{"rules:\n  - allow: .com\n", 2, "public suffix"},
	{"rules:\n  - allow: github.io\n", 0, NULL},
	{"rules:\n  - deny: .github.io\n", 0, NULL},
	{"rules:\n  - allow: '*'\n", 2, "every name"},
	{"rules:\n  - allow: http://a.example\n", 2, "in clear"},
	{"rules:\n  - {allow: pypi.org, transport: kernel}\n", 2, "shares its addresses"},
	{"rules:\n  - {allow: me.github.io, transport: kernel}\n", 2, "shares its addresses"},
	{"rules:\n  - {allow: db.corp.example, transport: kernel}\n", 0, NULL},
	{"rules:\n  - allow: GET https://a.example\n", 0, NULL},
	{"rules:\n  - {allow: a.example, inspect: true}\n", 0, NULL},
	{"rules:\n  - allow: 127.0.0.0/8\n", 2, "host_ports"},
	{"rules:\n  - allow: localhost:5432\n", 2, "host_ports"},
	{"rules:\n  - allow: 169.254.169.254\n", 2, "always refused"},
	{"rules:\n  - allow: 10.0.0.0/8\n", 2, "private"},
	{"private: [10.0.0.0/8]\nrules:\n  - allow: 10.0.0.0/8\n", 0, NULL},
	{"limits: {bytes_out: 5}\n", 0, NULL},
	{"limits: {connections: 5}\n", 0, NULL},
	/* secrets */
	{"secrets: {T: {env: T, for: [a.example]}}\n", 1, "goes nowhere"},
	{"rules:\n  - allow: b.a.example\nsecrets: {T: {env: T, for: [.a.example]}}\n", 0, NULL},
	{"rules:\n  - {allow: .a.example, transport: kernel}\n"
	 "secrets: {T: {env: T, for: [b.a.example]}}\n",
		3, "without the proxy"},
	{"rules:\n  - allow: http://a.example\nsecrets: {T: {env: T, for: [.a.example]}}\n", 3,
		"in clear: only"},
	{"rules:\n  - {allow: 'tcp://b.example:22', transport: kernel}\n  - allow: a.example\n"
	 "secrets: {T: {env: T, for: [a.example]}}\n",
		0, NULL},
	{"rules:\n  - allow: .github.io\nsecrets: {T: {env: T, for: [.github.io]}}\n", 3,
		"register"},
	{"rules:\n  - allow: .amazonaws.com\n"
	 "secrets: {T: {env: T, for: [.amazonaws.com], sign: aws-v4}}\n",
		3, "gives out credentials"},
	{"rules:\n  - allow: .s3.us-east-1.amazonaws.com\n"
	 "secrets: {T: {env: T, for: [.s3.us-east-1.amazonaws.com], sign: aws-v4}}\n",
		0, NULL},
	/* shadows */
	{"rules:\n  - deny: '*'\n  - allow: a.example\n", 3, "shadows"},
	{"rules:\n  - allow: .a.example\n  - deny: b.a.example:443\n", 0, NULL},
	{"rules:\n  - allow: .a.example\n  - deny: https://b.a.example\n", 3, "line 2"},
	{"rules:\n  - allow: .a.example\n  - allow: '*.a.example'\n", 3, "line 2"},
	{"rules:\n  - allow: '*.a.example'\n  - allow: .a.example\n", 0, NULL},
	{"rules:\n  - allow: a.example\n  - allow: .a.example\n", 0, NULL},
	{"rules:\n  - allow: a.example\n  - allow: a.example\n", 3, "line 2"},
	{"rules:\n  - allow: a.example\n  - allow: tcp://a.example:22\n", 0, NULL},
	{"rules:\n  - deny: 8.8.0.0/16\n  - allow: 8.8.8.8\n", 3, "line 2"},
	{"rules:\n  - allow: 8.8.8.8\n  - allow: 8.8.0.0/16\n", 0, NULL},
	{"rules:\n  - allow: a.example\n  - allow: GET https://a.example\n", 3, "line 2"},
	{"rules:\n  - deny: '*'\n  - allow: 8.8.8.8\n", 0, NULL},
};

static bool is_warned(const struct err_list *errs, const struct row *row)
{
	if (!row->mention)
		return !errs->n_warnings;
	for (size_t i = 0; i < errs->n_items; i++)
		if (errs->items[i].is_warning && errs->items[i].line == row->line &&
			(strstr(errs->items[i].what, row->mention) ||
				strstr(errs->items[i].mend, row->mention)))
			return true;
	return false;
}

static void warnings_name_what_looks_wrong(void **state)
{
	bool is_good = true;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy *p = NULL;
		struct err_list errs;

		err_init(&errs, "policy.yaml");
		if (policy_load_text(rows[i].text, strlen(rows[i].text), NULL, &errs, &p) < 0 ||
			!is_warned(&errs, &rows[i])) {
			print_error("row %zu: %s", i, rows[i].text);
			err_print(&errs, stderr);
			is_good = false;
		}
		policy_free(p);
	}
	assert_true(is_good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warnings_name_what_looks_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
