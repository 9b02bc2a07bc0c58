/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the proxy's tests put in place of the policy, the resolver, the synthetic addresses, the
 * flows map and the audit ring: they say what the test wrote into `w`. Read world.h next.
 */
#ifndef NEJ_TEST_STANDINS_H
#define NEJ_TEST_STANDINS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/clock.h"
#include "../../../user/kernel/origin.h"
#include "../../../user/policy/secret.h"
#include "../../../user/proxy/proxy.h"
#include "../wire/hello.h"

#define WAIT_MS 5000
#define QUIET_MS 150

/* --- the policy: what the test says */

struct world_rule {
	const char *host;          /* NULL: any */
	uint16_t port;             /* 0: any */
	enum policy_scheme scheme; /* ANY: all */
	const char *path;          /* prefix; NULL: all */
	enum policy_verdict verdict;
	bool is_inspect;
	enum policy_transport transport;
	uint8_t via;     /* of transport upstream: index of w.upstreams */
	const char *mcp; /* the one tool that may be called; NULL: no such option */
	bool denies_hosted;
};

struct world_name {
	const char *name;
	const char *addrs[4];
	int status;   /* instead of addresses */
	bool is_late; /* answered after the call returned */
};

struct world_event {
	enum audit_kind kind;
	enum nej_reason reason;
	enum audit_app app;
	enum audit_layer layer;
	uint16_t port, status;
	char host[300], method[32], url[300], detail[300];
	uint64_t bytes_out, bytes_in;
};

static struct world {
	struct loop *loop;
	struct proxy *proxy;
	pthread_t thread;
	int stop_fd;
	struct loop_io stop;
	uint16_t port, eager_port;
	const struct world_rule *rules;
	struct world_name names[8];
	struct nej_origin origin;
	bool has_origin;
	struct addr synthetic; /* stands for synthetic_name */
	const char *synthetic_name;
	_Atomic int n_held;
	enum nej_reason may_pass;
	bool is_ring_full, is_drained; /* drained: amending comes too late */
	bool denies_private;
	struct policy_upstream upstreams[2];
	uint16_t host_port;
	uint64_t max_connections;
	struct policy_limits sandbox_limits, rule_limits;
	pthread_mutex_t lock;
	struct world_event events[64];
	size_t n_events;
	_Atomic int n_lookups;
	void (*on_start)(const struct proxy_options *o); /* before the loop runs; once */
} w = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline bool rule_matches(const struct world_rule *r, const struct policy_ask *ask)
{
	if (r->host && strcmp(r->host, ask->host->name))
		return false;
	if (r->port && r->port != ask->port)
		return false;
	return r->scheme == POLICY_SCHEME_ANY || ask->scheme == POLICY_SCHEME_ANY ||
		r->scheme == ask->scheme;
}

/* No alias is told, so none is asked about. */
bool policy_is_default_allow(const struct policy *p)
{
	(void)p;
	return false;
}

void policy_decide_dns(const struct policy *p, const struct host *name, struct policy_decision *ret)
{
	const struct policy_ask ask = {.scheme = POLICY_SCHEME_ANY, .host = name, .port = 443};

	policy_decide(p, &ask, ret);
}

void policy_decide(
	const struct policy *p, const struct policy_ask *ask, struct policy_decision *ret)
{
	(void)p;
	*ret = (struct policy_decision){.verdict = POLICY_DENY,
		.reason = ask->host->kind == HOST_ADDR ? NEJ_REASON_ADDRESS_LITERAL
						       : NEJ_REASON_NO_RULE,
		.rule = POLICY_NO_RULE};
	for (size_t i = 0; w.rules && (w.rules[i].host || w.rules[i].verdict); i++) {
		const struct world_rule *r = &w.rules[i];

		if (!rule_matches(r, ask))
			continue;
		if (r->path && ask->has_url &&
			(ask->path_len < strlen(r->path) ||
				memcmp(r->path, ask->path, strlen(r->path))))
			continue;
		ret->verdict = r->verdict;
		if (r->path && !ask->has_url)
			ret->verdict = POLICY_NEED_URL;
		if (ask->scheme == POLICY_SCHEME_ANY && r->scheme != POLICY_SCHEME_ANY)
			ret->verdict = POLICY_NEED_URL;
		ret->reason = NEJ_REASON_RULE;
		ret->rule = (uint32_t)i;
		ret->is_inspect = r->is_inspect;
		ret->transport = r->transport;
		return;
	}
}

