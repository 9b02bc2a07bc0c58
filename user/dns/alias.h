/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Denylist mode: a name whose chain of aliases leads over a denied name is denied with it. Where
 * the default is deny the question alone decides.
 */
#ifndef NEJ_DNS_ALIAS_H
#define NEJ_DNS_ALIAS_H

#include "../policy/decide.h"

/* names: aliases, each NUL-terminated, of struct resolve_answer or struct dnsmsg_chain. True with
 * the decision about the first denied one; an alias that is no valid name is denied. */
bool alias_is_denied(
	const struct policy *p, const char *names, size_t len_bytes, struct policy_decision *ret);

#endif
