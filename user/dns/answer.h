/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a question gets: at once where nothing outside needs to be asked, else after one upstream
 * lookup. Knows no sockets; those are stub.c's.
 */
#ifndef NEJ_DNS_ANSWER_H
#define NEJ_DNS_ANSWER_H

#include "../wire/dnsmsg.h"
#include "stub.h"

struct asker;

/* State all questions share: options, and the budget of questions that go upstream. */
struct answer {
	struct stub_options o;
	uint64_t tokens_ms; /* upstream questions still allowed, in thousandths; refilled by time */
	uint64_t refilled_ms;
	struct asker *askers; /* upstream lookups in flight */
};

/* Where a question came from; kept with a lookup in flight. */
struct answer_client {
	struct endpoint from;
	uint8_t proto; /* IPPROTO_UDP or IPPROTO_TCP */
	void *owner;   /* stub.c's socket or connection */
	size_t limit_bytes;
	uint64_t since_ns; /* when it came, of clock_monotonic_ns */
};

/* Called for an answer that could not be given at once. */
typedef void answer_send(const struct answer_client *client, const uint8_t *msg, size_t len_bytes);

void answer_init(struct answer *a, const struct stub_options *options);
void answer_done(struct answer *a);

/* Writes the reply to out (DNSMSG_MAX_UDP_BYTES, or 65535 for TCP) and returns its length; 0: no
 * reply, or a later one through send. */
size_t answer_query(struct answer *a, const uint8_t *msg, size_t len_bytes,
	const struct answer_client *client, answer_send *send, uint8_t *out, size_t out_bytes);

/* Forgets lookups whose client is gone. */
void answer_forget(struct answer *a, const void *owner);

#endif
