/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts; see meter.h. */
#include "meter.h"

#include "clock.h"

void meter_count(struct meter *m, enum meter_number what, uint64_t by)
{
	if (m)
		histogram_grow(&m->numbers[what], by);
}

void meter_time_many(
	struct meter *m, enum meter_latency what, uint64_t since_ns, uint64_t now_ns, uint64_t n)
{
	if (m && n)
		histogram_add(
			&m->latencies[what], now_ns > since_ns ? (now_ns - since_ns) / 1000 : 0, n);
}

void meter_time(struct meter *m, enum meter_latency what, uint64_t since_ns)
{
	if (m)
		meter_time_many(m, what, since_ns, clock_monotonic_ns(), 1);
}

void meter_join(struct meter *m, const struct meter *other)
{
	for (size_t i = 0; i < METER_NUMBER_COUNT; i++)
		histogram_grow(
			&m->numbers[i], __atomic_load_n(&other->numbers[i], __ATOMIC_RELAXED));
	for (size_t i = 0; i < METER_LATENCY_COUNT; i++)
		histogram_join(&m->latencies[i], &other->latencies[i]);
}
