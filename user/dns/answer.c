/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides and answers one question; see answer.h. */
/*
 * Theory of operation. In this order, first that applies:
 *   not readable, another opcode or class     FORMERR, NOTIMP, REFUSED
 *   localhost and loopback addresses          answered here
 *   address of a synthetic pair, reversed     its name
 *   the policy says no                        NXDOMAIN with an extended error; nothing is asked
 *   a reversed address                        asked outside only where a rule names its zone
 *   blackhole                                 no data: programs must use the explicit proxy
 *   A, AAAA    synthetic: the pair, nothing is asked
 *              resolve, or transport kernel: the host resolver's addresses, each checked
 *   ANY        a minimal HINFO (RFC 8482)
 *   known type the host resolver's records, built anew; within the budget of upstream questions
 *   other      no data
 * A lookup in flight holds a copy of the question; its client may go meanwhile (answer_forget).
 */
#include "answer.h"

#include <errno.h>
#include <netinet/in.h>

#include "../base/cleanup.h"
#include "ask.h"
#include "reply.h"

#define CLASS_IN 1
#define SYNTH_TTL_S 60
#define LOCAL_TTL_S 3600
#define UPSTREAM_PER_S 50
#define UPSTREAM_BURST 300
#define TOKEN 1000

void answer_init(struct answer *a, const struct stub_options *options)
{
	*a = (struct answer){.o = *options, .tokens_ms = UPSTREAM_BURST * TOKEN};
	a->refilled_ms = loop_now_ms(options->loop);
}

void answer_done(struct answer *a)
{
	ask_done(a);
}

void answer_forget(struct answer *a, const void *owner)
{
	ask_forget(a, owner);
}

/* --- what needs no policy */

static size_t reply_local(struct dnsmsg_reply *r, const struct dnsmsg_query *q)
{
	static const struct addr loopbacks[] = {
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	};

	if (q->type == DNSMSG_A || q->type == DNSMSG_AAAA)
		reply_add_addrs(r, q->type, LOCAL_TTL_S, loopbacks, ARRAY_SIZE(loopbacks));
	return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
}

/* Reversed addresses: those of the sandbox are answered here, others as any name. False: others. */
static bool reply_reverse(
	struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q, size_t *ret_len)
{
	struct addr addr;
	struct host name;
	const char *target = NULL;

	if (dnsmsg_parse_reverse(q->name, &addr) < 0)
		return false;
	if (addr_classify(&addr, NULL) == NEJ_RANGE_LOOPBACK) {
		target = "localhost";
	} else if (synth_covers(a->o.synth, &addr)) {
		if (synth_hold(a->o.synth, &addr, &name) == 0) {
			synth_release(a->o.synth, &addr);
			target = name.name;
		}
	} else {
		return false;
	}
	if (target && (q->type == DNSMSG_PTR || q->type == DNSMSG_ANY))
		dnsmsg_add_name(r, DNSMSG_PTR, SYNTH_TTL_S, target);
	*ret_len =
		reply_code(r, q, target ? DNSMSG_NOERROR : DNSMSG_NXDOMAIN, DNSMSG_EDE_NONE, NULL);
	return true;
}

/* --- an allowed name */

/* Names are a slow channel to whoever serves a zone below an allowed suffix. */
static bool take_token(struct answer *a)
{
	uint64_t now = loop_now_ms(a->o.loop);

	a->tokens_ms += (now - a->refilled_ms) * UPSTREAM_PER_S;
	a->refilled_ms = now;
	if (a->tokens_ms > UPSTREAM_BURST * TOKEN)
		a->tokens_ms = UPSTREAM_BURST * TOKEN;
	if (a->tokens_ms < TOKEN)
		return false;
	a->tokens_ms -= TOKEN;
	return true;
}

static size_t reply_limited(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct answer_client *client)
{
	const struct policy_decision limited = {.reason = NEJ_REASON_LIMIT, .rule = POLICY_NO_RULE};

	return reply_refused(
		a, r, q, name, &limited, client, DNSMSG_SERVFAIL, DNSMSG_EDE_PROHIBITED);
}

