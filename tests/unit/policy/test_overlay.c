/* SPDX-License-Identifier: GPL-2.0-only */
/* Grants over a policy: what they open, for how long, and what they cannot open. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "../../../user/base/clock.h"
#include "../../../user/policy/overlay.h"
#include "policies.h"

#define HOUR_NS 3600000000000ull
#define GRANT(id_) (NEJ_RULE_GRANT | (id_))

static struct policy_grant grant_of(uint32_t id, const char *target)
{
	return (struct policy_grant){
		.id = id, .expiry_ns = clock_boot_ns() + HOUR_NS, .target = target};
}

static void lay(struct policy *p, const struct policy_grant *grants, size_t n)
{
	struct policy *image;
	struct err_list errs;

	err_init(&errs, "grants");
	if (overlay_load(grants, n, &errs, &image) < 0) {
		err_print(&errs, stderr);
		fail_msg("not loaded: %s", grants[0].target);
	}
	policy_free(overlay_lay(p, image));
}

static struct policy *granted(const char *policy, const char *target)
{
	struct policy *p = policy_of(policy);
	struct policy_grant g = grant_of(3, target);

	lay(p, &g, 1);
	return p;
}

#define assert_verdict(d_, verdict_, rule_)                                                        \
	do {                                                                                       \
		struct policy_decision d = d_;                                                     \
		assert_int_equal(d.verdict, verdict_);                                             \
		assert_int_equal(d.rule, rule_);                                                   \
	} while (0)
#define assert_denied(d_) assert_int_equal((d_).verdict, POLICY_DENY)

static void grant_opens_what_it_names(void **state)
{
	struct policy *p = granted("{version: 1, rules: [deny: .b.example, allow: a.example]}",
		"tcp://git.b.example:22");

	(void)state;
	assert_verdict(
		ask_connection(p, POLICY_SCHEME_TCP, "git.b.example", 22), POLICY_ALLOW, GRANT(3));
	assert_verdict(ask_dns(p, "git.b.example"), POLICY_ALLOW, GRANT(3));
	assert_denied(ask_connection(p, POLICY_SCHEME_TCP, "git.b.example", 23));
	assert_denied(ask_connection(p, POLICY_SCHEME_TCP, "x.git.b.example", 22));
	assert_denied(ask_connection(p, POLICY_SCHEME_TCP, "b.example", 22));
	assert_denied(ask_dns(p, "b.example"));
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443), POLICY_ALLOW, 1);
	policy_free(p);
}

static void grant_of_a_url_opens_that_request(void **state)
{
	struct policy *p = granted("{version: 1, rules: [allow: GET https://a.example/open]}",
		"POST https://a.example/x/*");

	(void)state;
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443), POLICY_NEED_URL,
		GRANT(3));
	assert_verdict(ask_url(p, POLICY_SCHEME_HTTPS, "a.example", 443, "POST", "/x/1"),
		POLICY_ALLOW, GRANT(3));
	assert_verdict(
		ask_url(p, POLICY_SCHEME_HTTPS, "a.example", 443, "GET", "/open"), POLICY_ALLOW, 0);
	assert_denied(ask_url(p, POLICY_SCHEME_HTTPS, "a.example", 443, "GET", "/x/1"));
	assert_denied(ask_url(p, POLICY_SCHEME_HTTPS, "a.example", 443, "POST", "/x/../y"));
	assert_denied(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 8443));
	policy_free(p);
}

static void host_allowed_whole_is_not_looked_into(void **state)
{
	struct policy *p =
		granted("{version: 1, rules: [allow: a.example]}", "POST https://a.example/x");

	(void)state;
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443), POLICY_ALLOW, 0);
	assert_false(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443).is_inspect);
	policy_free(p);
	p = granted("{version: 1, default: allow, rules: [deny: a.example]}",
		"POST https://a.example/x");
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443), POLICY_NEED_URL,
		GRANT(3));
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "b.example", 443), POLICY_ALLOW,
		POLICY_NO_RULE);
	policy_free(p);
}

static void grant_ends_by_itself(void **state)
{
	struct policy *p = policy_of("{version: 1, rules: [allow: a.example]}");
	struct policy_grant g = grant_of(3, "b.example");

	(void)state;
	g.expiry_ns = clock_boot_ns() + 50000000;
	lay(p, &g, 1);
	assert_verdict(ask_dns(p, "b.example"), POLICY_ALLOW, GRANT(3));
	usleep(60000);
	assert_denied(ask_dns(p, "b.example"));
	assert_denied(ask_connection(p, POLICY_SCHEME_HTTPS, "b.example", 443));
	assert_verdict(ask_dns(p, "a.example"), POLICY_ALLOW, 0);
	policy_free(p);
}

static void newer_grant_decides_and_the_older_goes_on(void **state)
{
	struct policy *p = policy_of("{version: 1}");
	struct policy_grant both[] = {grant_of(9, "git.b.example"), grant_of(4, ".b.example")};

	(void)state;
	both[0].expiry_ns = clock_boot_ns() + 50000000;
	lay(p, both, 2);
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "git.b.example", 443), POLICY_ALLOW,
		GRANT(9));
	assert_verdict(ask_dns(p, "x.b.example"), POLICY_ALLOW, GRANT(4));
	usleep(60000);
	assert_verdict(ask_connection(p, POLICY_SCHEME_HTTPS, "git.b.example", 443), POLICY_ALLOW,
		GRANT(4));
	policy_free(overlay_lay(p, NULL));
	assert_denied(ask_dns(p, "git.b.example"));
	policy_free(p);
}

static void rule_of_a_grant_is_its_own(void **state)
{
	struct policy *p = policy_of("{version: 1, rules: [allow: a.example]}");
	struct policy_grant g = grant_of(3, "b.example");
	struct policy_rule_info info;
	struct policy_limits limits;
	struct policy_upstream upstream;

	(void)state;
	g.note = "for the release";
	lay(p, &g, 1);
	assert_true(policy_rule(p, GRANT(3), &info));
	assert_string_equal(info.text, "grant 3: b.example");
	assert_string_equal(info.note, "for the release");
	assert_int_equal(info.line, 0);
	assert_int_equal(policy_rule_expiry(p, GRANT(3)), g.expiry_ns);
	assert_false(policy_rule(p, GRANT(4), &info));
	assert_int_equal(policy_rule_expiry(p, 0), 0);
	assert_int_equal(policy_rule_expiry(p, POLICY_NO_RULE), 0);
	assert_false(policy_rule(p, POLICY_NO_RULE, &info));
	policy_limits(p, GRANT(3), &limits);
	assert_int_equal(limits.connections, 0);
	assert_false(policy_upstream(p, GRANT(3), &upstream));
	assert_false(policy_rule_has_mcp(p, GRANT(3)));
	policy_free(p);
}

static void secrets_are_looked_for_all_the_same(void **state)
{
	struct policy *p = granted("{version: 1, rules: [allow: GET https://a.example/x], "
				   "secrets: {T: {env: T, for: [a.example]}}}",
		"a.example");

	(void)state;
	assert_verdict(
		ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443), POLICY_ALLOW, GRANT(3));
	assert_true(ask_connection(p, POLICY_SCHEME_HTTPS, "a.example", 443).is_inspect);
	policy_free(p);
}

static void kernel_grant_is_a_range_of_its_own(void **state)
{
	struct policy *p = policy_of("{version: 1}");
	struct policy_grant g = grant_of(3, "udp://93.184.216.34:123");
	const struct policy_range *ranges;

	(void)state;
	g.is_kernel = true;
	lay(p, &g, 1);
	assert_int_equal(policy_kernel_ranges(p, &ranges), 0);
	assert_int_equal(policy_kernel_ranges(overlay_of(p), &ranges), 1);
	assert_int_equal(ranges[0].first, 123);
	assert_true(policy_has_kernel_transport(overlay_of(p)));
	policy_free(p);
}

/* --- what is refused */

