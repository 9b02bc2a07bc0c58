/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way from a connection to the policy's verdict: halted or unrecordable traffic is refused
 * before the policy is asked, what this worker cannot do after it. Decides nothing itself. Internal
 * to user/proxy.
 */
#ifndef NEJ_PROXY_GATE_H
#define NEJ_PROXY_GATE_H

#include "record.h"

/* Of a request to the proxy itself: does it carry the credentials that are wanted? */
bool gate_admits(struct conn *c, const struct http1_head *head, struct refusal *ret_why);

struct gate_pass {
	uint32_t rule;
	bool is_raw;     /* anything over TCP may pass, so that the server may speak first */
	bool is_inspect; /* TLS is to be terminated and each request decided */
};

/* A CONNECT, whose bytes are still to come: could any scheme pass? is_inspect: as TLS it would be
 * terminated, and nothing else may pass without its requests being seen. */
bool gate_any(struct proxy *p, const struct host *host, uint16_t port, struct gate_pass *ret,
	struct refusal *ret_why);

/* May a connection of this scheme to host and port pass? True, with the rule and how; else why
 * not. */
bool gate_connection(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, struct gate_pass *ret, struct refusal *ret_why);

/* May this request be sent? scheme: HTTP or HTTPS. */
bool gate_request(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, struct http1_text method, struct http1_text path, uint32_t *ret_rule,
	struct refusal *ret_why);

/* Is this service of the host's own loopback open? */
bool gate_host_port(struct proxy *p, uint16_t port, struct refusal *ret_why);

#endif
