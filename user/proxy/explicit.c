/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The explicit proxy: tells SOCKS5 from HTTP, answers CONNECT. Everything but CONNECT is http.c's.
 * Headers a relay inside the sandbox might add change nothing: only the target counts.
 */
#include "explicit.h"

#include <errno.h>
#include <string.h>

#include "../wire/target.h"
#include "gate.h"
#include "http.h"
#include "pump.h"
#include "refuse.h"
#include "sniff.h"
#include "socks.h"

#define SOCKS5_VERSION 5
#define SOCKS4_VERSION 4
#define TLS_HANDSHAKE 22

static const char name_field[] = "x-nej-name"; /* TUNNEL_NAME_FIELD */

void explicit_resolve_synthetic(struct conn *c, struct host *host)
{
	struct proxy *p = c->proxy;
	struct addr addr = host->addr;

	if (host->kind != HOST_ADDR || p->o.is_gateway || !synth_covers(p->o.synth, &addr))
		return;
	if (synth_hold(p->o.synth, &addr, host) < 0)
		return;
	if (c->is_held)
		synth_release(p->o.synth, &c->dest);
	c->dest = addr;
	c->is_held = c->has_dest = true;
}

/* Outside the sandbox nobody's loopback is meant: it is decided, and refused, as what it is. */
bool explicit_is_loopback(const struct conn *c, const struct host *host)
{
	if (c->proxy->o.is_gateway)
		return false;
	if (host->kind == HOST_NAME)
		return host->is_local;
	return addr_classify(&host->addr, NULL) == NEJ_RANGE_LOOPBACK && !host->is_embedded;
}

int explicit_go(
	struct conn *c, const struct host *host, uint16_t port, int (*reached)(struct conn *c))
{
	struct setup *s = c->setup;
	struct gate_pass pass = {.rule = POLICY_NO_RULE};
	struct refusal why;
	struct ask ask;
	bool is_allowed;

	s->host = *host;
	s->port = port;
	s->is_fixed = true;
	s->reached = reached;
	explicit_resolve_synthetic(c, &s->host);
	s->is_host_port = explicit_is_loopback(c, &s->host);
	if (s->is_host_port)
		is_allowed = gate_host_port(c->proxy, port, &why);
	else
		is_allowed = gate_any(c->proxy, &s->host, port, &pass, &why);
	s->rule = pass.rule;
	s->is_raw_ok = pass.is_raw;
	/* what is inspected is dialled request by request, from the pool */
	if (is_allowed)
		return pass.is_inspect ? reached(c) : sniff_dial(c);
	ask = sniff_ask(c);
	return refuse_connection(c, &ask, &why);
}

int explicit_answered(struct conn *c)
{
	struct setup *s = c->setup;
	int r = 0;

	s->kind = SETUP_CONNECT;
	s->is_answered = true;
	s->step = sniff_step;
	if (s->is_host_port || s->is_raw_ok)
		r = sniff_reached_early(c);
	if (r == 0 && c->setup && s->view_len)
		r = s->step(c);
	return r;
}

static int connect_reached(struct conn *c)
{
	static const char answer[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	int r = half_send(c, &c->server, &c->client, answer, sizeof(answer) - 1, 0);

	return r < 0 ? r : explicit_answered(c);
}

static int refuse_head(struct conn *c, enum nej_reason reason, struct http1_text as_sent)
{
	const struct refusal why = {.reason = reason, .rule = POLICY_NO_RULE};
	const struct ask ask = {
		.app = AUDIT_APP_HTTP,
		.layer = AUDIT_LAYER_PROXY,
		.method = c->setup->kind == SETUP_CONNECT ? (struct http1_text){"CONNECT", 7}
							  : (struct http1_text){0},
		.as_sent = as_sent,
		.wants_json = c->setup->wants_json,
	};

	return refuse_connection(c, &ask, &why);
}

/* A nej before this gateway asks for an address it checked, and says whose it is: the name decides,
 * and it is the name's own addresses, found here, that are dialled. */
static enum nej_reason take_name(
	const struct proxy *p, const struct http1_head *head, struct target *target)
{
	const struct http1_field *field = NULL;
	enum nej_reason reason;
	struct host name;
	uint16_t port;

	for (size_t i = 0; i < head->n_fields; i++) {
		if (!http1_text_is(head->fields[i].name, name_field))
			continue;
		if (field)
			return NEJ_REASON_FRAMING;
		field = &head->fields[i];
	}
	if (!field)
		return NEJ_REASON_NONE;
	if (target_parse_host(field->value, &name, &port) < 0 || name.kind != HOST_NAME)
		return NEJ_REASON_MALFORMED_HOST;
	if (port != target->port ||
		(target->host.kind == HOST_NAME && !host_equal(&name, &target->host)))
		return NEJ_REASON_HOST_MISMATCH;
	reason = target->host.kind == HOST_ADDR
		? policy_check_resolved(*p->o.policy, &target->host.addr)
		: NEJ_REASON_NONE;
	if (reason == NEJ_REASON_NONE)
		target->host = name;
	return reason;
}

static int refuse_target(struct conn *c, const struct refusal *why, const struct target *target)
{
	struct ask ask;

	c->setup->host = target->host;
	c->setup->port = target->port;
	ask = sniff_ask(c);
	return refuse_connection(c, &ask, why);
}

static int step_connect(struct conn *c)
{
	struct http1_head *head = &c->proxy->head;
	struct setup *s = c->setup;
	size_t len = http1_head_end(s->view, s->view_len);
	struct refusal why = {.rule = POLICY_NO_RULE};
	struct target target;
	uint16_t port;
	int r;

	if (!len && s->view_len < NEJ_MAX_HEAD_BYTES)
		return 0;
	s->kind = SETUP_CONNECT;
	if (!len || http1_parse_request(s->view, len, head) < 0)
		return refuse_head(c, NEJ_REASON_FRAMING, (struct http1_text){0});
	s->wants_json = head->wants_json;
	r = target_parse(head->method, head->target, &target);
	if (r == 0 && head->host.ptr) {
		struct host unused;

		r = target_parse_host(head->host, &unused, &port);
	}
	if (r < 0)
		return refuse_head(c, r == -EINVAL ? NEJ_REASON_MALFORMED_HOST : NEJ_REASON_FRAMING,
			head->target);
	if (!gate_admits(c, head, &why))
		return refuse_target(c, &why, &target);
	if (c->proxy->o.is_gateway)
		why.reason = take_name(c->proxy, head, &target);
	if (why.reason != NEJ_REASON_NONE)
		return refuse_target(c, &why, &target);
	setup_take(s, len);
	return explicit_go(c, &target.host, target.port, connect_reached);
}

int explicit_step(struct conn *c)
{
	struct setup *s = c->setup;

	switch ((uint8_t)*s->view) {
	case SOCKS5_VERSION:
		if (c->proxy->o.admits)
			return CONN_RESET; /* its credentials are not looked at */
		s->kind = SETUP_SOCKS;
		s->is_socks = true;
		s->step = socks_step;
		return socks_step(c);
	case TLS_HANDSHAKE:
		s->app = AUDIT_APP_TLS;
		return refuse_head(c, NEJ_REASON_UNKNOWN_PROTOCOL, (struct http1_text){0});
	case SOCKS4_VERSION:
		return CONN_RESET;
	default:
		break;
	}
	if (s->view_len < 8 && !memcmp(s->view, "CONNECT ", s->view_len))
		return 0;
	if (s->view_len >= 8 && !memcmp(s->view, "CONNECT ", 8))
		return step_connect(c);
	return http_start(c);
}
