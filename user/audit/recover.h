/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a log that is already there ends, and whether that is where it should end: what the sink
 * must know before it writes the next record. Looks at the newest records only; verify.h at all.
 */
#ifndef NEJ_AUDIT_RECOVER_H
#define NEJ_AUDIT_RECOVER_H

#include "chain.h"
#include "head.h"
#include "logfile.h"

struct recovery {
	uint64_t seq; /* the next record follows this one */
	char hash[CHAIN_HEX_BYTES];
	uint64_t first;      /* seq of the oldest record that is kept */
	uint64_t torn_bytes; /* of a record cut in the middle, now gone from the file */
	uint64_t missing;    /* records that the head has and the log has not */
	char detail[160];    /* what is wrong, for people; "": nothing */
	bool is_gap;         /* more than what a writer that was killed leaves: see detail */
};

/* f is open; its torn end is cut off. key may be NULL. 0 or negative errno. */
int recover(struct logfile *f, const struct chain_key *key, struct recovery *ret);

/* seq of the first record of a file. -ENOENT, -EBADMSG. */
int recover_first_seq(const char *path, uint64_t *ret);

#endif
