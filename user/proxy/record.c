/* SPDX-License-Identifier: GPL-2.0-only */
/* From a connection to its audit events; see record.h. */
#include "record.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/meter.h"
#include "quota.h"

static void fill(struct conn *c, enum audit_kind kind, struct audit_event *ret)
{
	const struct proxy_options *o = &c->proxy->o;

	*ret = (struct audit_event){
		.kind = (uint8_t)kind,
		.proto = IPPROTO_TCP,
		.has_addr = c->has_dest,
		.rule = AUDIT_NO_RULE,
		.generation = *o->generation,
		.pid = c->process.pid,
		.uid = c->process.uid,
		.cgroup_id = c->process.cgroup_id,
		.count = 1,
		.time_us = clock_real_us(),
		.duration_us = (clock_monotonic_ns() - c->attempt.start_ns) / 1000,
		.bytes_out = c->attempt.bytes_out,
		.bytes_in = c->attempt.bytes_in,
		.addr = c->dest,
	};
	memcpy(ret->comm, c->process.comm, sizeof(ret->comm));
}

static struct audit_text text_of(struct http1_text t)
{
	return (struct audit_text){t.ptr, (uint32_t)t.len};
}

static void fill_ask(const struct conn *c, const struct ask *ask, struct audit_event *e)
{
	e->app = ask->app;
	e->layer = c->proxy->o.is_gateway ? AUDIT_LAYER_GATEWAY : ask->layer;
	e->port = ask->port;
	e->method = text_of(ask->method);
	e->url = text_of(ask->url);
	if (ask->host)
		e->host = (struct audit_text){ask->host->name, ask->host->len};
	else
		e->host = text_of(ask->as_sent);
	if (!e->has_addr && ask->host && ask->host->kind == HOST_ADDR) {
		e->has_addr = 1;
		e->addr = ask->host->addr;
	}
}

void record_start(struct conn *c)
{
	c->attempt.start_ns = clock_monotonic_ns();
	c->attempt.bytes_out = c->attempt.bytes_in = 0;
}

/* What the closing record must repeat. */
static void keep(struct conn *c, const struct ask *ask, uint32_t rule)
{
	struct attempt *a = &c->attempt;

	free(a->host);
	a->host = ask->host ? strdup(ask->host->name) : strdup("");
	a->rule = rule;
	a->generation = *c->proxy->o.generation;
	a->port = ask->port;
	a->app = ask->app;
	a->layer = c->proxy->o.is_gateway ? AUDIT_LAYER_GATEWAY : ask->layer;
}

static void release(struct conn *c)
{
	struct attempt *a = &c->attempt;

	quota_end(a->slot);
	a->slot = NULL;
	a->is_admitted = a->is_metered = false;
}

static void take_grant(struct attempt *a, uint32_t rule, const struct quota_grant *grant)
{
	a->rule = rule;
	a->slot = grant->slot;
	a->is_admitted = true;
	a->is_metered = grant->is_metered;
}

int record_admit(struct conn *c, uint32_t rule, struct refusal *ret_why)
{
	struct attempt *a = &c->attempt;
	struct quota_grant grant;
	int r;

	if (a->is_admitted && a->rule == rule)
		return 0;
	release(c);
	r = quota_begin(
		c->proxy->o.quota, *c->proxy->o.policy, rule, loop_now_ms(c->proxy->loop), &grant);
	if (r < 0) {
		*ret_why = (struct refusal){.reason = NEJ_REASON_LIMIT,
			.rule = rule,
			.detail = grant.detail,
			.limit = grant.limit,
			.retry_s = grant.retry_s};
		return r;
	}
	take_grant(a, rule, &grant);
	return 0;
}

void record_readmit(struct conn *c, uint32_t rule)
{
	struct attempt *a = &c->attempt;
	struct quota_grant grant;

	release(c);
	/* what is there already may stay though there is no room for one more */
	(void)quota_begin(
		c->proxy->o.quota, *c->proxy->o.policy, rule, loop_now_ms(c->proxy->loop), &grant);
	take_grant(a, rule, &grant);
	a->generation = *c->proxy->o.generation;
}

int record_allowed(struct conn *c, const struct ask *ask, uint32_t rule, struct refusal *ret_why)
{
	const struct policy *policy = *c->proxy->o.policy;
	struct audit_event e;
	int r = record_admit(c, rule, ret_why);

	if (r < 0)
		return r;
	keep(c, ask, rule);
	if (!policy_audits_allowed(policy))
		return 0;
	fill(c, AUDIT_NETWORK_ALLOWED, &e);
	fill_ask(c, ask, &e);
	e.reason = NEJ_REASON_RULE;
	e.rule = rule;
	if (ask->note)
		e.detail = (struct audit_text){ask->note, (uint32_t)strlen(ask->note)};
	if (rule == POLICY_NO_RULE)
		e.reason = NEJ_REASON_NO_RULE; /* default: allow, or host_ports */
	if (audit_ring_put(c->proxy->o.ring, &e, &c->attempt.ticket) < 0) {
		*ret_why = (struct refusal){.reason = NEJ_REASON_AUDIT_UNAVAILABLE, .rule = rule};
		return policy_fails_closed(policy) ? -ENOSPC : 0;
	}
	c->attempt.has_ticket = true;
	return 0;
}

