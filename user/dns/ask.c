/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions whose answer comes from outside; see ask.h. */
#include "ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "alias.h"
#include "reply.h"

#define MAX_TTL_S 300

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

void ask_done(struct answer *a)
{
	while (a->askers)
		asker_free(a->askers);
}

void ask_forget(struct answer *a, const void *owner)
{
	struct asker *k = a->askers, *next;

	for (; k; k = next) {
		next = k->next;
		if (k->client.owner == owner)
			asker_free(k);
	}
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
	reply_add_addrs(&r, k->query.type, k->ttl_s, k->list, k->n_addrs);
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
	if (alias_is_denied(*a->o.policy, answer->aliases, answer->aliases_len, &k->decision)) {
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

/* A service record that sends its reader to a denied name is left out: the reader then takes the
 * name itself, as if there were none. */
static bool is_target_denied(
	const struct asker *k, const uint8_t *msg, size_t len, const struct dnsmsg_record *rec)
{
	char text[DNSMSG_NAME_BYTES];
	struct policy_decision d;
	struct host target;

	if (rec->type != DNSMSG_HTTPS && rec->type != DNSMSG_SVCB)
		return false;
	if (dnsmsg_read_target(msg, len, rec, text) < 0)
		return true;
	if (!text[0])
		return false;
	if (host_parse(text, strlen(text), &target) < 0)
		return true;
	policy_decide_dns(*k->answer->o.policy, &target, &d);
	return d.verdict == POLICY_DENY;
}

/* The records the question is about: an alias itself when that is asked for, else those at the end
 * of the chain, as the asked name's own. */
static void add_rebuilt(struct asker *k, struct dnsmsg_reply *r, const uint8_t *msg, size_t len,
	const struct dnsmsg_chain *chain)
{
	const char *owner = k->query.type == DNSMSG_CNAME ? k->name.name : chain->last;
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;
	uint8_t rdata[DNSMSG_MAX_UDP_BYTES];

	if (dnsmsg_read_start(&reader, msg, len) < 0)
		return;
	while (dnsmsg_read_next(&reader, &rec) > 0) {
		uint32_t ttl_s = rec.ttl_s < MAX_TTL_S ? rec.ttl_s : MAX_TTL_S;
		int n;

		if (rec.type != k->query.type || strcmp(rec.owner, owner) ||
			is_target_denied(k, msg, len, &rec))
			continue;
		n = dnsmsg_rebuild(msg, len, &rec, rdata, sizeof(rdata));
		if (n >= 0)
			dnsmsg_add_record(r, rec.type, ttl_s, rdata, (size_t)n);
	}
}

static void on_raw_answer(struct resolve_raw *raw, int status, const uint8_t *msg, size_t len)
{
	struct asker *k = CONTAINER_OF(raw, struct asker, raw);
	bool is_service = k->query.type == DNSMSG_HTTPS || k->query.type == DNSMSG_SVCB;
	struct dnsmsg_chain chain;
	struct dnsmsg_reply r;
	uint8_t *out = scratch();

	if (status == 0 && dnsmsg_read_chain(msg, len, k->name.name, &chain) < 0)
		status = -EIO;
	/* service records are hints: without them the name works, with an error it might not */
	if (status < 0 && status != -ENOENT && status != -ENODATA && !is_service) {
		asker_fail(k, "the host's resolver did not answer");
		return;
	}
	if (status == 0 &&
		alias_is_denied(*k->answer->o.policy, chain.names, chain.len, &k->decision)) {
		asker_deny(k);
		return;
	}
	asker_reply_init(k, &r, out, 65535);
	if (status == 0)
		add_rebuilt(k, &r, msg, len, &chain);
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

bool ask_upstream(struct answer *a, const uint8_t *msg, const struct dnsmsg_query *q,
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
