/* SPDX-License-Identifier: GPL-2.0-only */
/* What a worker counts, and what may come of numbers that it made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../../user/base/meter.h"

static void times_lie_in_the_bucket_of_their_bound(void **state)
{
	struct meter m = {0};
	const struct histogram *h = &m.latencies[METER_DNS_NOERROR];

	(void)state;
	meter_time_many(&m, METER_DNS_NOERROR, 1000000, 1100999, 3); /* 100 us */
	meter_time_many(&m, METER_DNS_NOERROR, 1000000, 1101000, 1); /* 101 us */
	meter_time_many(&m, METER_DNS_NOERROR, 5, 4, 1);             /* a clock that went back */
	meter_time_many(&m, METER_DNS_NOERROR, 0, 1ull << 60, 1);
	assert_int_equal(h->counts[HISTOGRAM_BOUND_100], 4);
	assert_int_equal(h->counts[HISTOGRAM_BOUND_1000], 1);
	assert_int_equal(h->counts[HISTOGRAM_N_BOUNDS], 1);
	assert_int_equal(h->sum_us, 3 * 100 + 101 + (1ull << 60) / 1000);
	meter_time(NULL, METER_DNS_NOERROR, 0);
	meter_count(NULL, METER_CONNECTIONS, 1);
}

static void no_number_goes_round(void **state)
{
	struct meter sum = {0}, made_up;

	(void)state;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(uint64_t); i++)
		((uint64_t *)&made_up)[i] = UINT64_MAX - i;
	meter_join(&sum, &made_up);
	meter_join(&sum, &made_up);
	meter_count(&sum, METER_RELAYED_IN, UINT64_MAX);
	histogram_add(&sum.latencies[METER_CONNECT_DONE], UINT64_MAX, UINT64_MAX);
	for (size_t i = 0; i < METER_NUMBER_COUNT; i++)
		assert_int_equal(sum.numbers[i], INT64_MAX);
	for (size_t i = 0; i < METER_LATENCY_COUNT; i++) {
		assert_int_equal(sum.latencies[i].sum_us, INT64_MAX);
		for (size_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			assert_int_equal(sum.latencies[i].counts[k], INT64_MAX);
	}
	/* and it begins again where it stood */
	meter_count(&made_up, METER_CONNECTIONS, 1);
	assert_int_equal(made_up.numbers[METER_CONNECTIONS], INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_lie_in_the_bucket_of_their_bound),
		cmocka_unit_test(no_number_goes_round),
	};

	return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
