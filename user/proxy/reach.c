/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses and aliases against the policy; see reach.h. */
#include "reach.h"

#include <stdio.h>

#include "../dns/alias.h"

static bool is_own(const struct proxy *p, const struct addr *a)
{
	struct addr plain = *a;

	addr_classify(a, &plain);
	for (size_t i = 0; i < p->o.n_host_addrs; i++)
		if (addr_equal(a, &p->o.host_addrs[i]) || addr_equal(&plain, &p->o.host_addrs[i]))
			return true;
	return false;
}

static void note_address(struct proxy *p, const struct addr *a)
{
	char text[ADDR_TEXT_BYTES];

	snprintf(p->note, sizeof(p->note),
		"it leads to %s, which may not be reached; `private:` of the policy can admit "
		"private ranges",
		addr_print(a, text));
}

/* One bad address refuses the name: an answer that mixes in an inside address is an attack or a
 * mistake, and which of them would be dialled is the resolver's whim. */
bool reach_addrs(struct conn *c, const struct addr *addrs, size_t n, struct refusal *ret_why)
{
	struct proxy *p = c->proxy;

	for (size_t i = 0; i < n; i++) {
		enum nej_reason reason = policy_check_resolved(*p->o.policy, &addrs[i]);

		if (reason == NEJ_REASON_NONE && is_own(p, &addrs[i]))
			reason = NEJ_REASON_PRIVATE_ADDRESS;
		if (reason != NEJ_REASON_NONE) {
			ret_why->reason = reason;
			note_address(p, &addrs[i]);
			ret_why->detail = p->note;
			return false;
		}
	}
	return true;
}

bool reach_aliases(struct conn *c, const struct resolve_answer *answer, struct refusal *ret_why)
{
	struct policy_decision denial;

	if (!alias_is_denied(*c->proxy->o.policy, answer->aliases, answer->aliases_len, &denial))
		return true;
	ret_why->reason = denial.reason;
	ret_why->rule = denial.rule;
	ret_why->detail = "the name is an alias of one that is denied";
	return false;
}
