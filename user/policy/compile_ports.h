/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel side must know of a policy: ports some rule opens, ranges let straight out. */
#ifndef NEJ_POLICY_COMPILE_PORTS_H
#define NEJ_POLICY_COMPILE_PORTS_H

#include "draft.h"
#include "opens.h"

/* Appends struct policy_port rows, disjoint and ascending. True: every TCP port is open. */
bool compile_ports(const struct draft *d, struct buf *ports);

/* Appends the struct policy_range rows of an allowing pattern, if it is a range let straight out. */
void compile_ports_note(struct buf *ranges, const struct pattern *p, const struct draft_rule *rule,
	const struct opens *opens);

#endif
