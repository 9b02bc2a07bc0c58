/* SPDX-License-Identifier: GPL-2.0-only */
/* Which ports a target opens (or, of a deny rule, shuts) for each protocol. */
#ifndef NEJ_POLICY_OPENS_H
#define NEJ_POLICY_OPENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

enum opens_protocol {
	OPENS_HTTPS,
	OPENS_HTTP,
	OPENS_TCP, /* any other protocol over TCP */
	OPENS_UDP,
	OPENS_COUNT,
};

struct opens_ports { /* first 0: none */
	uint16_t first, last;
};

struct opens {
	struct opens_ports ports[OPENS_COUNT];
};

#define OPENS_MAX 2

/*
 * What a pattern stands for; one row, or two where one range a protocol does not say it. A deny
 * target that is a bare host shuts every port and protocol: an allow opens what it names, a deny
 * leaves no other door to what it names. Without a proxy (`transport: kernel`) the protocol cannot
 * be seen, so a scheme there means its port.
 */
size_t opens_of(
	const struct pattern *p, bool is_deny, bool is_kernel, struct opens ret[static OPENS_MAX]);

static inline bool opens_has(const struct opens *o, enum opens_protocol protocol, uint16_t port)
{
	return port >= o->ports[protocol].first && port <= o->ports[protocol].last &&
		o->ports[protocol].first;
}

#endif
