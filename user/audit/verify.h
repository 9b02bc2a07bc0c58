/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a log what was written? Every line of all its files, oldest first, against the chain, and its
 * end against the signed head (chain.h). Looks at bytes, not at JSON; read.h does that.
 */
#ifndef NEJ_AUDIT_VERIFY_H
#define NEJ_AUDIT_VERIFY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "chain.h"
#include "head.h"

/* What is wrong first; the order is that of a check from the oldest record on. */
enum verify_fault {
	VERIFY_GOOD,
	VERIFY_NOT_JSON,  /* the line is no JSON object */
	VERIFY_NO_RECORD, /* it is one, but no record of a chain */
	VERIFY_TORN,      /* the last line has no end */
	VERIFY_HASH,      /* the record was changed */
	VERIFY_PREV,      /* it does not follow the one before */
	VERIFY_SEQ,       /* records are missing before it, or it stands twice */
	VERIFY_START,     /* records are missing at the beginning */
	VERIFY_HEAD_HASH, /* the record is not the one that was signed */
	VERIFY_TAIL,      /* records are missing at the end */
	VERIFY_NO_LOG,    /* the whole log is missing, or it has no record */
	VERIFY_NO_HEAD,   /* nothing tells where the log should end */
	VERIFY_BAD_HEAD,  /* the head is not signed, forged, or by another key */
};

struct verify_result {
	enum verify_fault fault;
	char file[PATH_MAX]; /* of the wrong line */
	uint64_t line;       /* from 1; 0: no line */
	uint64_t seq;        /* of the wrong record, as it should be; of the last one when good */
	uint64_t found_seq;  /* VERIFY_SEQ: what it says */
	uint64_t missing;    /* records that are missing, where that is known */
	uint64_t n_records, n_files;
	uint64_t n_gaps;     /* audit_gap records: the writer itself found the log changed */
	uint64_t n_unsigned; /* newest records that no signature covers yet */
	uint64_t first_seq;  /* of the oldest record; above 1 after rotation */
	bool has_head;
	struct head head;
};

/* Checks the log at path. key NULL: the head's signature is not checked (HEAD_UNCHECKED). 0 with
 * *ret, -ENOENT when there is neither log nor head, other negative errno when it cannot be read. */
int verify_log(const char *path, const struct chain_key *key, struct verify_result *ret);

/* The fault in words, without the file's name. */
void verify_print(const struct verify_result *v, struct buf *b);

#endif
