/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The head of a log: number and hash of its newest record, signed, in the file PATH.head. What it is
 * good for stands in chain.h. One JSON object on one line:
 * {"seq":12,"hash":"…","first":1,"time":"…","sandbox":"agent-1","key":"…","sig":"…"}
 * sig is over the bytes of the line with `,"sig":"…"` taken out. key and sig are null without a key.
 */
#ifndef NEJ_AUDIT_HEAD_H
#define NEJ_AUDIT_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "chain.h"

#define HEAD_MAX_BYTES 4096

enum head_signature {
	HEAD_UNSIGNED,
	HEAD_UNCHECKED, /* no key to check it with */
	HEAD_OTHER_KEY, /* signed by a key that is not ours */
	HEAD_FORGED,
	HEAD_SIGNED,
};

struct head {
	uint64_t seq;
	uint64_t first; /* seq of the oldest record that rotation has kept */
	char hash[CHAIN_HEX_BYTES];
	char key_id[CHAIN_KEY_ID_BYTES]; /* "" when unsigned */
	char time[32];
	enum head_signature signature;
};

/* Reads and checks. key may be NULL. 0, -ENOENT, -EBADMSG (no head at all), other negative errno. */
int head_read(const char *path, const struct chain_key *key, struct head *ret);

/* Replaces the head of the log at log_path; synced to disk only if want_sync. key may be NULL. */
int head_write(const char *log_path, const struct head *head, const char *sandbox_json,
	const struct chain_key *key, bool want_sync);

#endif
