/* SPDX-License-Identifier: GPL-2.0-only */
/* Plain loads and stores that are whole: there is one writer; see histogram.h. */
#include "histogram.h"

#include "cleanup.h"

const uint64_t histogram_bounds_us[HISTOGRAM_N_BOUNDS] = {
#define X(bound) bound,
	HISTOGRAM_BOUNDS(X)
#undef X
};

void histogram_grow(uint64_t *number, uint64_t by)
{
	uint64_t now = __atomic_load_n(number, __ATOMIC_RELAXED);
	uint64_t room = now < INT64_MAX ? (uint64_t)INT64_MAX - now : 0;

	__atomic_store_n(number, (now < INT64_MAX ? now : INT64_MAX) + (by < room ? by : room),
		__ATOMIC_RELAXED);
}

void histogram_add(struct histogram *h, uint64_t us, uint64_t n)
{
	uint64_t sum;
	size_t i = 0;

	if (__builtin_mul_overflow(us, n, &sum))
		sum = UINT64_MAX;
	while (i < ARRAY_SIZE(histogram_bounds_us) && us > histogram_bounds_us[i])
		i++;
	histogram_grow(&h->counts[i], n);
	histogram_grow(&h->sum_us, sum);
}

void histogram_join(struct histogram *h, const struct histogram *other)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram_grow(&h->counts[i], __atomic_load_n(&other->counts[i], __ATOMIC_RELAXED));
	histogram_grow(&h->sum_us, __atomic_load_n(&other->sum_us, __ATOMIC_RELAXED));
}
