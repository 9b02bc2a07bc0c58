/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a worker counts for whoever watches it: one block a thread, which that thread alone writes, in
 * memory that the supervisor reads while it runs. All functions do nothing without a meter.
 */
#ifndef NEJ_BASE_METER_H
#define NEJ_BASE_METER_H

#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

/* X(id, what was timed, how it came out) */
#define METER_LATENCIES(X)                                                                         \
	X(CONNECT_DONE, "connect", "connected")                                                    \
	X(CONNECT_FAILED, "connect", "failed")                                                     \
	X(DNS_NOERROR, "dns", "noerror")                                                           \
	X(DNS_NXDOMAIN, "dns", "nxdomain")                                                         \
	X(DNS_OTHER, "dns", "other")                                                               \
	X(TLS_CLIENT_DONE, "tls_client", "done")                                                   \
	X(TLS_CLIENT_FAILED, "tls_client", "failed")                                               \
	X(TLS_ORIGIN_DONE, "tls_origin", "done")                                                   \
	X(TLS_ORIGIN_FAILED, "tls_origin", "failed")

enum meter_latency {
#define X(id, what, outcome) METER_##id,
	METER_LATENCIES(X)
#undef X
		METER_LATENCY_COUNT
};

/* X(id, word) */
#define METER_NUMBERS(X)                                                                           \
	X(CONNECTIONS, "connections") /* accepted by the proxy */                                  \
	X(RELAYED_OUT, "relayed_out") /* bytes from clients, of open connections too */            \
	X(RELAYED_IN, "relayed_in")   /* and back */

enum meter_number {
#define X(id, word) METER_##id,
	METER_NUMBERS(X)
#undef X
		METER_NUMBER_COUNT
};

struct meter {
	_Alignas(64) uint64_t numbers[METER_NUMBER_COUNT];
	struct histogram latencies[METER_LATENCY_COUNT];
};

void meter_count(struct meter *m, enum meter_number what, uint64_t by);
/* It began at this time of clock_monotonic_ns, and is over. */
void meter_time(struct meter *m, enum meter_latency what, uint64_t since_ns);
/* n of them, over at now_ns. */
void meter_time_many(
	struct meter *m, enum meter_latency what, uint64_t since_ns, uint64_t now_ns, uint64_t n);
void meter_join(struct meter *m, const struct meter *other);

#endif
