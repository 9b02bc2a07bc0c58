/* SPDX-License-Identifier: GPL-2.0-only */
/* Warnings about a whole policy; see warn.h. Shadowed targets are shadow.c's. */
#include "warn.h"

#include <string.h>

#include "image.h"
#include "psl.h"
#include "shadow.h"

static const char *kind_text(enum psl_kind kind)
{
	return kind == PSL_PUBLIC ? "a public suffix" : "a host for everybody's pages";
}

static void warn_suffix(struct err_list *errs, const struct pattern *p)
{
	enum psl_kind kind;

	if (p->kind == PATTERN_ANY)
		err_warn(errs, p->line, p->column, "name the hosts it is for",
			"`%.64s` opens every name there is", p->text);
	if (p->kind != PATTERN_TREE && p->kind != PATTERN_UNDER)
		return;
	kind = psl_kind_of(p->name);
	if (kind != PSL_NONE)
		err_warn(errs, p->line, p->column, "name the hosts below it",
			"`%.64s` is %s: anyone can register under it", p->text, kind_text(kind));
}

static void warn_clear_text(struct err_list *errs, const struct pattern *p)
{
	if (p->scheme == PATTERN_HTTP)
		err_warn(errs, p->line, p->column, "use https where the host offers it",
			"`%.64s` goes over the wire in clear", p->text);
}

static void warn_kernel(struct err_list *errs, const struct pattern *p)
{
	if (p->kind == PATTERN_RANGE || p->kind == PATTERN_ANY || p->kind == PATTERN_LIST)
		return;
	if (psl_is_on_shared_range(p->name))
		err_warn(errs, p->line, p->column, "leave `transport: kernel` out",
			"`%.64s` shares its addresses with other names: all of them are opened",
			p->text);
}

static void warn_localhost(struct err_list *errs, const struct pattern *p)
{
	struct host h;

	if (p->name && !host_parse(p->name, p->name_len, &h) && h.is_local)
		err_warn(errs, p->line, p->column, "use host_ports for services of the host",
			"`%.64s` never matches: loopback is the sandbox's own", p->text);
}

static void warn_range(const struct policy *policy, struct err_list *errs, const struct pattern *p)
{
	enum nej_range range;

	if (p->kind != PATTERN_RANGE)
		return;
	range = addr_classify(&p->prefix.addr, NULL);
	if (range == NEJ_RANGE_LOOPBACK && p->prefix.bits > 96)
		err_warn(errs, p->line, p->column, "use host_ports for services of the host",
			"`%.64s` never matches: loopback is the sandbox's own", p->text);
	else if (range == NEJ_RANGE_LINK_LOCAL || range == NEJ_RANGE_MULTICAST)
		err_warn(errs, p->line, p->column, "take it away",
			"`%.64s` never matches: these addresses are always refused", p->text);
	else if (range == NEJ_RANGE_PRIVATE &&
		policy_check_resolved(policy, &p->prefix.addr) != NEJ_REASON_NONE)
		err_warn(errs, p->line, p->column, "add the range under `private`",
			"`%.64s` is private and `private` does not cover it", p->text);
}

static void warn_rule(
	const struct draft *d, const struct policy *policy, struct err_list *errs, size_t index)
{
	const struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, index);

	for (uint32_t i = 0; i < rule->n_patterns && !rule->is_deny; i++) {
		const struct pattern *p =
			DRAFT_AT(d->patterns, struct pattern, rule->first_pattern + i);

		warn_suffix(errs, p);
		warn_clear_text(errs, p);
		warn_localhost(errs, p);
		warn_range(policy, errs, p);
		if (rule->transport == POLICY_TRANSPORT_KERNEL)
			warn_kernel(errs, p);
	}
}

static void warn_lists(const struct draft *d, struct err_list *errs)
{
	for (size_t i = 0; i < DRAFT_COUNT(d->lists, struct draft_list); i++) {
		const struct draft_list *list = DRAFT_AT(d->lists, struct draft_list, i);
		const struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, list->rule);

		if (list->top && !rule->is_deny)
			err_warn(errs, list->line, list->column, "take the line away",
				"%.120s:%u: `%.64s` opens every name below it", list->path,
				list->top_line, list->top);
	}
}

/* --- secrets */

static bool is_under(const struct pattern *p, const struct pattern *above)
{
	size_t n = above->name_len;

	return p->name && p->name_len > n && p->name[p->name_len - n - 1] == '.' &&
		!memcmp(p->name + p->name_len - n, above->name, n);
}

