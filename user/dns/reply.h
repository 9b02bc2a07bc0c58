/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all replies of the stub share: codes, addresses, and the refusal, which is reported once and
 * says in an extended error why and what would help.
 */
#ifndef NEJ_DNS_REPLY_H
#define NEJ_DNS_REPLY_H

#include "answer.h"

/* Ends the reply; text may be NULL. Each returns the message's length. */
size_t reply_code(struct dnsmsg_reply *r, const struct dnsmsg_query *q, enum dnsmsg_rcode rcode,
	enum dnsmsg_ede ede, const char *text);

/* Reports and ends. name NULL: the question has none that could be named. */
size_t reply_refused(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, enum dnsmsg_rcode rcode, enum dnsmsg_ede ede);
/* The same with NXDOMAIN and `Blocked`. */
size_t reply_denied(struct answer *a, struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client);

/* Only the report; q NULL: the message could not be read. */
void reply_report(struct answer *a, const struct dnsmsg_query *q, const struct host *name,
	const struct policy_decision *d, const struct answer_client *client);

/* Adds those of the asked type's family. */
void reply_add_addrs(
	struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const struct addr *addrs, size_t n);

#endif