enum nej_reason policy_check_resolved(const struct policy *p, const struct addr *addr)
{
	enum nej_range range = addr_classify(addr, NULL);

	(void)p;
	/* the servers of these tests are on loopback */
	if (range == NEJ_RANGE_LOOPBACK || range == NEJ_RANGE_GLOBAL)
		return NEJ_REASON_NONE;
	return NEJ_REASON_PRIVATE_ADDRESS;
}

bool policy_has_host_port(const struct policy *p, uint16_t port)
{
	(void)p;
	return w.host_port && w.host_port == port;
}

bool policy_rule(const struct policy *p, uint32_t rule, struct policy_rule_info *ret)
{
	static _Thread_local char text[32];

	(void)p;
	if (rule == POLICY_NO_RULE)
		return false;
	snprintf(text, sizeof(text), "deny: some.test #%u", rule);
	*ret = (struct policy_rule_info){.line = 7 + rule, .text = text};
	return rule < 5000;
}

bool policy_upstream(const struct policy *p, uint32_t rule, struct policy_upstream *ret)
{
	(void)p;
	if (rule == POLICY_NO_RULE || w.rules[rule].transport != POLICY_TRANSPORT_UPSTREAM)
		return false;
	*ret = w.upstreams[w.rules[rule].via];
	ret->index = w.rules[rule].via;
	return true;
}

bool policy_rule_has_mcp(const struct policy *p, uint32_t rule)
{
	(void)p;
	return rule != POLICY_NO_RULE && w.rules[rule].mcp;
}

const char *policy_mcp_tool(const struct policy *p, uint32_t rule, size_t i, size_t *ret_len)
{
	if (!policy_rule_has_mcp(p, rule) || i)
		return NULL;
	*ret_len = strlen(w.rules[rule].mcp);
	return w.rules[rule].mcp;
}

bool policy_denies_hosted_tools(const struct policy *p, uint32_t rule)
{
	(void)p;
	return rule != POLICY_NO_RULE && w.rules[rule].denies_hosted;
}

bool policy_has_rules(const struct policy *p)
{
	(void)p;
	return true;
}

bool policy_audits_allowed(const struct policy *p)
{
	(void)p;
	return true;
}

bool policy_fails_closed(const struct policy *p)
{
	(void)p;
	return true;
}

void policy_limits(const struct policy *p, uint32_t rule, struct policy_limits *ret)
{
	(void)p;
	*ret = rule == POLICY_NO_RULE ? w.sandbox_limits : w.rule_limits;
}

uint64_t policy_max_connections(const struct policy *p)
{
	(void)p;
	return w.max_connections;
}

/* No sandbox of these tests has secrets. */
size_t policy_secret_count(const struct policy *p)
{
	(void)p;
	return 0;
}

bool policy_secret(const struct policy *p, size_t i, struct policy_secret *ret)
{
	(void)p;
	(void)i;
	(void)ret;
	return false;
}

size_t policy_secrets_for(
	const struct policy *p, const struct host *host, uint16_t port, uint16_t *ret, size_t max)
{
	(void)p;
	(void)host;
	(void)port;
	(void)ret;
	(void)max;
	return 0;
}

const char *policy_sha256(const struct policy *p)
{
	(void)p;
	return "";
}

/* --- names */

static struct resolve_request *late_request;
static struct resolve_answer late_answer;
static struct loop_timer late_timer;

static inline void on_late(struct loop_timer *timer)
{
	struct resolve_request *req = late_request;

	(void)timer;
	late_request = NULL;
	if (req)
		req->on_answer(req, 0, &late_answer);
}

