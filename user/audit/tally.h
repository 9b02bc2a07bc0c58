/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went through a sink, in numbers: for `nej status` and for whoever scrapes metrics. Counts
 * attempts, not records: a record of folded repeats counts as many as it stands for.
 */
#ifndef NEJ_AUDIT_TALLY_H
#define NEJ_AUDIT_TALLY_H

#include "../base/histogram.h"
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

/* No number passes INT64_MAX: what a worker claims cannot make one go round. */
struct tally {
	uint64_t verdicts[TALLY_VERDICT_COUNT][AUDIT_LAYER_COUNT][NEJ_REASON_COUNT];
	/* how long attempts took: until they were refused or had failed; allowed ones until their end */
	struct histogram durations[TALLY_VERDICT_COUNT];
	uint64_t bytes_out, bytes_in; /* client to destination, and back */
	uint64_t tls;                 /* verdicts on connections and requests that came in TLS */
	uint64_t lost;                /* attempts that have no record */
};

uint64_t tally_attempts(const struct tally *t); /* all of them, whatever became of each */
void tally_add(struct tally *t, const struct audit_event *event);
const char *tally_verdict_word(enum tally_verdict verdict);

#endif
