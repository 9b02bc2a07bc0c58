/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked of one rule by its number, be it the policy's or a grant that lies over it; see
 * decide.h. */
#include "decide.h"

#include "image.h"
#include "match.h"
#include "overlay.h"

bool policy_rule(const struct policy *p, uint32_t rule, struct policy_rule_info *ret)
{
	bool is_grant = policy_is_grant(rule);

	if (is_grant)
		p = overlay_find(p, &rule);
	if (!p || rule >= p->n_rules)
		return false;
	*ret = (struct policy_rule_info){
		.line = is_grant ? 0 : p->rules[rule].line,
		.text = p->text + p->rules[rule].text,
		.note = p->rules[rule].note ? p->text + p->rules[rule].note : NULL,
	};
	return true;
}

uint64_t policy_rule_expiry(const struct policy *p, uint32_t rule)
{
	p = policy_is_grant(rule) ? overlay_find(p, &rule) : NULL;
	return p ? p->rules[rule].expiry_ns : 0;
}

bool policy_upstream(const struct policy *p, uint32_t rule, struct policy_upstream *ret)
{
	const struct image_upstream *u = image_at(p, IMAGE_UPSTREAMS);

	if (rule >= p->n_rules || p->rules[rule].transport != POLICY_TRANSPORT_UPSTREAM)
		return false;
	u += p->rules[rule].upstream;
	*ret = (struct policy_upstream){
		.index = p->rules[rule].upstream,
		.name = p->text + u->name,
		.host = u->host,
		.port = u->port,
		.is_tls = u->is_tls,
		.is_by_name = u->is_by_name,
		.ca_path = u->ca_path ? p->text + u->ca_path : NULL,
		.ca = u->ca.len ? p->text + u->ca.at : NULL,
		.ca_len = u->ca.len,
		.username = u->username ? p->text + u->username : NULL,
		.password = u->password ? p->text + u->password : NULL,
	};
	return true;
}

static bool has_rule_flag(const struct policy *p, uint32_t rule, enum image_rule_flag flag)
{
	return rule < p->n_rules && p->rules[rule].flags & flag;
}

bool policy_rule_has_mcp(const struct policy *p, uint32_t rule)
{
	return has_rule_flag(p, rule, IMAGE_RULE_MCP);
}

const char *policy_mcp_tool(const struct policy *p, uint32_t rule, size_t i, size_t *ret_len)
{
	const struct image_text *tools = image_at(p, IMAGE_TOOLS);
	const struct image_text *t;

	if (rule >= p->n_rules || i >= p->rules[rule].n_tools)
		return NULL;
	t = &tools[p->rules[rule].first_tool + i];
	*ret_len = t->len;
	return p->text + t->at;
}

bool policy_mcp_allows(const struct policy *p, uint32_t rule, const char *tool, size_t len_bytes)
{
	const char *allowed;
	size_t n;

	if (!policy_rule_has_mcp(p, rule))
		return true;
	for (size_t i = 0; (allowed = policy_mcp_tool(p, rule, i, &n)); i++)
		if (match_tool(allowed, n, tool, len_bytes))
			return true;
	return false;
}

bool policy_denies_hosted_tools(const struct policy *p, uint32_t rule)
{
	return has_rule_flag(p, rule, IMAGE_RULE_HOSTED);
}

void policy_limits(const struct policy *p, uint32_t rule, struct policy_limits *ret)
{
	if (rule == POLICY_NO_RULE)
		*ret = p->header->limits;
	else
		*ret = rule < p->n_rules ? p->rules[rule].limits : (struct policy_limits){0};
}
