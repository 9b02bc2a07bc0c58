/* SPDX-License-Identifier: GPL-2.0-only */
/* Events in, numbers out: what counts, how often, and that no claim makes a number go round. */
#include "folder.h"

static struct audit_event one(enum audit_kind kind, enum audit_layer layer, enum nej_reason reason)
{
	struct audit_event e = {0};

	e.kind = (uint8_t)kind;
	e.layer = (uint8_t)layer;
	e.reason = (uint8_t)reason;
	e.rule = AUDIT_NO_RULE;
	e.count = 1;
	return e;
}

static void attempts_are_counted_by_verdict_layer_and_reason(void **state)
{
	static const struct {
		enum audit_kind kind;
		enum audit_layer layer;
		enum nej_reason reason;
		uint64_t count;
		enum tally_verdict verdict;
	} rows[] = {
		{AUDIT_NETWORK_ALLOWED, AUDIT_LAYER_HTTP, NEJ_REASON_RULE, 1, TALLY_ALLOWED},
		{AUDIT_NETWORK_BLOCKED, AUDIT_LAYER_KERNEL, NEJ_REASON_UDP, 12, TALLY_BLOCKED},
		{AUDIT_DNS_BLOCKED, AUDIT_LAYER_DNS, NEJ_REASON_NO_RULE, 3, TALLY_BLOCKED},
		{AUDIT_NETWORK_FAILED, AUDIT_LAYER_PROXY, NEJ_REASON_RESOLVE_FAILED, 1,
			TALLY_FAILED},
	};
	struct tally t = {0};
	uint64_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct audit_event e = one(rows[i].kind, rows[i].layer, rows[i].reason);

		e.count = rows[i].count;
		tally_add(&t, &e);
		assert_int_equal(
			t.verdicts[rows[i].verdict][rows[i].layer][rows[i].reason], rows[i].count);
	}
	for (size_t i = 0; i < sizeof(t.verdicts) / sizeof(uint64_t); i++)
		n += ((const uint64_t *)t.verdicts)[i];
	assert_int_equal(n, 1 + 12 + 3 + 1);
}

static void other_records_are_no_attempts(void **state)
{
	struct tally t = {0}, none = {0};
	struct audit_event e;

	(void)state;
	for (int kind = 0; kind < AUDIT_KIND_COUNT; kind++) {
		bool is_attempt = kind == AUDIT_NETWORK_ALLOWED || kind == AUDIT_NETWORK_BLOCKED ||
			kind == AUDIT_NETWORK_FAILED || kind == AUDIT_DNS_BLOCKED;

		if (is_attempt || kind == AUDIT_EVENTS_LOST || kind == AUDIT_NETWORK_CLOSED)
			continue;
		e = one((enum audit_kind)kind, AUDIT_LAYER_SUPERVISOR, NEJ_REASON_RULE);
		tally_add(&t, &e);
		assert_memory_equal(&t, &none, sizeof(t));
	}
	e = one(AUDIT_EVENTS_LOST, AUDIT_LAYER_SUPERVISOR, NEJ_REASON_LIMIT);
	e.count = 40;
	tally_add(&t, &e);
	assert_int_equal(t.lost, 40);
}

static void allowed_attempt_has_one_duration_and_its_bytes_once(void **state)
{
	struct audit_event begun = one(AUDIT_NETWORK_ALLOWED, AUDIT_LAYER_PROXY, NEJ_REASON_RULE);
	struct audit_event ended = one(AUDIT_NETWORK_CLOSED, AUDIT_LAYER_PROXY, NEJ_REASON_RULE);
	struct tally t = {0};
	uint64_t n = 0;

	(void)state;
	begun.app = ended.app = AUDIT_APP_TLS;
	begun.duration_us = 90;
	tally_add(&t, &begun); /* read of before it ended */
	ended.duration_us = 4000;
	ended.bytes_out = 10;
	ended.bytes_in = 200;
	tally_add(&t, &ended);
	ended.kind = AUDIT_NETWORK_ALLOWED; /* and one that was read of when it had */
	tally_add(&t, &ended);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += t.durations[TALLY_ALLOWED].counts[i];
	assert_int_equal(n, 2);
	assert_int_equal(t.durations[TALLY_ALLOWED].sum_us, 8000);
	assert_int_equal(t.durations[TALLY_ALLOWED].counts[HISTOGRAM_BOUND_5000], 2);
	assert_int_equal(t.bytes_out, 20);
	assert_int_equal(t.bytes_in, 400);
	assert_int_equal(t.tls, 2);
}

static void no_claim_makes_a_number_go_round(void **state)
{
	struct audit_event e = one(AUDIT_NETWORK_BLOCKED, AUDIT_LAYER_PROXY, NEJ_REASON_NO_RULE);
	struct tally t = {0};

	(void)state;
	e.count = e.bytes_in = e.duration_us = UINT64_MAX;
	for (int i = 0; i < 3; i++)
		tally_add(&t, &e);
	assert_int_equal(
		t.verdicts[TALLY_BLOCKED][AUDIT_LAYER_PROXY][NEJ_REASON_NO_RULE], INT64_MAX);
	assert_int_equal(t.bytes_in, INT64_MAX);
	assert_int_equal(t.durations[TALLY_BLOCKED].sum_us, INT64_MAX);
	assert_int_equal(t.durations[TALLY_BLOCKED].counts[HISTOGRAM_N_BOUNDS], 3);
	e.layer = 200;
	e.reason = 250;
	tally_add(&t, &e); /* nothing out of bounds */
}

static bool is_for_seven(void *arg, struct audit_event *e)
{
	(void)arg;
	if (e->pid != 7)
		return false;
	return --e->count == 0;
}

static void sink_counts_what_it_is_given_and_leaves_out_its_owners(void **state)
{
	struct audit_event e = one(AUDIT_NETWORK_BLOCKED, AUDIT_LAYER_KERNEL, NEJ_REASON_UDP);
	struct audit_sink *sink;
	struct folder f;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	audit_sink_on_own(sink, is_for_seven, NULL);
	e.pid = 8;
	audit_sink_add(sink, &e);
	e.pid = 7;
	audit_sink_add(sink, &e); /* nothing is left of it */
	e.count = 5;
	audit_sink_add(sink, &e);
	assert_int_equal(
		audit_sink_tally(sink)->verdicts[TALLY_BLOCKED][AUDIT_LAYER_KERNEL][NEJ_REASON_UDP],
		1 + 4);
	assert_int_equal(audit_sink_count(sink, NEJ_REASON_UDP), 1 + 4);
	audit_sink_close(sink);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attempts_are_counted_by_verdict_layer_and_reason),
		cmocka_unit_test(other_records_are_no_attempts),
		cmocka_unit_test(allowed_attempt_has_one_duration_and_its_bytes_once),
		cmocka_unit_test(no_claim_makes_a_number_go_round),
		cmocka_unit_test(sink_counts_what_it_is_given_and_leaves_out_its_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
