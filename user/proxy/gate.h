/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way from a connection to the policy's verdict: halted or unrecordable traffic is refused
 * before the policy is asked, what this build cannot do after it. Decides nothing itself. Internal
 * to user/proxy.
 */
#ifndef NEJ_PROXY_GATE_H
#define NEJ_PROXY_GATE_H

#include "record.h"

/* A CONNECT, whose bytes are still to come: could any scheme pass? *ret_is_raw: anything over TCP
 * could, so that the server may speak first. */
bool gate_any(struct proxy *p, const struct host *host, uint16_t port, uint32_t *ret_rule,
	bool *ret_is_raw, struct refusal *ret_why);

/* May a connection of this scheme to host and port pass as it is? True, with the rule; else why
 * not. */
bool gate_connection(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, uint32_t *ret_rule, struct refusal *ret_why);

/* May this request in clear be sent? */
bool gate_request(struct proxy *p, const struct host *host, uint16_t port, struct http1_text method,
	struct http1_text path, uint32_t *ret_rule, struct refusal *ret_why);

/* Is this service of the host's own loopback open? */
bool gate_host_port(struct proxy *p, uint16_t port, struct refusal *ret_why);

#endif