int resolve_addrs(struct resolve *r, const struct host *name, struct resolve_request *req)
{
	struct resolve_answer a = {.ttl_s = 60};

	(void)r;
	w.n_lookups++;
	for (size_t i = 0; i < ARRAY_SIZE(w.names); i++) {
		const struct world_name *n = &w.names[i];

		if (!n->name || strcmp(n->name, name->name))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(n->addrs) && n->addrs[k]; k++)
			addr_parse(n->addrs[k], strlen(n->addrs[k]), &a.addrs[a.n_addrs++]);
		if (!n->is_late) {
			req->on_answer(req, n->status, &a);
			return 0;
		}
		late_request = req;
		late_answer = a;
		req->query = &late_answer;
		late_timer.on_timeout = on_late;
		return loop_timer_set(w.loop, &late_timer, 30);
	}
	req->on_answer(req, -ENOENT, &a);
	return 0;
}

void resolve_cancel(struct resolve *r, struct resolve_request *req)
{
	(void)r;
	if (late_request == req)
		late_request = NULL;
	req->query = NULL;
}

bool synth_covers(const struct synth *s, const struct addr *addr)
{
	(void)s;
	return w.synthetic_name && addr_equal(addr, &w.synthetic);
}

int synth_hold(struct synth *s, const struct addr *addr, struct host *ret)
{
	(void)s;
	(void)addr;
	w.n_held++;
	return host_parse(w.synthetic_name, strlen(w.synthetic_name), ret);
}

void synth_release(struct synth *s, const struct addr *addr)
{
	(void)s;
	(void)addr;
	w.n_held--;
}

int origin_find(int flows_fd, const struct endpoint *client, struct nej_origin *ret)
{
	(void)flows_fd;
	(void)client;
	if (!w.has_origin)
		return -ENOENT;
	*ret = w.origin;
	return 0;
}

/* --- records */

bool audit_ring_has_room(const struct audit_ring *ring)
{
	(void)ring;
	return !w.is_ring_full;
}

static inline void copy_text(char *to, size_t size, struct audit_text t)
{
	snprintf(to, size, "%.*s", (int)t.len, t.ptr ? t.ptr : "");
}

int audit_ring_put(struct audit_ring *ring, const struct audit_event *e, uint64_t *ret_ticket)
{
	struct world_event *to;

	(void)ring;
	if (w.is_ring_full)
		return -ENOSPC;
	pthread_mutex_lock(&w.lock);
	assert_true(w.n_events < ARRAY_SIZE(w.events));
	to = &w.events[w.n_events++];
	*to = (struct world_event){.kind = e->kind,
		.reason = e->reason,
		.app = e->app,
		.layer = e->layer,
		.port = e->port,
		.status = e->status,
		.bytes_out = e->bytes_out,
		.bytes_in = e->bytes_in};
	copy_text(to->host, sizeof(to->host), e->host);
	copy_text(to->method, sizeof(to->method), e->method);
	copy_text(to->url, sizeof(to->url), e->url);
	copy_text(to->detail, sizeof(to->detail), e->detail);
	if (ret_ticket)
		*ret_ticket = w.n_events - 1;
	pthread_mutex_unlock(&w.lock);
	return 0;
}

bool audit_ring_amend(struct audit_ring *ring, uint64_t ticket, uint64_t bytes_out,
	uint64_t bytes_in, uint64_t duration_us)
{
	(void)ring;
	(void)duration_us;
	if (w.is_drained)
		return false;
	pthread_mutex_lock(&w.lock);
	w.events[ticket].bytes_out = bytes_out;
	w.events[ticket].bytes_in = bytes_in;
	pthread_mutex_unlock(&w.lock);
	return true;
}

static inline size_t count_events(void)
{
	size_t n;

	pthread_mutex_lock(&w.lock);
	n = w.n_events;
	pthread_mutex_unlock(&w.lock);
	return n;
}

/* Waits for the n-th event (from 0). */
static inline struct world_event event_at(size_t n)
{
	struct world_event e;

	for (int i = 0; i < WAIT_MS && count_events() <= n; i++)
		usleep(1000);
	assert_true(count_events() > n);
	pthread_mutex_lock(&w.lock);
	e = w.events[n];
	pthread_mutex_unlock(&w.lock);
	return e;
}

#endif
