/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking the policy; see gate.h. */
#include "gate.h"

#include <stdio.h>
#include <sys/socket.h>

static const char needs_inspection[] =
	"the policy looks inside TLS of this host, and this worker has no certificates for it";

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

/* Who tries is all the record can say of a stranger. */
static const char *note_peer(struct conn *c)
{
	char text[ADDR_TEXT_BYTES];
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct endpoint peer;

	if (getpeername(c->client.io.fd, (struct sockaddr *)&sa, &len) < 0 ||
		endpoint_from_sockaddr((struct sockaddr *)&sa, &peer) < 0)
		return NULL;
	snprintf(c->proxy->note, sizeof(c->proxy->note), "from %s", addr_print(&peer.addr, text));
	return c->proxy->note;
}

bool gate_admits(struct conn *c, const struct http1_head *head, struct refusal *ret_why)
{
	const struct proxy_options *o = &c->proxy->o;

	if (!o->admits || o->admits(o->arg, head))
		return true;
	*ret_why = (struct refusal){
		.reason = NEJ_REASON_CREDENTIALS, .rule = POLICY_NO_RULE, .detail = note_peer(c)};
	return false;
}

/* From a decision about a connection to pass or why not. */
static bool is_passable(const struct proxy *p, enum policy_scheme scheme,
	const struct policy_decision *d, struct gate_pass *ret, struct refusal *ret_why)
{
	*ret = (struct gate_pass){.rule = d->rule};
	*ret_why = (struct refusal){.reason = d->reason, .rule = d->rule};
	if (d->verdict == POLICY_DENY)
		return false;
	/* before a gateway stands a nej that saw the URL */
	ret->is_inspect = !p->o.is_gateway && scheme == POLICY_SCHEME_HTTPS &&
		(d->verdict == POLICY_NEED_URL || d->is_inspect);
	if (!ret->is_inspect || p->o.tls)
		return true;
	ret_why->reason = NEJ_REASON_INSPECT_UNAVAILABLE;
	ret_why->detail = needs_inspection;
	return false;
}

/* A refusal comes before CONNECT's 200, not as a TLS alert after it. */
bool gate_any(struct proxy *p, const struct host *host, uint16_t port, struct gate_pass *ret,
	struct refusal *ret_why)
{
	static const enum policy_scheme schemes[] = {
		POLICY_SCHEME_TCP, POLICY_SCHEME_HTTPS, POLICY_SCHEME_HTTP};
	struct policy_ask ask = {.scheme = POLICY_SCHEME_ANY, .host = host, .port = port};
	struct policy_decision d;
	struct refusal why;

	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	if (d.verdict == POLICY_DENY || (d.verdict == POLICY_ALLOW && !d.is_inspect)) {
		bool is_allowed = is_passable(p, POLICY_SCHEME_ANY, &d, ret, ret_why);

		ret->is_raw = is_allowed;
		return is_allowed;
	}
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		ask.scheme = schemes[i];
		policy_decide(*p->o.policy, &ask, &d);
		if (is_passable(p, ask.scheme, &d, ret, &why)) {
			ret->is_raw = ask.scheme == POLICY_SCHEME_TCP;
			return true;
		}
		if (i == 0 || why.reason == NEJ_REASON_INSPECT_UNAVAILABLE)
			*ret_why = why;
	}
	return false;
}

bool gate_connection(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, struct gate_pass *ret, struct refusal *ret_why)
{
	struct policy_ask ask = {.scheme = scheme, .host = host, .port = port};
	struct policy_decision d;

	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	return is_passable(p, scheme, &d, ret, ret_why);
}

bool gate_request(struct proxy *p, enum policy_scheme scheme, const struct host *host,
	uint16_t port, struct http1_text method, struct http1_text path, uint32_t *ret_rule,
	struct refusal *ret_why)
{
	struct policy_ask ask = {
		.scheme = scheme,
		.host = host,
		.port = port,
		.has_url = true,
		.method = method.ptr,
		.method_len = method.len,
		.path = path.ptr,
		.path_len = path.len,
	};
	struct policy_decision d;
	struct gate_pass pass;
	bool is_allowed;

	if (is_shut(p, ret_why))
		return false;
	policy_decide(*p->o.policy, &ask, &d);
	if (d.verdict == POLICY_NEED_URL) { /* with the URL known this is no answer */
		*ret_why = (struct refusal){.reason = NEJ_REASON_INTERNAL, .rule = d.rule};
		return false;
	}
	is_allowed = is_passable(p, scheme, &d, &pass, ret_why);
	*ret_rule = pass.rule;
	return is_allowed;
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