/* Of the attempt that goes on. */
void record_revoked(struct conn *c, const struct refusal *why)
{
	const struct attempt *a = &c->attempt;
	struct ask ask = {.port = a->port, .app = a->app, .layer = a->layer};

	if (a->host)
		ask.as_sent = (struct http1_text){a->host, strlen(a->host)};
	record_refused(c, &ask, why, 0);
}

void record_limit(struct conn *c, const char *detail)
{
	const struct refusal why = {
		.reason = NEJ_REASON_LIMIT, .rule = c->attempt.rule, .detail = detail};

	record_revoked(c, &why);
}

size_t record_room(const struct conn *c, bool is_out, size_t max_bytes)
{
	const struct attempt *a = &c->attempt;

	if (!a->is_metered)
		return max_bytes;
	return quota_room(c->proxy->o.quota, *c->proxy->o.policy, a->slot, is_out, max_bytes);
}

int record_bytes(struct conn *c, uint64_t bytes_out, uint64_t bytes_in)
{
	struct attempt *a = &c->attempt;

	if (a->is_metered &&
		quota_spend(c->proxy->o.quota, *c->proxy->o.policy, a->slot, bytes_out, bytes_in) <
			0)
		return -EDQUOT;
	meter_count(c->proxy->o.meter, METER_RELAYED_OUT, bytes_out);
	meter_count(c->proxy->o.meter, METER_RELAYED_IN, bytes_in);
	a->bytes_out += bytes_out;
	a->bytes_in += bytes_in;
	return 0;
}

struct refusal record_spent(const struct conn *c)
{
	return (struct refusal){.reason = NEJ_REASON_LIMIT,
		.rule = c->attempt.rule,
		.detail = "the bytes that limits allow are used up",
		.limit = QUOTA_BYTES};
}

int record_cut(struct conn *c)
{
	const struct refusal why = record_spent(c);

	record_revoked(c, &why);
	return -EDQUOT;
}

void record_refused(
	struct conn *c, const struct ask *ask, const struct refusal *why, uint16_t status)
{
	bool is_failure = why->reason == NEJ_REASON_UPSTREAM_REFUSED ||
		why->reason == NEJ_REASON_RESOLVE_FAILED;
	struct audit_event e;

	fill(c, is_failure ? AUDIT_NETWORK_FAILED : AUDIT_NETWORK_BLOCKED, &e);
	fill_ask(c, ask, &e);
	e.reason = (uint8_t)why->reason;
	e.rule = why->rule;
	e.status = status;
	if (why->detail || why->error) {
		e.detail.ptr = why->detail ? why->detail : strerror(-why->error);
		e.detail.len = (uint32_t)strlen(e.detail.ptr);
	}
	audit_ring_put(c->proxy->o.ring, &e, NULL);
}

void record_secret(struct conn *c, enum audit_kind kind, const struct ask *ask, uint32_t rule,
	const char *secret)
{
	struct audit_event e;

	fill(c, kind, &e);
	fill_ask(c, ask, &e);
	e.bytes_out = e.bytes_in = 0; /* the attempt's own record has them */
	e.reason = rule == POLICY_NO_RULE ? NEJ_REASON_NO_RULE : NEJ_REASON_RULE;
	e.rule = rule;
	e.detail = (struct audit_text){secret, (uint32_t)strlen(secret)};
	audit_ring_put(c->proxy->o.ring, &e, NULL);
}

static void put_totals(struct conn *c)
{
	struct attempt *a = &c->attempt;
	struct audit_event e;

	fill(c, AUDIT_NETWORK_CLOSED, &e);
	if (!audit_ring_amend(
		    c->proxy->o.ring, a->ticket, a->bytes_out, a->bytes_in, e.duration_us)) {
		e.app = a->app;
		e.layer = a->layer;
		e.port = a->port;
		e.reason = a->rule == POLICY_NO_RULE ? NEJ_REASON_NO_RULE : NEJ_REASON_RULE;
		e.rule = a->rule;
		e.generation = a->generation;
		if (a->host)
			e.host = (struct audit_text){a->host, (uint32_t)strlen(a->host)};
		audit_ring_put(c->proxy->o.ring, &e, NULL);
	}
}

void record_end(struct conn *c)
{
	struct attempt *a = &c->attempt;

	release(c);
	if (a->has_ticket)
		put_totals(c);
	a->has_ticket = false;
	free(a->host);
	free(a->url);
	a->host = a->url = NULL;
}
