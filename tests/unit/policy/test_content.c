/* SPDX-License-Identifier: GPL-2.0-only */
/* What a rule says of the content of requests: MCP tools, hosted tools. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "policies.h"

static void content_options_open_tls_and_stay_with_their_rule(void **state)
{
	struct policy *p =
		policy_of("rules:\n"
			  "  - {allow: https://m.example/mcp, mcp: {tools: [a, 'b_*']}}\n"
			  "  - {allow: [m.example, n.example], mcp: {tools: []}}\n"
			  "  - {allow: api.example, hosted_tools: deny}\n"
			  "  - allow: o.example\n");
	struct policy_rule_info info;

	(void)state;
	assert_int_equal(
		ask_connection(p, POLICY_SCHEME_HTTPS, "m.example", 443).verdict, POLICY_NEED_URL);
	assert_true(ask_connection(p, POLICY_SCHEME_HTTPS, "n.example", 443).is_inspect);
	assert_true(ask_connection(p, POLICY_SCHEME_HTTPS, "api.example", 443).is_inspect);
	assert_false(ask_connection(p, POLICY_SCHEME_HTTPS, "o.example", 443).is_inspect);
	assert_int_equal(
		ask_url(p, POLICY_SCHEME_HTTPS, "m.example", 443, "POST", "/mcp/x").rule, 0);
	assert_int_equal(ask_url(p, POLICY_SCHEME_HTTPS, "n.example", 443, "POST", "/").rule, 1);
	assert_true(policy_rule_has_mcp(p, 0) && policy_rule_has_mcp(p, 1));
	assert_false(policy_rule_has_mcp(p, 2) || policy_rule_has_mcp(p, POLICY_NO_RULE));
	assert_true(policy_mcp_allows(p, 0, "a", 1) && policy_mcp_allows(p, 0, "b_c", 3));
	assert_false(policy_mcp_allows(p, 0, "b", 1) || policy_mcp_allows(p, 1, "a", 1));
	assert_true(policy_mcp_allows(p, 2, "a", 1));
	assert_true(policy_denies_hosted_tools(p, 2) && !policy_denies_hosted_tools(p, 0));
	assert_true(policy_rule(p, 0, &info));
	assert_string_equal(info.text, "allow: https://m.example/mcp, mcp: {tools: [a, b_*]}");
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_options_open_tls_and_stay_with_their_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