static size_t reply_synthetic(struct answer *a, struct dnsmsg_reply *r,
	const struct dnsmsg_query *q, const struct host *name, const struct answer_client *client)
{
	struct addr v4, v6;

	if (synth_assign(a->o.synth, name, &v4, &v6) < 0)
		return reply_limited(a, r, q, name, client);
	dnsmsg_add_addr(r, q->type == DNSMSG_A ? &v4 : &v6, SYNTH_TTL_S);
	return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
}

/* Types that carry bulk data and that no client of a name needs: empty, and on record. */
static size_t reply_odd_type(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct answer_client *client)
{
	const struct policy_decision odd = {
		.reason = NEJ_REASON_UNKNOWN_PROTOCOL, .rule = POLICY_NO_RULE};

	reply_report(a, q, name, &odd, client);
	return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NOT_SUPPORTED,
		"nej: records of this type are not looked up");
}

static size_t reply_any(struct dnsmsg_reply *r, const struct dnsmsg_query *q)
{
	static const uint8_t hinfo[] = "\x07RFC8482"; /* and an empty OS string */

	dnsmsg_add_record(r, DNSMSG_HINFO, LOCAL_TTL_S, hinfo, sizeof(hinfo));
	return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
}

static size_t reply_allowed(struct answer *a, struct dnsmsg_reply *r, const uint8_t *msg,
	const struct dnsmsg_query *q, const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, answer_send *send)
{
	enum policy_dns_mode mode = policy_dns_mode(*a->o.policy);
	bool is_addr = q->type == DNSMSG_A || q->type == DNSMSG_AAAA;
	bool is_kernel = d->transport == POLICY_TRANSPORT_KERNEL;

	if (mode == POLICY_DNS_BLACKHOLE && !is_kernel)
		return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	if (is_addr && mode == POLICY_DNS_SYNTHETIC && !is_kernel)
		return reply_synthetic(a, r, q, name, client);
	if (q->type == DNSMSG_ANY)
		return reply_any(r, q);
	if (!is_addr && !dnsmsg_is_known(q->type))
		return reply_odd_type(a, r, q, name, client);
	if ((!is_addr || resolve_would_ask(a->o.resolve, name)) && !take_token(a))
		return reply_limited(a, r, q, name, client);
	if (!ask_upstream(a, msg, q, name, d, client, send))
		return reply_code(r, q, DNSMSG_SERVFAIL, DNSMSG_EDE_NETWORK,
			"the host's resolver cannot be asked");
	return 0;
}

/* --- one question */

/* Reverse zones are outside's, and a chosen address is data: they are asked only where a rule (not
 * the default) names them, about addresses that could be reached. */
static bool is_reverse_closed(
	const struct policy *p, const struct dnsmsg_query *q, const struct policy_decision *d)
{
	struct addr addr;
	int r = dnsmsg_parse_reverse(q->name, &addr);

	if (r == -ENOENT)
		return false;
	return d->rule == POLICY_NO_RULE ||
		(r == 0 && policy_check_resolved(p, &addr) != NEJ_REASON_NONE);
}

static size_t reply_decided(struct answer *a, struct dnsmsg_reply *r, const uint8_t *msg,
	const struct dnsmsg_query *q, const struct host *name, const struct answer_client *client,
	answer_send *send)
{
	struct policy_decision d;

	policy_decide_dns(*a->o.policy, name, &d);
	if (d.verdict == POLICY_DENY)
		return reply_denied(a, r, q, name, &d, client);
	if (name->kind == HOST_ADDR) { /* a name that spells an address is that address */
		if (q->type == DNSMSG_A || q->type == DNSMSG_AAAA)
			reply_add_addrs(r, q->type, SYNTH_TTL_S, &name->addr, 1);
		return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	}
	if (is_reverse_closed(*a->o.policy, q, &d)) {
		d = (struct policy_decision){.reason = NEJ_REASON_NO_RULE, .rule = POLICY_NO_RULE};
		return reply_denied(a, r, q, name, &d, client);
	}
	return reply_allowed(a, r, msg, q, name, &d, client, send);
}

