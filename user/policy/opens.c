/* SPDX-License-Identifier: GPL-2.0-only */
/* From scheme and port of a target to protocols and ports; see opens.h. */
#include "opens.h"

#include <string.h>

static void open_protocol(
	struct opens *o, enum opens_protocol protocol, uint16_t first, uint16_t last)
{
	o->ports[protocol] = (struct opens_ports){first, last};
}

static void open_tcp(struct opens *o, uint16_t first, uint16_t last)
{
	open_protocol(o, OPENS_HTTPS, first, last);
	open_protocol(o, OPENS_HTTP, first, last);
	open_protocol(o, OPENS_TCP, first, last);
}

static size_t open_bare(const struct pattern *p, bool is_deny, bool is_kernel, struct opens *ret)
{
	if (is_kernel) {
		open_tcp(&ret[0], 443, 443);
		open_tcp(&ret[1], 80, 80);
		return 2;
	}
	if (is_deny && !pattern_is_conditional(p)) {
		open_tcp(&ret[0], 1, 65535);
		open_protocol(&ret[0], OPENS_UDP, 1, 65535);
		return 1;
	}
	open_protocol(&ret[0], OPENS_HTTPS, 443, 443);
	open_protocol(&ret[0], OPENS_HTTP, 80, 80);
	return 1;
}

size_t opens_of(
	const struct pattern *p, bool is_deny, bool is_kernel, struct opens ret[static OPENS_MAX])
{
	uint16_t first = p->first, last = p->last;

	memset(ret, 0, OPENS_MAX * sizeof(*ret));
	if (p->scheme == PATTERN_NO_SCHEME && !p->has_port)
		return open_bare(p, is_deny, is_kernel, ret);
	if (!p->has_port)
		first = last = p->scheme == PATTERN_HTTP ? 80 : 443;
	if (p->scheme == PATTERN_UDP) {
		open_protocol(&ret[0], OPENS_UDP, first, last);
	} else if (is_kernel || p->scheme == PATTERN_TCP) {
		open_tcp(&ret[0], first, last);
	} else if (p->scheme == PATTERN_NO_SCHEME) {
		open_tcp(&ret[0], first, last);
		/* A URL can only be seen in HTTP. */
		if (pattern_is_conditional(p))
			open_protocol(&ret[0], OPENS_TCP, 0, 0);
	} else {
		open_protocol(
			&ret[0], p->scheme == PATTERN_HTTP ? OPENS_HTTP : OPENS_HTTPS, first, last);
	}
	return 1;
}
