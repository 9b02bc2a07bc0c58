/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one decision function of user space: a compiled policy and a question in, a verdict out.
 * Pure but for the clock that ends grants (overlay.h), no allocation, no I/O; host rules cost the
 * same however many there are. The policy is a position-independent image (compile.h) mapped
 * read-only, so that proxy and stub share it.
 */
#ifndef NEJ_POLICY_DECIDE_H
#define NEJ_POLICY_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/abi.h"
#include "../wire/host.h"
#include "secret.h"

struct policy; /* opaque: a mapped image */

enum policy_scheme {
	POLICY_SCHEME_ANY,   /* not known yet (CONNECT, first bytes still to come) */
	POLICY_SCHEME_HTTPS, /* TLS was seen */
	POLICY_SCHEME_HTTP,  /* an HTTP/1 request in clear was seen */
	POLICY_SCHEME_TCP,   /* any other protocol, or one that does not identify itself */
	POLICY_SCHEME_UDP,
};

enum policy_transport {
	POLICY_TRANSPORT_DIRECT,
	POLICY_TRANSPORT_UPSTREAM,
	POLICY_TRANSPORT_KERNEL,
};

struct policy_ask {
	enum policy_scheme scheme;
	const struct host *host; /* a name or an address literal */
	uint16_t port;
	bool has_url;       /* method and path are known */
	const char *method; /* not NUL-terminated */
	size_t method_len;
	const char *path; /* request target's path as sent (query and fragment may follow) */
	size_t path_len;
};

enum policy_verdict {
	POLICY_DENY,
	POLICY_ALLOW,
	POLICY_NEED_URL, /* the host's rules differ by method or path: each request is decided */
};

#define POLICY_NO_RULE UINT32_MAX

/* Is it a grant's number, NEJ_RULE_GRANT and its id? Else it is an index, or POLICY_NO_RULE. */
static inline bool policy_is_grant(uint32_t rule)
{
	return rule >= NEJ_RULE_GRANT && rule != POLICY_NO_RULE;
}

struct policy_decision {
	enum policy_verdict verdict;
	enum nej_reason reason;
	uint32_t rule; /* index, a grant's number, or POLICY_NO_RULE */
	enum policy_transport transport;
	bool is_inspect; /* TLS is terminated for this host (NEED_URL, inspect: true, secrets) */
	bool may_speak_first; /* an allowed TCP target whose server may send before the client */
};

/* With scheme ANY and no URL: DENY only if no scheme, method or path to this host and port could be
 * allowed (a CONNECT or a connection whose bytes have not come); ALLOW if all could. */
void policy_decide(
	const struct policy *p, const struct policy_ask *ask, struct policy_decision *ret);

/* ask DNS: could any request to this name be allowed? */
void policy_decide_dns(
	const struct policy *p, const struct host *name, struct policy_decision *ret);

/* Could any connection need TLS to be terminated: a path or method over https, `inspect`, secrets? */
bool policy_inspects(const struct policy *p);

/* May a name that was allowed be reached at this address (special ranges, `private`)? NONE if so,
 * else the reason. Host's own addresses are checked by the dialler. */
enum nej_reason policy_check_resolved(const struct policy *p, const struct addr *addr);

/* Is this port of the host's loopback open (`host_ports`)? */
bool policy_has_host_port(const struct policy *p, uint16_t port);

struct policy_rule_info {
	unsigned int line; /* 0: a grant, no line of the policy */
	const char *text;  /* the matching rule as written, NUL-terminated */
	const char *note;  /* NULL without one */
};

/* False for POLICY_NO_RULE. */
bool policy_rule(const struct policy *p, uint32_t rule, struct policy_rule_info *ret);

/* When a grant ends, CLOCK_BOOTTIME; 0: it is none. */
uint64_t policy_rule_expiry(const struct policy *p, uint32_t rule);

/* A forward proxy. Strings live as long as the policy. */
struct policy_upstream {
	uint32_t index; /* tells one from another within a policy */
	const char *name;
	struct host host;
	uint16_t port;
	bool is_tls;
	bool is_by_name;     /* CONNECT names the host: the proxy resolves it, and checks */
	const char *ca_path; /* as the policy names it; NULL: the system's roots */
	const char *ca;      /* what the file held, PEM */
	size_t ca_len;
	const char *username, *password; /* NULL: none */
};

/* The forward proxy of a rule with `transport: upstream`; false for any other rule. */
bool policy_upstream(const struct policy *p, uint32_t rule, struct policy_upstream *ret);
bool policy_has_tls_upstream(const struct policy *p); /* is one of them spoken to in TLS? */

/* `mcp:` of a rule: its requests are JSON-RPC, and only tools that allow it may be called. */
bool policy_rule_has_mcp(const struct policy *p, uint32_t rule);
/* Is the tool among `mcp.tools` (`*` stands for any run of characters)? True without `mcp:`. */
bool policy_mcp_allows(const struct policy *p, uint32_t rule, const char *tool, size_t len_bytes);
/* Tool number i of `mcp.tools` as written, NULL behind the last. */
const char *policy_mcp_tool(const struct policy *p, uint32_t rule, size_t i, size_t *ret_len);
/* `hosted_tools: deny` of a rule: no model API may be asked to search or fetch by itself. */
bool policy_denies_hosted_tools(const struct policy *p, uint32_t rule);

enum policy_dns_mode {
	POLICY_DNS_SYNTHETIC,
	POLICY_DNS_RESOLVE,
	POLICY_DNS_BLACKHOLE,
};

enum policy_dns_mode policy_dns_mode(const struct policy *p);
bool policy_is_default_allow(const struct policy *p);
bool policy_has_rules(const struct policy *p);
bool policy_audits_allowed(const struct policy *p);      /* audit: {allowed: …} */
bool policy_fails_closed(const struct policy *p);        /* audit: {on_failure: deny} */
uint64_t policy_max_connections(const struct policy *p); /* limits; 0: none */

struct policy_limits { /* 0: none */
	uint64_t connections, bytes_out, bytes_in, requests_per_minute;
};

/* The sandbox's limits (POLICY_NO_RULE), or those of one rule. */
void policy_limits(const struct policy *p, uint32_t rule, struct policy_limits *ret);
const char *policy_sha256(const struct policy *p); /* 64 hex digits, of the file and its lists */

/* `resolver:` of the policy; returns how many, at most max. */
size_t policy_resolvers(const struct policy *p, struct endpoint *ret, size_t max);

#endif
