/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many things took how long, in buckets of fixed bounds. One writes; others may read meanwhile, also
 * another process. No number passes INT64_MAX, whatever is added.
 */
#ifndef NEJ_BASE_HISTOGRAM_H
#define NEJ_BASE_HISTOGRAM_H

#include <stdint.h>

/* Upper bounds of the buckets in microseconds; one more bucket is for longer ones. */
#define HISTOGRAM_BOUNDS(X)                                                                        \
	X(100)                                                                                     \
	X(1000)                                                                                    \
	X(5000)                                                                                    \
	X(10000)                                                                                   \
	X(50000)                                                                                   \
	X(100000)                                                                                  \
	X(500000)                                                                                  \
	X(1000000)                                                                                 \
	X(5000000)                                                                                 \
	X(10000000)                                                                                \
	X(60000000)                                                                                \
	X(300000000)

enum {
#define X(bound) HISTOGRAM_BOUND_##bound,
	HISTOGRAM_BOUNDS(X)
#undef X
		HISTOGRAM_N_BOUNDS,
	HISTOGRAM_BUCKETS /* the last one has no bound */
};

extern const uint64_t histogram_bounds_us[HISTOGRAM_N_BOUNDS];

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS]; /* each bucket's own, not those below */
	uint64_t sum_us;
};

/* *number + by, as far as that goes. */
void histogram_grow(uint64_t *number, uint64_t by);
/* n things that took us each. */
void histogram_add(struct histogram *h, uint64_t us, uint64_t n);
void histogram_join(struct histogram *h, const struct histogram *other);

#endif
