/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Synthetic addresses: a pair (IPv4 of 198.18.0.0/15, IPv6 of the sandbox's /64) that stands for
 * exactly one name. Stable while the sandbox lives; when full, the name longest without a query or
 * connection gives its pair up, never one with an open connection. Shared by the worker's threads.
 */
#ifndef NEJ_DNS_SYNTH_H
#define NEJ_DNS_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "../wire/host.h"

struct synth;

/* net6: first eight bytes of the sandbox's /64 ULA. */
int synth_new(const uint8_t net6[static 8], struct synth **ret);
void synth_free(struct synth *s);

/* Called for each pair given to a name, from within synth_assign: the name and both addresses. */
void synth_on_given(struct synth *s,
	void (*on_given)(
		void *arg, const struct host *name, const struct addr *v4, const struct addr *v6),
	void *arg);

/* The pair of a name, given out if it has none. 0, -ENOSPC when every pair is in use. */
int synth_assign(struct synth *s, const struct host *name, struct addr *ret4, struct addr *ret6);

/* Could this address be a synthetic one (in either range)? */
bool synth_covers(const struct synth *s, const struct addr *addr);

/* The name of a synthetic address, held against reuse until synth_release. -ENOENT. */
int synth_hold(struct synth *s, const struct addr *addr, struct host *ret);
void synth_release(struct synth *s, const struct addr *addr);

#endif
