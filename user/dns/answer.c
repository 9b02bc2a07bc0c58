/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides and answers one question; see answer.h. */
/*
 * Theory of operation. In this order, first that applies:
 *   not readable, another opcode or class     FORMERR, NOTIMP, REFUSED
 *   localhost and loopback addresses          answered here
 *   address of a synthetic pair, reversed     its name
 *   the policy says no                        NXDOMAIN with an extended error; nothing is asked
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"

#define CLASS_IN 1
#define SYNTH_TTL_S 60
#define LOCAL_TTL_S 3600
#define UPSTREAM_PER_S 50
#define UPSTREAM_BURST 300
#define TOKEN 1000

struct asker {
	struct asker *next, **prev;
	struct answer *answer;
	struct answer_client client;
	answer_send *send;
	struct dnsmsg_query query;
	struct host name;
	struct policy_decision decision;
	struct resolve_request addrs;
	struct resolve_raw raw;
	struct learn_request learn;
	bool is_learning;
	uint32_t ttl_s;
	size_t n_addrs;
	struct addr list[RESOLVE_MAX_ADDRS];
	uint8_t head[DNSMSG_HEAD_BYTES + DNSMSG_QUESTION_BYTES];
};

void answer_init(struct answer *a, const struct stub_options *options)
{
	*a = (struct answer){.o = *options, .tokens_ms = UPSTREAM_BURST * TOKEN};
	a->refilled_ms = loop_now_ms(options->loop);
}

static void asker_free(struct asker *k)
{
	resolve_cancel(k->answer->o.resolve, &k->addrs);
	resolve_type_cancel(k->answer->o.resolve, &k->raw);
	if (k->is_learning)
		learn_cancel(k->answer->o.learn, &k->learn);
	*k->prev = k->next;
	if (k->next)
		k->next->prev = k->prev;
	free(k);
}

void answer_done(struct answer *a)
{
	while (a->askers)
		asker_free(a->askers);
}

void answer_forget(struct answer *a, const void *owner)
{
	struct asker *k = a->askers, *next;

	for (; k; k = next) {
		next = k->next;
		if (k->client.owner == owner)
			asker_free(k);
	}
}

/* --- replies */

static size_t reply_code(struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	enum dnsmsg_rcode rcode, enum dnsmsg_ede ede, const char *text)
{
	return dnsmsg_reply_end(r, q, rcode, ede, text, text ? strlen(text) : 0);
}

static size_t reply_denied(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client)
{
	const struct stub_denial denial = {
		.name = name,
		.type = q->type,
		.reason = d->reason,
		.rule = d->rule,
		.client = &client->from,
		.proto = client->proto,
	};
	char text[128];

	a->o.on_denial(a->o.arg, &denial);
	snprintf(text, sizeof(text), "nej: denied (%s); ask the operator to allow the name",
		d->reason == NEJ_REASON_RULE ? "a rule" : "no rule names it");
	return reply_code(r, q, DNSMSG_NXDOMAIN, DNSMSG_EDE_BLOCKED, text);
}

static void add_addrs(
	struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const struct addr *addrs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (addr_is_v4(&addrs[i]) == (type == DNSMSG_A))
			dnsmsg_add_addr(r, &addrs[i], ttl_s);
}

/* --- what needs no policy */

