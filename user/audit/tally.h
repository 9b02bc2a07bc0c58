/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went through a sink, in numbers: for `nej status` and for whoever scrapes metrics. Counts
 * attempts, not records: a record of folded repeats counts as many as it stands for.
 */
#ifndef NEJ_AUDIT_TALLY_H
#define NEJ_AUDIT_TALLY_H

#include "event.h"

/* X(id, word) */
#define TALLY_VERDICTS(X)                                                                          \
	X(ALLOWED, "allowed")                                                                      \
	X(BLOCKED, "blocked")                                                                      \
	X(FAILED, "failed") /* allowed, but the other side did not work */

enum tally_verdict {
#define X(id, word) TALLY_##id,
	TALLY_VERDICTS(X)
#undef X
		TALLY_VERDICT_COUNT
};

/* Upper bounds of the buckets of durations in microseconds; one more bucket is for longer ones. */
#define TALLY_BOUNDS(X)                                                                            \
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
#define X(bound) TALLY_BOUND_##bound,
	TALLY_BOUNDS(X)
#undef X
		TALLY_N_BOUNDS,
	TALLY_BUCKETS /* the last one has no bound */
};

extern const uint64_t tally_bounds_us[TALLY_N_BOUNDS];

/* How long attempts took: until they were refused or had failed; allowed ones until their end. */
struct tally_durations {
	uint64_t counts[TALLY_BUCKETS]; /* each bucket's own, not those below */
	uint64_t sum_us;
};

/* No number passes INT64_MAX: what a worker claims cannot make one go round. */
struct tally {
	uint64_t verdicts[TALLY_VERDICT_COUNT][AUDIT_LAYER_COUNT][NEJ_REASON_COUNT];
	struct tally_durations durations[TALLY_VERDICT_COUNT];
	uint64_t bytes_out, bytes_in; /* client to destination, and back */
	uint64_t tls;                 /* verdicts on connections and requests that came in TLS */
	uint64_t lost;                /* attempts that have no record */
};

uint64_t tally_attempts(const struct tally *t); /* all of them, whatever became of each */
void tally_add(struct tally *t, const struct audit_event *event);
const char *tally_verdict_word(enum tally_verdict verdict);

#endif