static void nothing_but_one_target_is_read(void **state)
{
	static const char *const bad[] = {
		"",
		"a.example\", transport: kernel}, {allow: \"*",
		"a.example\\",
		"a.example\nb.example",
		"a.example\x1b[2J",
		"{list: /etc/passwd}",
		"[a.example, b.example]",
		"get https://a.example/",
		"a b",
		"tcp://a.example",
		"udp://a.example:53",
		"https://user@a.example/",
		"a.*.example",
		"http://a.example:99999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct policy_grant both[] = {grant_of(1, "a.example"), grant_of(2, bad[i])};
		struct policy *image = NULL;
		struct err_list errs;

		err_init(&errs, "grants");
		assert_int_equal(overlay_load(both, 2, &errs, &image), -EINVAL);
		assert_null(image);
		if (errs.items[0].line != 2)
			fail_msg("%s: line %u: %s", bad[i], errs.items[0].line, errs.items[0].what);
	}
}

static enum nej_reason refusal(const char *policy, const char *target, bool is_kernel)
{
	struct policy *p = policy_of(policy), *image;
	struct policy_grant g = grant_of(1, target);
	enum nej_reason reason;
	struct err_list errs;

	g.is_kernel = is_kernel;
	err_init(&errs, "grants");
	assert_int_equal(overlay_load(&g, 1, &errs, &image), 0);
	reason = overlay_refusal(p, image, &g);
	policy_free(image);
	policy_free(p);
	return reason;
}

