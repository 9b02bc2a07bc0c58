/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of hosts: both forms, odd lines, errors with their line, and many names at once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../user/base/file.h"
#include "policies.h"

static char dir[] = "/tmp/nej-list-XXXXXX";

static void put(const char *name, const void *data, size_t len)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(file_replace(path, data, len, 0600), 0);
}

static int load(const char *text, struct err_list *errs, struct policy **ret)
{
	err_init(errs, "policy.yaml");
	*ret = NULL;
	return policy_load_text(text, strlen(text), dir, errs, ret);
}

static struct policy *load_list(const char *list)
{
	struct err_list errs;
	struct policy *p;

	put("l.txt", list, strlen(list));
	if (load("rules:\n  - allow: {list: l.txt}\n", &errs, &p) < 0)
		err_print(&errs, stderr);
	assert_non_null(p);
	return p;
}

static bool is_allowed(const struct policy *p, const char *name)
{
	return ask_connection(p, POLICY_SCHEME_HTTPS, name, 443).verdict == POLICY_ALLOW;
}

static void plain_names_mean_all_below(void **state)
{
	struct policy *p = load_list("\xef\xbb\xbf# hosts\n"
				     "a.example\r\n"
				     "  B.Example.  # why\n"
				     "\n\t\n"
				     ".c.example\n"
				     "b\xc3\xbc"
				     "cher.example\n"
				     "192.0.2.7\n"
				     "last.example");

	(void)state;
	assert_true(is_allowed(p, "a.example"));
	assert_true(is_allowed(p, "x.y.a.example"));
	assert_false(is_allowed(p, "xa.example"));
	assert_true(is_allowed(p, "b.example"));
	assert_true(is_allowed(p, "c.example"));
	assert_true(is_allowed(p, "xn--bcher-kva.example"));
	assert_true(is_allowed(p, "last.example"));
	assert_false(is_allowed(p, "example"));
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "192.0.2.7", 443).reason,
		NEJ_REASON_PRIVATE_ADDRESS);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "192.0.2.8", 443).reason,
		NEJ_REASON_ADDRESS_LITERAL);
	policy_free(p);
}

static void hosts_files_name_their_names(void **state)
{
	struct policy *p = load_list("127.0.0.1 localhost localhost.localdomain\n"
				     "::1\tlocalhost ip6-localhost # us\n"
				     "fe80::1%lo0 localhost\n"
				     "0.0.0.0 0.0.0.0\n"
				     "0.0.0.0 ads.example track.example\n"
				     "0.0.0.0\tmore.example\n");

	(void)state;
	assert_true(is_allowed(p, "ads.example"));
	assert_true(is_allowed(p, "x.track.example"));
	assert_true(is_allowed(p, "more.example"));
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "localhost", 443).reason,
		NEJ_REASON_LOOPBACK);
	policy_free(p);
}

static void bad_lines_are_errors_with_their_line(void **state)
{
	static const char *const lines[] = {"a..b", "*.a.example", "||ads.example^",
		"http://a.example/", "a.example b.example", "a.example:443", "10.0.0.0/8",
		"0.0.0.0 a..b", "\xff\xfe.example"};
	struct err_list errs;
	struct policy *p;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), "good.example\n%s\n", lines[i]);
		put("bad.txt", text, strlen(text));
		assert_int_equal(load("version: 1\nrules:\n  - deny: {list: bad.txt}\n", &errs, &p),
			-EINVAL);
		assert_null(p);
		assert_int_equal(errs.n_errors, 1);
		assert_int_equal(errs.items[0].line, 3);
		assert_non_null(strstr(errs.items[0].what, "bad.txt:2: "));
	}
}

static void nul_bytes_are_no_way_to_cut_a_name(void **state)
{
	static const char text[] = "evil.test\0.pkg.test\n";
	struct err_list errs;
	struct policy *p;

	(void)state;
	put("nul.txt", text, sizeof(text) - 1);
	assert_int_equal(load("rules:\n  - allow: {list: nul.txt}\n", &errs, &p), -EINVAL);
}

static void order_of_rules_holds_for_lists(void **state)
{
	struct err_list errs;
	struct policy *p;

	(void)state;
	put("bad.txt", "m.example\na.m.example\nm.example\n", 32);
	put("good.txt", "x.m.example\nfree.example\n", 25);
	assert_int_equal(load("default: allow\nrules:\n"
			      "  - allow: {list: good.txt}\n"
			      "  - deny: [{list: bad.txt}, free.example, other.example]\n",
				 &errs, &p),
		0);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "x.m.example", 443).rule, 0);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "a.m.example", 443).rule, 1);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_TCP, "a.m.example", 22).rule, 1);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "free.example", 443).rule, 0);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_TCP, "free.example", 22).rule, 1);
	assert_int_equal(
		ask_connection(p, POLICY_SCHEME_HTTPS, "y.example", 443).verdict, POLICY_ALLOW);
	policy_free(p);
}

