/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel ranges of a policy as entries. That no other rule overlaps one the policy's own checks
 * have seen to (policy/shadow.c): a trie takes the longest prefix, not the first rule.
 */
#include "ranges.h"

#include <errno.h>

#include "../policy/overlay.h"
#include "allow.h"

/* Address number i of n evenly spread over a prefix, the last one included. */
static struct addr spread_addr(const struct prefix *p, unsigned int i, unsigned int n_bits)
{
	struct addr a = p->addr;

	for (unsigned int bit = 0; bit < 128u - p->bits; bit++) {
		unsigned int at = p->bits + bit;
		bool is_set = bit < n_bits ? (i >> (n_bits - 1 - bit)) & 1 : i & 1;

		if (is_set)
			a.b[at / 8] |= (uint8_t)(0x80 >> at % 8);
	}
	return a;
}

/*
 * Does `private` cover every address of the range? Looked at through up to 4096 addresses, both
 * ends of each equal part among them; where it does not, private addresses of the range are
 * refused one by one in the kernel.
 */
static bool is_private_ok(const struct policy *p, const struct prefix *prefix)
{
	unsigned int host_bits = 128u - prefix->bits, n_bits = host_bits < 12 ? host_bits : 12;

	if (addr_classify(&prefix->addr, NULL) != NEJ_RANGE_PRIVATE)
		return false;
	for (unsigned int i = 0; i < 1u << n_bits; i++) {
		struct addr a = spread_addr(prefix, i, n_bits);

		if (policy_check_resolved(p, &a) != NEJ_REASON_NONE)
			return false;
	}
	return true;
}

/* One entry a port of the range, or one for all. */
static int add_range(struct object *o, struct allow_entry *e, uint16_t first, uint16_t last)
{
	int r = 0;

	if (first <= 1 && last == 65535) {
		e->port = 0;
		return allow_add(o, e);
	}
	for (unsigned int port = first ? first : 1; port <= last && !r; port++) {
		e->port = (uint16_t)port;
		r = allow_add(o, e);
	}
	return r;
}

/* Those of `of`: the policy, or the grants over it. */
static int add_ranges(
	struct object *o, const struct policy *p, const struct policy *of, uint8_t round)
{
	const struct policy_range *ranges;
	size_t n = policy_kernel_ranges(of, &ranges);

	for (size_t i = 0; i < n; i++) {
		struct allow_entry e = {
			.prefix = ranges[i].prefix,
			.proto = ranges[i].proto,
			.value = {.verdict = NEJ_PASS, .rule = ranges[i].rule, .round = round},
		};
		uint64_t expiry_ns = 0;
		uint32_t id;
		int r;

		if (of != p && !overlay_grant(of, ranges[i].rule, &id, &expiry_ns))
			return -EINVAL;
		if (of != p)
			e.value.rule = NEJ_RULE_GRANT | id;
		e.value.expiry_ns = expiry_ns;
		e.value.is_private_ok = is_private_ok(p, &e.prefix);
		r = add_range(o, &e, ranges[i].first, ranges[i].last);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The policy's come last: where a grant names the same range, what does not end stays. */
int ranges_apply(struct object *o, const struct policy *p, uint8_t round)
{
	const struct policy *grants = overlay_of(p);
	int r = grants ? add_ranges(o, p, grants, round) : 0;

	return r < 0 ? r : add_ranges(o, p, p, round);
}