static void special_addresses_stay_shut(void **state)
{
	static const struct {
		const char *policy, *target;
		bool is_kernel;
		enum nej_reason reason;
	} rows[] = {
		{"{version: 1}", "tcp://10.0.0.5:5432", false, NEJ_REASON_PRIVATE_ADDRESS},
		{"{version: 1}", "10.0.0.0/8:443", true, NEJ_REASON_PRIVATE_ADDRESS},
		{"{version: 1, private: [10.0.0.0/8]}", "tcp://10.0.0.5:5432", false,
			NEJ_REASON_NONE},
		{"{version: 1, private: allow}", "169.254.169.254:80", false,
			NEJ_REASON_PRIVATE_ADDRESS},
		{"{version: 1, private: allow}", "100.100.100.200:80", false,
			NEJ_REASON_PRIVATE_ADDRESS},
		{"{version: 1, private: allow}", "[fd00:ec2::254]:80", false,
			NEJ_REASON_PRIVATE_ADDRESS},
		{"{version: 1, private: allow}", "127.0.0.1:80", false, NEJ_REASON_LOOPBACK},
		{"{version: 1, private: allow}", "[::1]:80", false, NEJ_REASON_LOOPBACK},
		{"{version: 1, private: allow}", "localhost:80", false, NEJ_REASON_LOOPBACK},
		{"{version: 1, private: allow}", "udp://224.0.0.1:53", true, NEJ_REASON_MULTICAST},
		{"{version: 1}", "tcp://93.184.216.34:22", false, NEJ_REASON_NONE},
		{"{version: 1}", "udp://93.184.216.34:123", true, NEJ_REASON_NONE},
		{"{version: 1}", "*.a.example", false, NEJ_REASON_NONE},
		{"{version: 1}", "POST https://a.example/x", false, NEJ_REASON_NONE},
		{"{version: 1}", "*", false, NEJ_REASON_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (refusal(rows[i].policy, rows[i].target, rows[i].is_kernel) != rows[i].reason)
			fail_msg("%s", rows[i].target);
}

static void image_of_a_policy_is_no_grant(void **state)
{
	struct policy *p = policy_of("{version: 1, rules: [allow: a.example]}"), *image;
	struct policy_grant g = grant_of(1, "a.example");

	(void)state;
	assert_int_equal(overlay_map(policy_fd(p), &image), -EINVAL);
	lay(p, &g, 1);
	assert_int_equal(overlay_map(policy_fd(overlay_of(p)), &image), 0);
	policy_free(image);
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grant_opens_what_it_names),
		cmocka_unit_test(grant_of_a_url_opens_that_request),
		cmocka_unit_test(host_allowed_whole_is_not_looked_into),
		cmocka_unit_test(grant_ends_by_itself),
		cmocka_unit_test(newer_grant_decides_and_the_older_goes_on),
		cmocka_unit_test(rule_of_a_grant_is_its_own),
		cmocka_unit_test(secrets_are_looked_for_all_the_same),
		cmocka_unit_test(kernel_grant_is_a_range_of_its_own),
		cmocka_unit_test(nothing_but_one_target_is_read),
		cmocka_unit_test(special_addresses_stay_shut),
		cmocka_unit_test(image_of_a_policy_is_no_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
