/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking the policy; see gate.h. */
#include "gate.h"

static const char needs_inspection[] =
	"the policy looks at method, path or secrets of this host, and TLS hides them";

/* Reasons that hold whatever the policy says. */
static bool is_shut(struct proxy *p, struct refusal *ret_why)
{
	enum nej_reason reason = p->o.may_pass(p->o.arg);

	if (reason == NEJ_REASON_NONE && policy_fails_closed(*p->o.policy) &&
		!audit_ring_has_room(p->o.ring))
		reason = NEJ_REASON_AUDIT_UNAVAILABLE;
	*ret_why = (struct refusal){.reason = reason, .rule = POLICY_NO_RULE};
	return reason != NEJ_REASON_NONE;
}

/* From a decision about a connection to pass or why not. */
static bool is_passable(enum policy_scheme scheme, const struct policy_decision *d,
	uint32_t *ret_rule, struct refusal *ret_why)
{
	*ret_rule = d->rule;
	*ret_why = (struct refusal){.reason = d->reason, .rule = d->rule};
	if (d->verdict == POLICY_DENY)
		return false;
	if (scheme == POLICY_SCHEME_HTTPS && (d->verdict == POLICY_NEED_URL || d->is_inspect)) {
		ret_why->reason = NEJ_REASON_INSPECT_UNAVAILABLE;
		ret_why->detail = needs_inspection;
		return false;
	}
	return true;
}

/* A refusal comes before CONNECT's 200, not as a TLS alert after it. Where inspection alone is in
 * the way, that is the reason given. */
bool gate_any(struct proxy *p, const struct host *host, uint16_t port, uint32_t *ret_rule,
	bool *ret_is_raw, struct refusal *ret_why)
{
	static const enum policy_scheme schemes[] = {
		POLICY_SCHEME_TCP, POLICY_SCHEME_HTTPS, POLICY_SCHEME_HTTP};
	struct policy_ask ask = {.scheme = POLICY_SCHEME_ANY, .host = host, .port = port};
	struct policy_decision d;
	struct refusal why;

	*ret_is_raw = false;
	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	*ret_is_raw = d.verdict == POLICY_ALLOW && !d.is_inspect;
	if (d.verdict == POLICY_DENY || *ret_is_raw)
		return is_passable(POLICY_SCHEME_ANY, &d, ret_rule, ret_why);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		ask.scheme = schemes[i];
		policy_decide(*p->o.policy, &ask, &d);
		if (is_passable(ask.scheme, &d, ret_rule, &why)) {
			*ret_is_raw = ask.scheme == POLICY_SCHEME_TCP;
			return true;
		}
		if (i == 0 || why.reason == NEJ_REASON_INSPECT_UNAVAILABLE)
			*ret_why = why;
	}
	return false;
}

bool gate_connection(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, uint32_t *ret_rule, struct refusal *ret_why)
{
	struct policy_ask ask = {.scheme = scheme, .host = host, .port = port};
	struct policy_decision d;

	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	return is_passable(scheme, &d, ret_rule, ret_why);
}

bool gate_request(struct proxy *p, const struct host *host, uint16_t port, struct http1_text method,
	struct http1_text path, uint32_t *ret_rule, struct refusal *ret_why)
{
	struct policy_ask ask = {
		.scheme = POLICY_SCHEME_HTTP,
		.host = host,
		.port = port,
		.has_url = true,
		.method = method.ptr,
		.method_len = method.len,
		.path = path.ptr,
		.path_len = path.len,
	};
	struct policy_decision d;

	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	if (d.verdict == POLICY_NEED_URL) { /* with the URL known this is no answer */
		*ret_why = (struct refusal){.reason = NEJ_REASON_INTERNAL, .rule = d.rule};
		return false;
	}
	return is_passable(POLICY_SCHEME_HTTP, &d, ret_rule, ret_why);
}

bool gate_host_port(struct proxy *p, uint16_t port, struct refusal *ret_why)
{
	if (is_shut(p, ret_why))
		return false;
	if (policy_has_host_port(*p->o.policy, port))
		return true;
	ret_why->reason = NEJ_REASON_LOOPBACK;
	return false;
}