static size_t reply_named(struct answer *a, struct dnsmsg_reply *r, const uint8_t *msg,
	const struct dnsmsg_query *q, const struct answer_client *client, answer_send *send)
{
	struct policy_decision d = {.reason = NEJ_REASON_MALFORMED_HOST, .rule = POLICY_NO_RULE};
	struct host name;
	size_t len;

	if (reply_reverse(a, r, q, &len))
		return len;
	if (!q->name_len) /* to say that the root does not exist would deny every name */
		return reply_refused(
			a, r, q, NULL, &d, client, DNSMSG_REFUSED, DNSMSG_EDE_NOT_SUPPORTED);
	if (host_parse(q->name, q->name_len, &name) < 0)
		return reply_denied(a, r, q, NULL, &d, client);
	if (name.kind == HOST_NAME && name.is_local)
		return reply_local(r, q);
	d.reason = a->o.may_answer(a->o.arg);
	if (d.reason != NEJ_REASON_NONE)
		return reply_refused(
			a, r, q, &name, &d, client, DNSMSG_REFUSED, DNSMSG_EDE_PROHIBITED);
	return reply_decided(a, r, msg, q, &name, client, send);
}

static size_t udp_limit(const struct dnsmsg_query *q)
{
	if (!q->has_edns || q->edns_size < DNSMSG_MIN_REPLY_BYTES)
		return DNSMSG_MIN_REPLY_BYTES;
	return q->edns_size < DNSMSG_MAX_UDP_BYTES ? q->edns_size : DNSMSG_MAX_UDP_BYTES;
}

static size_t reply_unreadable(struct answer *a, const uint8_t *msg, int err,
	const struct answer_client *client, uint8_t *out)
{
	const struct policy_decision d = {.reason = NEJ_REASON_FRAMING, .rule = POLICY_NO_RULE};
	struct dnsmsg_reply r;

	reply_report(a, NULL, NULL, &d, client);
	dnsmsg_reply_init(&r, out, DNSMSG_MIN_REPLY_BYTES, msg, NULL);
	return dnsmsg_reply_end(&r, NULL, err == -EOPNOTSUPP ? DNSMSG_NOTIMP : DNSMSG_FORMERR,
		DNSMSG_EDE_NONE, NULL, 0);
}

size_t answer_query(struct answer *a, const uint8_t *msg, size_t len_bytes,
	const struct answer_client *client, answer_send *send, uint8_t *out, size_t out_bytes)
{
	static const struct policy_decision odd = {
		.reason = NEJ_REASON_UNKNOWN_PROTOCOL, .rule = POLICY_NO_RULE};
	struct answer_client asking = *client;
	struct dnsmsg_reply r;
	struct dnsmsg_query q;
	int err = dnsmsg_parse_query(msg, len_bytes, &q);

	if (err == -ENOMSG)
		return 0;
	if (err < 0)
		return reply_unreadable(a, msg, err, client, out);
	asking.limit_bytes = client->proto == IPPROTO_UDP ? udp_limit(&q) : out_bytes;
	dnsmsg_reply_init(&r, out, asking.limit_bytes, msg, &q);
	if (q.has_edns && q.edns_version)
		return reply_code(&r, &q, DNSMSG_BADVERS, DNSMSG_EDE_NONE, NULL);
	if (q.qclass != CLASS_IN)
		return reply_refused(
			a, &r, &q, NULL, &odd, client, DNSMSG_REFUSED, DNSMSG_EDE_NOT_SUPPORTED);
	if (!q.type || q.type == DNSMSG_OPT || (q.type >= DNSMSG_TKEY && q.type <= DNSMSG_MAILA))
		return reply_refused(
			a, &r, &q, NULL, &odd, client, DNSMSG_NOTIMP, DNSMSG_EDE_NOT_SUPPORTED);
	return reply_named(a, &r, msg, &q, &asking, send);
}
