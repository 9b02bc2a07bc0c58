/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Audit events of the proxy: one for each attempt when its outcome is known, its totals at the end.
 * Internal to user/proxy.
 */
#ifndef NEJ_PROXY_RECORD_H
#define NEJ_PROXY_RECORD_H

#include "conn.h"

/* What was asked, for the record and for the refusal's text. */
struct ask {
	const struct host *host;   /* NULL: none, or not a host */
	struct http1_text as_sent; /* a host that could not be parsed */
	uint16_t port;
	uint8_t app;   /* enum audit_app */
	uint8_t layer; /* enum audit_layer */
	struct http1_text method, url;
	bool wants_json;
	const char *note; /* for the record of what is allowed; NULL */
};

/* Said instead of nej's own text: the error of the protocol that was asked. */
struct refuse_answer {
	uint16_t status;
	const char *body; /* application/json; NULL: nej's own text with this status */
	size_t body_len;
};

/* Why it was refused or what failed. */
struct refusal {
	enum nej_reason reason;
	uint32_t rule;                      /* POLICY_NO_RULE */
	int error;                          /* negative errno of a failed dial; 0 */
	const char *detail;                 /* for people; NULL */
	const struct refuse_answer *answer; /* NULL: nej's own */
	/* NEJ_REASON_LIMIT: enum quota_limit, and when to try again (0: unknown) */
	uint8_t limit;
	uint32_t retry_s;
};

/* The start of an attempt: now. */
void record_start(struct conn *c);
/* Counts the attempt against the limits, before anything is dialled for it; once for one rule.
 * 0; negative: refused, *ret_why says why. */
int record_admit(struct conn *c, uint32_t rule, struct refusal *ret_why);
/* Before the first byte goes up; admits too, if that has not been done. 0; negative: a limit is
 * reached, or nothing may pass without a record; *ret_why says which. */
int record_allowed(struct conn *c, const struct ask *ask, uint32_t rule, struct refusal *ret_why);
void record_refused(
	struct conn *c, const struct ask *ask, const struct refusal *why, uint16_t status);
/* A capacity of ours ends the attempt that goes on. */
void record_limit(struct conn *c, const char *detail);
/* How many of max_bytes may pass still, out of the sandbox or into it. */
size_t record_room(const struct conn *c, bool is_out, size_t max_bytes);
/* Counts bytes that are about to pass. -EDQUOT: they may not, a limit would be exceeded; who closes
 * for it puts it on record. */
int record_bytes(struct conn *c, uint64_t bytes_out, uint64_t bytes_in);
/* The refusal that this is. */
struct refusal record_spent(const struct conn *c);
/* Another policy is in force, whose rule allows the attempt that goes on. */
void record_readmit(struct conn *c, uint32_t rule);
/* The attempt that goes on is ended, and why. */
void record_revoked(struct conn *c, const struct refusal *why);
/* Puts it on record for an attempt that can only be cut. -EDQUOT. */
int record_cut(struct conn *c);
/* A credential was put into a request, or came back and was taken out. kind: AUDIT_SECRET_…; secret:
 * its name. */
void record_secret(struct conn *c, enum audit_kind kind, const struct ask *ask, uint32_t rule,
	const char *secret);
/* Totals of the attempt that record_allowed opened, if any. */
void record_end(struct conn *c);

#endif
