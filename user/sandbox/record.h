/* SPDX-License-Identifier: GPL-2.0-only */
/* The supervisor's own audit records: what became of the sandbox, not of its traffic. */
#ifndef NEJ_SANDBOX_RECORD_H
#define NEJ_SANDBOX_RECORD_H

#include "sandbox.h"

/* Adds to the sink; the caller flushes. */
void record_started(const struct sandbox *sb);
void record_policy(const struct sandbox *sb); /* another is in force */
void record_grant_added(const struct sandbox *sb, const struct grant *grant);
/* why: `expired`, `revoked`, `replaced` */
void record_grant_ended(const struct sandbox *sb, const struct grant *grant, const char *why);
void record_halted(const struct sandbox *sb, bool is_halted, const char *detail);
/* The canary's finding, for which the sandbox is halted. */
void record_canary(const struct sandbox *sb, const char *finding);
void record_adopted(const struct sandbox *sb, uint64_t n_records);
void record_worker(const struct sandbox *sb, const char *detail);
/* Names as of secrets_read_again. */
void record_secrets(const struct sandbox *sb, const char *read, const char *failed);
void record_lost(const struct sandbox *sb, uint64_t count, const char *detail);
/* With the kernel's counters by reason and what of them stands in the log: they must agree. */
void record_finished(const struct sandbox *sb);

#endif
