/* SPDX-License-Identifier: GPL-2.0-only */
/* Ends replies, refusals with their report and their reason; see reply.h. */
#include "reply.h"

#include <stdio.h>
#include <string.h>

size_t reply_code(struct dnsmsg_reply *r, const struct dnsmsg_query *q, enum dnsmsg_rcode rcode,
	enum dnsmsg_ede ede, const char *text)
{
	return dnsmsg_reply_end(r, q, rcode, ede, text, text ? strlen(text) : 0);
}

static const char *const sentences[] = {
#define X(id, word, sentence) [NEJ_REASON_##id] = sentence,
	NEJ_REASONS(X)
#undef X
};

#define EDE_TEXT_BYTES 320

/* What a program can show its user: why, and what would help. */
static const char *explain(char out[static EDE_TEXT_BYTES], const struct policy *p,
	const struct host *name, const struct policy_decision *d)
{
	const char *shown = name ? name->name : "the question";
	struct policy_rule_info rule;

	if (d->reason == NEJ_REASON_RULE && policy_rule(p, d->rule, &rule))
		snprintf(out, EDE_TEXT_BYTES,
			"nej: %.100s: denied by line %u of the policy: %.120s", shown, rule.line,
			rule.text);
	else if (d->reason == NEJ_REASON_NO_RULE)
		snprintf(out, EDE_TEXT_BYTES, "nej: %.100s: %s; `- allow: %.100s` would allow it",
			shown, sentences[d->reason], shown);
	else
		snprintf(out, EDE_TEXT_BYTES, "nej: %.100s: %s", shown, sentences[d->reason]);
	return out;
}

void reply_report(struct answer *a, const struct dnsmsg_query *q, const struct host *name,
	const struct policy_decision *d, const struct answer_client *client)
{
	const struct stub_denial denial = {
		.name = name,
		.type = q ? q->type : 0,
		.reason = d->reason,
		.rule = d->rule,
		.client = &client->from,
		.proto = client->proto,
	};

	a->o.on_denial(a->o.arg, &denial);
}

size_t reply_refused(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, enum dnsmsg_rcode rcode, enum dnsmsg_ede ede)
{
	char text[EDE_TEXT_BYTES];

	reply_report(a, q, name, d, client);
	return reply_code(
		r, q, rcode, ede, q->has_edns ? explain(text, *a->o.policy, name, d) : NULL);
}

size_t reply_denied(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client)
{
	return reply_refused(a, r, q, name, d, client, DNSMSG_NXDOMAIN, DNSMSG_EDE_BLOCKED);
}

void reply_add_addrs(
	struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const struct addr *addrs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (addr_is_v4(&addrs[i]) == (type == DNSMSG_A))
			dnsmsg_add_addr(r, &addrs[i], ttl_s);
}
