/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to open connections when another policy comes into force: what it forbids is ended
 * and on record. A connection that is still being dialled is decided again when it arrives (sniff.c,
 * dispatch.c), and a request when it comes; here are those on which bytes go to and fro.
 */
#include <errno.h>
#include <string.h>

#include "conn.h"
#include "gate.h"
#include "half.h"
#include "http.h"
#include "quota.h"
#include "upstream.h"

static int parse_host(const char *text, struct host *ret)
{
	struct addr addr;
	size_t len = strlen(text);

	if (!strchr(text, ':'))
		return host_parse(text, len, ret);
	if (addr_parse(text, len, &addr) < 0)
		return -EINVAL;
	host_from_addr(&addr, ret);
	return 0;
}

static bool is_host_port(const struct host *host)
{
	if (host->kind == HOST_ADDR)
		return addr_classify(&host->addr, NULL) == NEJ_RANGE_LOOPBACK && !host->is_embedded;
	return host->is_local;
}

/* A tunnel, by what it was allowed as. */
static bool is_tunnel_allowed(struct conn *c, uint32_t *ret_rule, struct refusal *ret_why)
{
	static const enum policy_scheme schemes[] = {
		[AUDIT_APP_NONE] = POLICY_SCHEME_ANY,
		[AUDIT_APP_TLS] = POLICY_SCHEME_HTTPS,
		[AUDIT_APP_HTTP] = POLICY_SCHEME_HTTP,
		[AUDIT_APP_DNS] = POLICY_SCHEME_TCP,
		[AUDIT_APP_SOCKS5] = POLICY_SCHEME_ANY,
		[AUDIT_APP_RAW] = POLICY_SCHEME_TCP,
	};
	const struct attempt *a = &c->attempt;
	const char *blank = a->url ? strchr(a->url, ' ') : NULL;
	struct gate_pass pass;
	struct host host;
	bool is_allowed;

	*ret_why = (struct refusal){.reason = NEJ_REASON_INTERNAL, .rule = POLICY_NO_RULE};
	*ret_rule = POLICY_NO_RULE;
	if (parse_host(a->host, &host) < 0)
		return false;
	if (is_host_port(&host))
		return gate_host_port(c->proxy, a->port, ret_why);
	if (blank) /* a WebSocket: it was a request, and inside TLS if its client's side is */
		return gate_request(c->proxy,
			c->client.tls || c->client.stream ? POLICY_SCHEME_HTTPS
							  : POLICY_SCHEME_HTTP,
			&host, a->port, (struct http1_text){a->url, (size_t)(blank - a->url)},
			(struct http1_text){blank + 1, strlen(blank + 1)}, ret_rule, ret_why);
	is_allowed = gate_connection(c->proxy, schemes[a->app], &host, a->port, &pass, ret_why);
	*ret_rule = pass.rule;
	/* what is to be looked into now cannot be from the middle on */
	if (is_allowed && pass.is_inspect && !c->proxy->o.is_gateway)
		is_allowed = false;
	return is_allowed;
}

static bool may_stay(struct conn *c, struct refusal *ret_why)
{
	uint32_t rule;

	if (c->setup || c->dial || c->mux || !c->attempt.host)
		return true;
	if (c->http)
		return http_is_allowed_still(c, ret_why);
	if (!is_tunnel_allowed(c, &rule, ret_why))
		return false;
	/* a grant lets nothing go another way that goes already */
	if (!policy_is_grant(rule) &&
		(upstream_route(c) != 0) != (upstream_route_of(c, rule) != 0)) {
		*ret_why = (struct refusal){.reason = NEJ_REASON_RULE, .rule = rule};
		return false; /* it goes another way now */
	}
	record_readmit(c, rule);
	return true;
}

size_t proxy_review(struct proxy *proxy)
{
	struct conn *c = proxy->conns;
	size_t n = 0;

	while (c) {
		struct refusal why;

		if (may_stay(c, &why)) {
			c = c->next;
			continue;
		}
		why.detail = "the policy that came into force forbids what was open";
		record_revoked(c, &why);
		conn_close(c, CONN_RESET);
		n++;
		/* others may have gone with it; those seen already are allowed once more */
		c = proxy->conns;
	}
	return n;
}

void proxy_review_limits(struct proxy *proxy)
{
	quota_review(proxy->o.quota, *proxy->o.policy);
}

void proxy_cut(struct proxy *proxy)
{
	while (proxy->conns)
		conn_close(proxy->conns, CONN_RESET);
}
