/* SPDX-License-Identifier: GPL-2.0-only */
/* `limits:` of the sandbox and of rules. The counters are the process's: each test has a rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#include "../../../user/proxy/quota.h"

static int begin(uint32_t rule, uint64_t now_ms)
{
	struct quota_grant grant;

	return quota_begin(NULL, NULL, rule, now_ms, &grant);
}

static void without_limits_nothing_is_counted(void **state)
{
	struct quota_grant grant;

	(void)state;
	w.rule_limits = w.sandbox_limits = (struct policy_limits){0};
	assert_int_equal(quota_begin(NULL, NULL, 1, 0, &grant), 0);
	assert_false(grant.slot || grant.is_metered);
}

static void connections_of_a_rule_are_counted_while_they_last(void **state)
{
	struct quota_grant first, grant;

	(void)state;
	w.rule_limits = (struct policy_limits){.connections = 2};
	assert_int_equal(quota_begin(NULL, NULL, 2, 0, &first), 0);
	assert_non_null(first.slot);
	assert_int_equal(begin(2, 0), 0);
	assert_int_equal(quota_begin(NULL, NULL, 2, 0, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_CONNECTIONS);
	assert_int_equal(begin(3, 0), 0); /* another rule has its own */
	quota_end(first.slot);
	assert_int_equal(begin(2, 0), 0);
}