/* Does some rule allow the host itself, or for a suffix something below it? */
static bool is_allowed(
	const struct draft *d, const struct policy *policy, const struct pattern *host)
{
	struct policy_decision decision;
	struct host h;

	if (host_parse(host->name, host->name_len, &h) == 0) {
		policy_decide_dns(policy, &h, &decision);
		if (decision.verdict != POLICY_DENY)
			return true;
	}
	if (host->kind == PATTERN_NAME)
		return false;
	for (size_t i = 0; i < DRAFT_COUNT(d->patterns, struct pattern); i++) {
		const struct pattern *p = DRAFT_AT(d->patterns, struct pattern, i);

		if (!DRAFT_AT(d->rules, struct draft_rule, p->rule)->is_deny &&
			(is_under(p, host) ||
				(p->kind == PATTERN_UNDER && p->name_len == host->name_len &&
					!memcmp(p->name, host->name, p->name_len))))
			return true;
	}
	return false;
}

/* Could some host be of both? A list's names are not looked at. */
static bool is_related(const struct pattern *rule, const struct pattern *host)
{
	if (rule->kind == PATTERN_ANY)
		return true;
	if (!rule->name)
		return false;
	if (rule->name_len == host->name_len)
		return !memcmp(rule->name, host->name, host->name_len) &&
			(rule->kind != PATTERN_NAME || host->kind != PATTERN_UNDER) &&
			(rule->kind != PATTERN_UNDER || host->kind != PATTERN_NAME);
	return rule->name_len < host->name_len ? rule->kind != PATTERN_NAME && is_under(host, rule)
					       : host->kind != PATTERN_NAME && is_under(rule, host);
}

/* A secret goes out only through the proxy, and should inside TLS. */
static void warn_ways(const struct draft *d, struct err_list *errs, const struct draft_secret *s,
	const struct pattern *host)
{
	const struct pattern *kernel = NULL, *clear = NULL;
	bool has_tls = false;

	for (size_t i = 0; i < DRAFT_COUNT(d->patterns, struct pattern); i++) {
		const struct pattern *p = DRAFT_AT(d->patterns, struct pattern, i);
		const struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, p->rule);

		if (rule->is_deny || !is_related(p, host))
			continue;
		if (rule->transport == POLICY_TRANSPORT_KERNEL)
			kernel = p;
		else if (p->scheme == PATTERN_HTTP)
			clear = p;
		else
			has_tls = true;
	}
	if (kernel)
		err_warn(errs, host->line, host->column, "leave `transport: kernel` out",
			"the secret `%.64s` does not get to `%.64s`: `%.64s` goes without the "
			"proxy",
			s->name, host->text, kernel->text);
	if (clear && !has_tls)
		err_warn(errs, host->line, host->column, "allow https to the host",
			"the secret `%.64s` goes to `%.64s` in clear: only http is allowed",
			s->name, host->text);
}

static bool is_for(const struct policy *policy, const struct host *host, size_t secret)
{
	uint16_t covering[POLICY_MAX_SECRETS];
	size_t n = policy_secrets_for(policy, host, 443, covering, POLICY_MAX_SECRETS);

	for (size_t i = 0; i < n; i++)
		if (covering[i] == secret)
			return true;
	return false;
}

/* What these answer to the true key are credentials nej knows nothing of. */
static void warn_givers(const struct policy *policy, struct err_list *errs,
	const struct draft_secret *s, size_t index)
{
	static const char *const givers[] = {"sts.amazonaws.com", "sts.us-east-1.amazonaws.com"};

	for (size_t i = 0; i < sizeof(givers) / sizeof(givers[0]); i++) {
		struct policy_decision decision;
		struct host h;

		if (host_parse(givers[i], strlen(givers[i]), &h) < 0 || !is_for(policy, &h, index))
			continue;
		policy_decide_dns(policy, &h, &decision);
		if (decision.verdict == POLICY_DENY)
			continue;
		err_warn(errs, s->line, s->column, "name the hosts of the services it is for",
			"the secret `%.64s` signs for `%s` too, which gives out credentials that "
			"work without nej",
			s->name, givers[i]);
		return;
	}
}

static void warn_secret(
	const struct draft *d, const struct policy *policy, struct err_list *errs, size_t index)
{
	const struct draft_secret *s = DRAFT_AT(d->secrets, struct draft_secret, index);
	bool has_host = false;

	for (uint32_t i = 0; i < s->n_hosts; i++) {
		const struct pattern *p =
			DRAFT_AT(d->secret_hosts, struct pattern, s->first_host + i);

		has_host |= is_allowed(d, policy, p);
		warn_suffix(errs, p);
		warn_ways(d, errs, s, p);
	}
	if (s->is_aws)
		warn_givers(policy, errs, s, index);
	if (!has_host)
		err_warn(errs, s->line, s->column, "allow a host under its `for`",
			"the secret `%.64s` goes nowhere: no rule allows its hosts", s->name);
}

void warn_policy(const struct draft *d, const struct policy *p, struct err_list *errs)
{
	for (size_t i = 0; i < DRAFT_COUNT(d->rules, struct draft_rule); i++)
		warn_rule(d, p, errs, i);
	warn_lists(d, errs);
	shadow_warn(d, p, errs);
	for (size_t i = 0; i < DRAFT_COUNT(d->secrets, struct draft_secret); i++)
		warn_secret(d, p, errs, i);
}
