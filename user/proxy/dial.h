/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a host that may be reached to a connected socket: resolved once, every address checked, a
 * checked address dialled (RFC 8305, staggered, IPv6 first). Never a second lookup: what was checked
 * is what is dialled, by us or by the rule's forward proxy (upstream.h). Internal to user/proxy.
 */
#ifndef NEJ_PROXY_DIAL_H
#define NEJ_PROXY_DIAL_H

#include "conn.h"
#include "record.h"

#define DIAL_STAGGER_MS 250 /* RFC 8305 section 5 */
#define DIAL_LIMIT_MS 20000

struct dial_target {
	const struct host *host;
	uint16_t port;
	uint32_t rule;     /* that allows it: says whether a forward proxy is dialled instead */
	bool is_host_port; /* the host's own loopback, whatever the name or address says */
	bool is_tls;       /* with TLS, the server verified */
	unsigned int alpn; /* offered, bits of enum session_alpn */
};

/* Sets c->server to a connected socket, under TLS where wanted. 1 connected at once; 0 in flight: on_done is called later
 * with NULL (connected) or why not; negative: failed at once, ret_why says why. One dial a
 * connection at a time. why->error -EPROTONOSUPPORT: TLS failed for want of a protocol of alpn. */
int dial_start(struct conn *c, const struct dial_target *target,
	void (*on_done)(struct conn *c, const struct refusal *why), struct refusal *ret_why);
void dial_cancel(struct conn *c);

#endif
