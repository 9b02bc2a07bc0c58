/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides the members of an alias chain; see alias.h. */
#include "alias.h"

#include <string.h>

bool alias_is_denied(
	const struct policy *p, const char *names, size_t len_bytes, struct policy_decision *ret)
{
	if (!policy_is_default_allow(p))
		return false;
	for (const char *s = names; s < names + len_bytes; s += strlen(s) + 1) {
		struct policy_decision d = {
			.reason = NEJ_REASON_MALFORMED_HOST, .rule = POLICY_NO_RULE};
		struct host alias;

		if (host_parse(s, strlen(s), &alias) == 0)
			policy_decide_dns(p, &alias, &d);
		if (d.verdict == POLICY_DENY) {
			*ret = d;
			return true;
		}
	}
	return false;
}