static size_t reply_local(struct dnsmsg_reply *r, const struct dnsmsg_query *q)
{
	static const struct addr loopbacks[] = {
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	};

	if (q->type == DNSMSG_A || q->type == DNSMSG_AAAA)
		add_addrs(r, q->type, LOCAL_TTL_S, loopbacks, ARRAY_SIZE(loopbacks));
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

/* --- upstream */

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

static void asker_reply_init(struct asker *k, struct dnsmsg_reply *r, uint8_t *out, size_t size)
{
	dnsmsg_reply_init(r, out, k->client.limit_bytes < size ? k->client.limit_bytes : size,
		k->head, &k->query);
}

static void asker_send(struct asker *k, const uint8_t *out, size_t len)
{
	struct answer_client client = k->client;
	answer_send *send = k->send;

	asker_free(k);
	send(&client, out, len);
}

static uint8_t *scratch(void)
{
	static _Thread_local uint8_t bytes[65536];

	return bytes;
}

static void asker_fail(struct asker *k, const char *text)
{
	struct dnsmsg_reply r;
	uint8_t *out = scratch();
	size_t len;

	asker_reply_init(k, &r, out, 65535);
	len = reply_code(&r, &k->query, DNSMSG_SERVFAIL, DNSMSG_EDE_NETWORK, text);
	asker_send(k, out, len);
}

static void asker_deny(struct asker *k)
{
	struct dnsmsg_reply r;
	uint8_t *out = scratch();
	size_t len;

	asker_reply_init(k, &r, out, 65535);
	len = reply_denied(k->answer, &r, &k->query, &k->name, &k->decision, &k->client);
	asker_send(k, out, len);
}

static void asker_give_addrs(struct asker *k)
{
	struct dnsmsg_reply r;
	uint8_t *out = scratch();
	size_t len;

	asker_reply_init(k, &r, out, 65535);
	add_addrs(&r, k->query.type, k->ttl_s, k->list, k->n_addrs);
	len = reply_code(&r, &k->query, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	asker_send(k, out, len);
}

static void on_learnt(struct learn_request *req, int status)
{
	struct asker *k = CONTAINER_OF(req, struct asker, learn);

	k->is_learning = false;
	if (status < 0)
		asker_fail(k, "the addresses could not be opened");
	else
		asker_give_addrs(k);
}

/* An alias that the policy denies denies the name, where everything else is allowed. */
static bool is_alias_denied(struct asker *k, const char *aliases, size_t len)
{
	const struct policy *p = *k->answer->o.policy;

	if (!policy_is_default_allow(p))
		return false;
	for (const char *s = aliases; s < aliases + len; s += strlen(s) + 1) {
		struct policy_decision d;
		struct host alias;

		if (host_parse(s, strlen(s), &alias) < 0 || alias.kind != HOST_NAME)
			continue;
		policy_decide_dns(p, &alias, &d);
		if (d.verdict == POLICY_DENY) {
			k->decision = d;
			return true;
		}
	}
	return false;
}

static void on_addrs(struct resolve_request *req, int status, const struct resolve_answer *answer)
{
	struct asker *k = CONTAINER_OF(req, struct asker, addrs);
	struct answer *a = k->answer;

	if (status == -ENOENT) {
		struct dnsmsg_reply r;
		uint8_t *out = scratch();

		asker_reply_init(k, &r, out, 65535);
		asker_send(
			k, out, reply_code(&r, &k->query, DNSMSG_NXDOMAIN, DNSMSG_EDE_NONE, NULL));
		return;
	}
	if (status < 0 && status != -ENODATA) {
		asker_fail(k, "the host's resolver did not answer");
		return;
	}
	if (is_alias_denied(k, answer->aliases, answer->aliases_len)) {
		asker_deny(k);
		return;
	}
	k->ttl_s = answer->ttl_s;
	for (size_t i = 0; status == 0 && i < answer->n_addrs; i++) {
		k->decision.reason = policy_check_resolved(*a->o.policy, &answer->addrs[i]);
		if (k->decision.reason != NEJ_REASON_NONE) {
			asker_deny(k); /* one bad address refuses the name, as the dialler does */
			return;
		}
		k->list[k->n_addrs++] = answer->addrs[i];
	}
	if (k->decision.transport != POLICY_TRANSPORT_KERNEL || !a->o.learn || !k->n_addrs) {
		asker_give_addrs(k);
		return;
	}
	k->learn.on_done = on_learnt;
	k->is_learning = true;
	status = learn_addrs(a->o.learn, &k->name, k->list, k->n_addrs, k->ttl_s, &k->learn);
	if (status < 0) {
		k->is_learning = false;
		asker_fail(k, "the addresses could not be opened");
	}
}

static void add_rebuilt(struct asker *k, struct dnsmsg_reply *r, const uint8_t *msg, size_t len)
{
	struct dnsmsg_chain chain;
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;
	uint8_t rdata[DNSMSG_MAX_UDP_BYTES];

	if (dnsmsg_read_start(&reader, msg, len) < 0 ||
		dnsmsg_read_chain(msg, len, k->name.name, &chain) < 0)
		return;
	while (dnsmsg_read_next(&reader, &rec) > 0) {
		int n;

		if (rec.type != k->query.type || strcmp(rec.owner, chain.last))
			continue;
		n = dnsmsg_rebuild(msg, len, &rec, rdata, sizeof(rdata));
		if (n >= 0)
			dnsmsg_add_record(r, rec.type, rec.ttl_s, rdata, (size_t)n);
	}
}

static void on_raw_answer(struct resolve_raw *raw, int status, const uint8_t *msg, size_t len)
{
	struct asker *k = CONTAINER_OF(raw, struct asker, raw);
	struct dnsmsg_reply r;
	uint8_t *out = scratch();

	if (status < 0 && status != -ENOENT && status != -ENODATA) {
		asker_fail(k, "the host's resolver did not answer");
		return;
	}
	asker_reply_init(k, &r, out, 65535);
	if (status == 0)
		add_rebuilt(k, &r, msg, len);
	/* NOERROR also where upstream knows no such name: an allowed name exists here */
	asker_send(k, out, reply_code(&r, &k->query, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL));
}

static struct asker *asker_new(struct answer *a, const uint8_t *msg, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, answer_send *send)
{
	struct asker *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->answer = a;
	k->client = *client;
	k->send = send;
	k->query = *q;
	k->name = *name;
	k->decision = *d;
	memcpy(k->head, msg, DNSMSG_HEAD_BYTES + q->question_len);
	k->next = a->askers;
	k->prev = &a->askers;
	if (k->next)
		k->next->prev = &k->next;
	a->askers = k;
	return k;
}

/* Always answers through send, perhaps at once. False: it could not be begun. */
static bool ask_upstream(struct answer *a, const uint8_t *msg, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, answer_send *send)
{
	struct asker *k = asker_new(a, msg, q, name, d, client, send);
	bool is_addr = q->type == DNSMSG_A || q->type == DNSMSG_AAAA;
	int r;

	if (!k)
		return false;
	k->addrs.on_answer = on_addrs;
	k->raw.on_answer = on_raw_answer;
	r = is_addr ? resolve_addrs(a->o.resolve, name, &k->addrs)
		    : resolve_type(a->o.resolve, name, q->type, &k->raw);
	if (r < 0)
		asker_free(k);
	return r == 0;
}

/* --- an allowed name */

static size_t reply_synthetic(struct answer *a, struct dnsmsg_reply *r,
	const struct dnsmsg_query *q, const struct host *name)
{
	struct addr v4, v6;

	if (synth_assign(a->o.synth, name, &v4, &v6) < 0)
		return reply_code(r, q, DNSMSG_SERVFAIL, DNSMSG_EDE_OTHER,
			"every synthetic address is in use");
	dnsmsg_add_addr(r, q->type == DNSMSG_A ? &v4 : &v6, SYNTH_TTL_S);
	return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
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
	struct policy_decision limited = {.reason = NEJ_REASON_LIMIT, .rule = POLICY_NO_RULE};

	if (mode == POLICY_DNS_BLACKHOLE && !is_kernel)
		return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	if (is_addr && mode == POLICY_DNS_SYNTHETIC && !is_kernel)
		return reply_synthetic(a, r, q, name);
	if (q->type == DNSMSG_ANY)
		return reply_any(r, q);
	if (!is_addr && !dnsmsg_is_known(q->type))
		return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	if (!take_token(a)) {
		reply_denied(a, r, q, name, &limited, client);
		return reply_code(r, q, DNSMSG_SERVFAIL, DNSMSG_EDE_PROHIBITED,
			"too many questions for the host's resolver");
	}
	if (!ask_upstream(a, msg, q, name, d, client, send))
		return reply_code(r, q, DNSMSG_SERVFAIL, DNSMSG_EDE_NETWORK,
			"the host's resolver cannot be asked");
	return 0;
}

/* --- one question */

static size_t reply_named(struct answer *a, struct dnsmsg_reply *r, const uint8_t *msg,
	const struct dnsmsg_query *q, const struct answer_client *client, answer_send *send)
{
	struct policy_decision d = {.reason = NEJ_REASON_MALFORMED_HOST, .rule = POLICY_NO_RULE};
	enum nej_reason shut = a->o.may_answer(a->o.arg);
	struct host name;
	size_t len;

	if (reply_reverse(a, r, q, &len))
		return len;
	if (host_parse(q->name, q->name_len, &name) < 0)
		return reply_denied(a, r, q, NULL, &d, client);
	if (name.kind == HOST_NAME && name.is_local)
		return reply_local(r, q);
	if (shut != NEJ_REASON_NONE) {
		d.reason = shut;
		return reply_denied(a, r, q, &name, &d, client);
	}
	policy_decide_dns(*a->o.policy, &name, &d);
	if (d.verdict == POLICY_DENY)
		return reply_denied(a, r, q, &name, &d, client);
	if (name.kind == HOST_ADDR) { /* a name that spells an address is that address */
		if (q->type == DNSMSG_A || q->type == DNSMSG_AAAA)
			add_addrs(r, q->type, SYNTH_TTL_S, &name.addr, 1);
		return reply_code(r, q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL);
	}
	return reply_allowed(a, r, msg, q, &name, &d, client, send);
}

static size_t udp_limit(const struct dnsmsg_query *q)
{
	if (!q->has_edns || q->edns_size < DNSMSG_MIN_REPLY_BYTES)
		return DNSMSG_MIN_REPLY_BYTES;
	return q->edns_size < DNSMSG_MAX_UDP_BYTES ? q->edns_size : DNSMSG_MAX_UDP_BYTES;
}

size_t answer_query(struct answer *a, const uint8_t *msg, size_t len_bytes,
	const struct answer_client *client, answer_send *send, uint8_t *out, size_t out_bytes)
{
	struct answer_client asking = *client;
	struct dnsmsg_reply r;
	struct dnsmsg_query q;
	int err = dnsmsg_parse_query(msg, len_bytes, &q);

	if (err == -ENOMSG)
		return 0;
	if (err < 0) {
		const struct stub_denial denial = {.reason = NEJ_REASON_FRAMING,
			.rule = POLICY_NO_RULE,
			.client = &client->from,
			.proto = client->proto};

		a->o.on_denial(a->o.arg, &denial);
		dnsmsg_reply_init(&r, out, DNSMSG_MIN_REPLY_BYTES, msg, NULL);
		return dnsmsg_reply_end(&r, NULL,
			err == -EOPNOTSUPP ? DNSMSG_NOTIMP : DNSMSG_FORMERR, DNSMSG_EDE_NONE, NULL,
			0);
	}
	asking.limit_bytes = client->proto == IPPROTO_UDP ? udp_limit(&q) : out_bytes;
	dnsmsg_reply_init(&r, out, asking.limit_bytes, msg, &q);
	if (q.has_edns && q.edns_version)
		return reply_code(&r, &q, DNSMSG_BADVERS, DNSMSG_EDE_NONE, NULL);
	if (q.qclass != CLASS_IN)
		return reply_code(&r, &q, DNSMSG_REFUSED, DNSMSG_EDE_NOT_SUPPORTED, NULL);
	if (q.type >= DNSMSG_TKEY && q.type <= DNSMSG_MAILA)
		return reply_code(&r, &q, DNSMSG_NOTIMP, DNSMSG_EDE_NOT_SUPPORTED, NULL);
	return reply_named(a, &r, msg, &q, &asking, send);
}