static void requests_are_counted_by_the_minute(void **state)
{
	struct quota_grant grant;

	(void)state;
	w.rule_limits = (struct policy_limits){.requests_per_minute = 2};
	assert_int_equal(begin(4, 600000), 0);
	assert_int_equal(begin(4, 610000), 0);
	assert_int_equal(quota_begin(NULL, NULL, 4, 630001, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_REQUESTS);
	assert_int_equal(grant.retry_s, 30);
	assert_int_equal(quota_begin(NULL, NULL, 4, 659999, &grant), -EDQUOT);
	assert_int_equal(grant.retry_s, 1);
	assert_int_equal(begin(4, 660000), 0);
}

static void bytes_used_up_admit_nothing_more(void **state)
{
	struct quota_grant g, grant;

	(void)state;
	w.rule_limits = (struct policy_limits){.bytes_in = 100, .bytes_out = 50};
	assert_int_equal(quota_begin(NULL, NULL, 5, 0, &g), 0);
	assert_true(g.is_metered);
	assert_int_equal(quota_spend(NULL, NULL, g.slot, 10, 90), 0);
	assert_int_equal(quota_room(NULL, NULL, g.slot, false, 1000), 10);
	assert_int_equal(quota_room(NULL, NULL, g.slot, true, 1000), 40);
	assert_int_equal(quota_room(NULL, NULL, g.slot, true, 7), 7);
	assert_int_equal(begin(5, 0), 0);
	assert_int_equal(quota_spend(NULL, NULL, g.slot, 10, 10), 0);
	/* all that was allowed has passed */
	assert_int_equal(quota_begin(NULL, NULL, 5, 0, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_BYTES);
	assert_int_equal(grant.retry_s, 0);
	assert_int_equal(quota_room(NULL, NULL, g.slot, false, 1000), 0);
	assert_int_equal(quota_spend(NULL, NULL, g.slot, 0, 1), -EDQUOT);
	assert_int_equal(begin(6, 0), 0);
}

/* Rules are known by their text and limits: a review keeps what the policy still has. */
static void counters_follow_their_rule_into_another_policy(void **state)
{
	const struct policy_limits before = {.bytes_in = 100};
	struct quota_grant kept, g;
	struct quota *q;

	(void)state;
	assert_int_equal(quota_new(&q), 0);
	w.rule_limits = before;
	assert_int_equal(quota_begin(q, NULL, 1, 0, &kept), 0);
	assert_int_equal(quota_spend(q, NULL, kept.slot, 0, 100), 0);
	assert_int_equal(quota_begin(q, NULL, 2, 0, &g), 0);
	assert_int_equal(quota_spend(q, NULL, g.slot, 0, 100), 0);
	quota_end(g.slot);
	quota_review(q, NULL);
	assert_int_equal(quota_begin(q, NULL, 1, 0, &g), -EDQUOT);
	assert_int_equal(quota_begin(q, NULL, 2, 0, &g), -EDQUOT);
	/* other limits are another rule; of the old ones only what is under way is kept */
	w.rule_limits.bytes_in = 200;
	quota_review(q, NULL);
	assert_int_equal(quota_begin(q, NULL, 2, 0, &g), 0);
	quota_end(g.slot);
	assert_int_equal(quota_room(q, NULL, kept.slot, false, 50), 0);
	w.rule_limits = before;
	assert_int_equal(quota_begin(q, NULL, 2, 0, &g), 0);
	assert_int_equal(quota_begin(q, NULL, 1, 0, &g), -EDQUOT);
	quota_free(q);
}

/* What the sandbox refuses is not held against the rule. */
static void sandbox_and_rule_are_both_asked(void **state)
{
	struct quota_grant grant;
	struct quota *q;

	(void)state;
	assert_int_equal(quota_new(&q), 0);
	w.sandbox_limits = (struct policy_limits){.requests_per_minute = 2};
	w.rule_limits = (struct policy_limits){.connections = 2};
	assert_int_equal(quota_begin(q, NULL, 1, 0, &grant), 0);
	assert_int_equal(quota_begin(q, NULL, POLICY_NO_RULE, 0, &grant), 0);
	assert_int_equal(quota_begin(q, NULL, 1, 0, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_REQUESTS);
	assert_null(grant.slot);
	assert_int_equal(quota_begin(q, NULL, 1, 60000, &grant), 0);
	assert_int_equal(quota_begin(q, NULL, 1, 60000, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_CONNECTIONS);
	quota_free(q);
	w.sandbox_limits = (struct policy_limits){0};
}

static void our_own_capacity_is_told_apart(void **state)
{
	struct quota_grant grant;
	struct quota *q;

	(void)state;
	assert_int_equal(quota_new(&q), 0);
	w.rule_limits = (struct policy_limits){.requests_per_minute = 1};
	for (uint32_t rule = 0; rule < NEJ_MAX_LIMITED_RULES; rule++)
		assert_int_equal(quota_begin(q, NULL, rule, 0, &grant), 0);
	assert_int_equal(quota_begin(q, NULL, NEJ_MAX_LIMITED_RULES, 0, &grant), -EDQUOT);
	assert_int_equal(grant.limit, QUOTA_NONE);
	w.max_connections = 1;
	assert_int_equal(quota_take_connection(q, NULL), 0);
	assert_int_equal(quota_take_connection(q, NULL), -EDQUOT);
	quota_give_connection(q);
	w.max_connections = 0;
	for (int i = 0; i < NEJ_MAX_CONNS; i++)
		assert_int_equal(quota_take_connection(q, NULL), 0);
	assert_int_equal(quota_take_connection(q, NULL), -ENFILE);
	for (int i = 0; i < NEJ_MAX_CONNS; i++)
		quota_give_connection(q);
	quota_free(q);
}

static void limited_rules_beyond_the_table_admit_nothing(void **state)
{
	uint32_t rule = 100;

	(void)state;
	w.rule_limits = (struct policy_limits){.requests_per_minute = 1000};
	while (rule < 100 + NEJ_MAX_LIMITED_RULES && begin(rule, 0) == 0)
		rule++;
	assert_true(rule > 100 + NEJ_MAX_LIMITED_RULES - 20);
	assert_int_equal(begin(rule, 0), -EDQUOT);
	assert_int_equal(begin(100, 0), 0);
}

/* Last: the sandbox's own bytes stay spent. */
static void tunnel_beyond_the_sandboxs_bytes_is_reset(void **state)
{
	static const struct world_rule rules[] = {
		{.host = "a.test", .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};
	static char block[3000];
	uint16_t port;
	int listener, client, server;

	world_start(state);
	listener = listen_on("127.0.0.1", &port);
	w.rules = rules;
	w.sandbox_limits = (struct policy_limits){.bytes_in = 5000};
	world_name_dest("a.test", port);
	client = connect_to(w.port);
	put_hello(client, "a.test");
	server = accept_from(listener);
	expect_hello(server, "a.test");
	put(server, block, sizeof(block));
	expect(client, block, sizeof(block));
	put(server, block, sizeof(block));
	expect_reset(server);
	assert_int_equal(event_at(1).kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(event_at(1).reason, NEJ_REASON_LIMIT);
	assert_string_equal(event_at(1).host, "a.test");
	close(client);
	close(server);
	client = connect_to(w.port);
	put_hello(client, "a.test");
	expect(client, "\x15\x03\x03\x00\x02\x02\x50", 7);
	assert_int_equal(event_at(2).reason, NEJ_REASON_LIMIT);
	close(client);
	close(listener);
	world_stop(state);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_limits_nothing_is_counted),
		cmocka_unit_test(connections_of_a_rule_are_counted_while_they_last),
		cmocka_unit_test(requests_are_counted_by_the_minute),
		cmocka_unit_test(bytes_used_up_admit_nothing_more),
		cmocka_unit_test(counters_follow_their_rule_into_another_policy),
		cmocka_unit_test(sandbox_and_rule_are_both_asked),
		cmocka_unit_test(our_own_capacity_is_told_apart),
		cmocka_unit_test(limited_rules_beyond_the_table_admit_nothing),
		cmocka_unit_test(tunnel_beyond_the_sandboxs_bytes_is_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
