/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions that only the host's resolver can answer: kept until it has, its answer checked and
 * built anew, addresses of `transport: kernel` names opened before they are told.
 */
#ifndef NEJ_DNS_ASK_H
#define NEJ_DNS_ASK_H

#include "answer.h"

/* Answers through send, perhaps before it returns. False: it could not be begun. */
bool ask_upstream(struct answer *a, const uint8_t *msg, const struct dnsmsg_query *q,
	const struct host *name, const struct policy_decision *d,
	const struct answer_client *client, answer_send *send);

void ask_done(struct answer *a);
void ask_forget(struct answer *a, const void *owner);

#endif