static void kernel_lists_open_both_ports(void **state)
{
	struct err_list errs;
	struct policy *p;

	(void)state;
	put("k.txt", "k.example\n", 10);
	assert_int_equal(
		load("rules:\n  - {allow: {list: k.txt}, transport: kernel}\n", &errs, &p), 0);
	assert_int_equal(
		ask_connection(p, POLICY_SCHEME_ANY, "k.example", 443).verdict, POLICY_ALLOW);
	assert_int_equal(
		ask_connection(p, POLICY_SCHEME_ANY, "a.k.example", 80).verdict, POLICY_ALLOW);
	assert_int_equal(
		ask_connection(p, POLICY_SCHEME_ANY, "k.example", 81).verdict, POLICY_DENY);
	policy_free(p);
}

static void many_lists_are_refused(void **state)
{
	struct err_list errs;
	struct policy *p;
	char text[8192] = "rules:\n";
	size_t n = strlen(text);

	(void)state;
	put("l.txt", "a.example\n", 10);
	for (int i = 0; i < 65; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "  - deny: {list: l.txt}\n");
	assert_int_equal(load(text, &errs, &p), -EINVAL);
	n = strlen("rules:\n") + 64 * strlen("  - deny: {list: l.txt}\n");
	text[n] = 0;
	assert_int_equal(load(text, &errs, &p), 0);
	assert_int_equal(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443).rule, 0);
	policy_free(p);
}

static void top_level_names_are_warned_about(void **state)
{
	struct err_list errs;
	struct policy *p;

	(void)state;
	put("top.txt", "a.example\ncom\n", 14);
	assert_int_equal(load("rules:\n  - allow: {list: top.txt}\n", &errs, &p), 0);
	assert_int_equal(errs.n_warnings, 1);
	assert_non_null(strstr(errs.items[0].what, "top.txt:2: `com`"));
	policy_free(p);
}

/* Every name is found, with what is below it, and nothing else. */
static void a_hundred_thousand_names_are_told_apart(void **state)
{
	enum { N = 100000 };
	char *text = malloc(N * 24), name[64];
	struct err_list errs;
	struct policy *p;
	size_t len = 0, rules, hosts;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < N; i++)
		len += (size_t)sprintf(text + len, "h%x.z%d.test\n", i * 7, i % 10);
	put("big.txt", text, len);
	free(text);
	assert_int_equal(load("rules:\n  - allow: {list: big.txt}\n", &errs, &p), 0);
	policy_count(p, &rules, &hosts);
	assert_int_equal(hosts, N);
	for (int i = 0; i < N; i += 3) {
		snprintf(name, sizeof(name), "h%x.z%d.test", i * 7, i % 10);
		assert_true(is_allowed(p, name));
		snprintf(name, sizeof(name), "www.h%x.z%d.test", i * 7, i % 10);
		assert_true(is_allowed(p, name));
		snprintf(name, sizeof(name), "h%x.z%d.test", i * 7 + 1, i % 10);
		assert_false(is_allowed(p, name));
	}
	policy_free(p);
}

static void the_digest_covers_lists(void **state)
{
	struct policy *p = load_list("a.example\n");
	char first[65];

	(void)state;
	snprintf(first, sizeof(first), "%s", policy_sha256(p));
	policy_free(p);
	p = load_list("b.example\n");
	assert_string_not_equal(first, policy_sha256(p));
	policy_free(p);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int take_dir(void **state)
{
	static const char *const files[] = {
		"l.txt", "bad.txt", "good.txt", "nul.txt", "k.txt", "top.txt", "big.txt"};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names_mean_all_below),
		cmocka_unit_test(hosts_files_name_their_names),
		cmocka_unit_test(bad_lines_are_errors_with_their_line),
		cmocka_unit_test(nul_bytes_are_no_way_to_cut_a_name),
		cmocka_unit_test(order_of_rules_holds_for_lists),
		cmocka_unit_test(kernel_lists_open_both_ports),
		cmocka_unit_test(many_lists_are_refused),
		cmocka_unit_test(top_level_names_are_warned_about),
		cmocka_unit_test(a_hundred_thousand_names_are_told_apart),
		cmocka_unit_test(the_digest_covers_lists),
	};

	return cmocka_run_group_tests(tests, make_dir, take_dir);
}
