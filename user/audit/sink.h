/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The audit file of one sandbox: events in, chained and signed JSON lines out. Only the supervisor
 * holds one. Read chain.h for the format of the chain, json.h for the record.
 */
#ifndef NEJ_AUDIT_SINK_H
#define NEJ_AUDIT_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "ring.h"
#include "tally.h"

/* The key of a machine, and its public half, which is verify's default. */
#define AUDIT_KEY_PATH "/var/lib/nej/audit.key"
#define AUDIT_PUB_PATH "/var/lib/nej/audit.pub"

struct audit_sink;

struct audit_sink_options {
	const char *path;         /* the log; its head is PATH.head, rotated ones PATH.1, … */
	const char *sandbox;      /* name in every record */
	const char *container;    /* hex digits, in every record too; NULL or empty: no such key */
	const char *key_path;     /* Ed25519 private key, PEM, made when missing, with its folder;
				   its public half beside it, see chain.h. NULL: heads are not signed */
	uint64_t rotate_bytes;    /* 0: never */
	unsigned int rotate_keep; /* rotated files kept, at least 1 */
	unsigned int n_policies; /* generations known at once; 0: four. One more: the oldest goes */
};

/* Rule text and line for a rule index of the policy of that generation; set by the supervisor. Leaves
 * *ret_text NULL when it does not know. The texts are copied before it is called again. */
typedef void audit_rule_lookup(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note);

/* Opens or continues the log: a torn last record is cut off, and an adopted record says so; a log
 * that is shorter than its head, or not the one that was signed, gets an audit_gap record. 0 or
 * negative errno; -EBUSY: another process writes this log, -EPERM: others may read the key. A full
 * disk is no error here: is_failed tells. */
int audit_sink_open(const struct audit_sink_options *options, struct audit_sink **ret);
void audit_sink_set_policy(struct audit_sink *sink, uint32_t generation, const char *sha256_hex,
	audit_rule_lookup *lookup, void *arg);
/* A log of several sandboxes: events of this generation are of that one. sha256_hex and lookup may be
 * NULL: it has no policy now. */
void audit_sink_set_sandbox(struct audit_sink *sink, uint32_t generation, const char *sandbox,
	const char *sha256_hex, audit_rule_lookup *lookup, void *arg);
void audit_sink_forget(struct audit_sink *sink, uint32_t generation);

/* Adds one event, folding repeats of one denied destination within a second. */
void audit_sink_add(struct audit_sink *sink, const struct audit_event *event);

/* Adds a record with further keys: `extra` is a JSON object's inside (`"a":1,"b":2`) or NULL. */
void audit_sink_add_extra(
	struct audit_sink *sink, const struct audit_event *event, const char *extra);

/* Adds all events of a ring, writes them, and only then gives their room in the ring free: a killed
 * supervisor loses none. What the ring lost or what was malformed gets an events_lost record. Returns
 * their number; audit_ring_has_more tells whether to come again at once. */
int audit_sink_drain(struct audit_sink *sink, struct audit_ring *ring);

/* Writes all that was gathered; closes folds that are due; signs the head when that is due. Returns
 * ms until it must be called again for folds, head or another try (-1: nothing pending). is_failed
 * tells whether the log can be written: while it cannot, up to 4 MiB of records are kept, the rest
 * counted, and a record with reason audit-unavailable tells of both once it can. */
int audit_sink_flush(struct audit_sink *sink);
bool audit_sink_is_failed(const struct audit_sink *sink);
uint64_t audit_sink_count(const struct audit_sink *sink, enum nej_reason reason); /* kernel layer */
const struct tally *audit_sink_tally(const struct audit_sink *sink); /* since it was opened */

/* Events that the supervisor caused itself: true, and there is neither a record nor a count. It may
 * lower the count of one that stands for attempts of others as well. */
void audit_sink_on_own(
	struct audit_sink *sink, bool (*is_own)(void *arg, struct audit_event *event), void *arg);

/* Writes all folds, signs the head, syncs, closes. */
void audit_sink_close(struct audit_sink *sink);

#endif
