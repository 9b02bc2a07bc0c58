/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts events; see tally.h. */
#include "tally.h"

#include <stdbool.h>

#include "../base/cleanup.h"

const char *tally_verdict_word(enum tally_verdict verdict)
{
	static const char *const words[] = {
#define X(id, word) [TALLY_##id] = (word),
		TALLY_VERDICTS(X)
#undef X
	};

	return (size_t)verdict < ARRAY_SIZE(words) ? words[verdict] : "unknown";
}

static int verdict_of(const struct audit_event *e)
{
	switch (e->kind) {
	case AUDIT_NETWORK_ALLOWED:
		return TALLY_ALLOWED;
	case AUDIT_NETWORK_BLOCKED:
	case AUDIT_DNS_BLOCKED:
		return TALLY_BLOCKED;
	case AUDIT_NETWORK_FAILED:
		return TALLY_FAILED;
	default:
		return -1;
	}
}

/* An allowed attempt is told of when it begins, and once more when it ends; one that had ended before
 * anybody read of it is told of once, with its bytes. */
static bool has_ended(const struct audit_event *e)
{
	if (e->layer == AUDIT_LAYER_KERNEL || e->layer == AUDIT_LAYER_DNS)
		return false; /* took no time that anybody measured */
	return e->kind != AUDIT_NETWORK_ALLOWED || e->bytes_out || e->bytes_in;
}

void tally_add(struct tally *t, const struct audit_event *e)
{
	int verdict = verdict_of(e);

	if (e->kind == AUDIT_EVENTS_LOST)
		histogram_grow(&t->lost, e->count);
	if (verdict >= 0 && e->layer < AUDIT_LAYER_COUNT && e->reason < NEJ_REASON_COUNT) {
		histogram_grow(&t->verdicts[verdict][e->layer][e->reason], e->count);
		if (e->app == AUDIT_APP_TLS)
			histogram_grow(&t->tls, e->count);
	}
	if (verdict >= 0 || e->kind == AUDIT_NETWORK_CLOSED) {
		histogram_grow(&t->bytes_out, e->bytes_out);
		histogram_grow(&t->bytes_in, e->bytes_in);
		if (has_ended(e))
			histogram_add(&t->durations[verdict < 0 ? (int)TALLY_ALLOWED : verdict],
				e->duration_us, 1);
	}
}

uint64_t tally_attempts(const struct tally *t)
{
	uint64_t n = t->lost;

	for (int v = 0; v < TALLY_VERDICT_COUNT; v++)
		for (int layer = 0; layer < AUDIT_LAYER_COUNT; layer++)
			for (int reason = 0; reason < NEJ_REASON_COUNT; reason++)
				n += t->verdicts[v][layer][reason];
	return n;
}
