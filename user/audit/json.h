/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An audit event as JSON, written by hand: printable ASCII on one line, each key always at its
 * place. Reading is read.h's, with a JSON library. The chain's keys are chain.h's.
 */
#ifndef NEJ_AUDIT_JSON_H
#define NEJ_AUDIT_JSON_H

#include "../base/buf.h"
#include "event.h"

/* What is in a record but not in its event. Texts are JSON already. */
struct json_extra {
	uint64_t seq;
	const char *sandbox; /* `"agent-1"`, and more keys behind */
	const char *policy;  /* `"sha256:…"` or `null` */
	const char *rule;    /* `{"line":7,"text":"…"}` or `null` */
	const char *note;    /* `"…"`; NULL: no such key */
	const char *more;    /* `"a":1,"b":2`; NULL: nothing */
};

/* Appends the record without prev, hash and the closing brace (chain_seal adds them). 0, -ENOMEM. */
int json_encode(struct buf *b, const struct audit_event *event, const struct json_extra *extra);

#endif
