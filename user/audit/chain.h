/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The evidence chain: each record carries the hash of the one before, and the newest one's hash is
 * signed. The only file of user/audit that knows libcrypto. Read head.h next.
 */
#ifndef NEJ_AUDIT_CHAIN_H
#define NEJ_AUDIT_CHAIN_H

/*
 * Theory of operation
 *
 * A record is one line. It begins with `{"seq":N,` and ends with
 *
 *	,"prev":"P","hash":"H"}
 *
 * N counts from 1 without gaps, P is the H of the line before (64 zeros in the very first), H is the
 * SHA-256, in lower-case hexadecimal, over the bytes of the line with `,"hash":"H"` taken out: all up
 * to the quote that closes P, and then `}`. Nothing between is looked at, so checking a log does not
 * depend on how the writer formats or orders the other keys, and costs one pass of SHA-256. Anybody can
 * do it: `head -n1 LOG | jq -cj 'del(.hash)' | sha256sum` is that line's H.
 *
 * A chain alone does not show that its newest records were cut off. So the writer keeps a head beside
 * the log: the number and hash of the newest record, signed with Ed25519. It is replaced when the log
 * is opened, after every 1,000 records, once a second while records flow, and at the end. A log that
 * is longer than its head is fine (the writer was killed); one that is shorter was cut.
 *
 * What it does not show: a log and its head both put back to an older state. Whoever can write the
 * folder as root can do that; ship the heads elsewhere if that matters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/buf.h"

#define CHAIN_HEX_BYTES 65        /* SHA-256 in hexadecimal and a NUL */
#define CHAIN_SIGNATURE_BYTES 129 /* Ed25519 signature in hexadecimal and a NUL */
#define CHAIN_KEY_ID_BYTES 17     /* the first 8 bytes of the public key's SHA-256, and a NUL */

/* Where a chain stands: the newest record. Embedded; chain_init and chain_done. */
struct chain {
	uint64_t seq; /* 0: no record yet */
	char hash[CHAIN_HEX_BYTES];
	struct evp_md_st *md;
	struct evp_md_ctx_st *ctx;
};

int chain_init(struct chain *c); /* 0, -ENOMEM */
void chain_done(struct chain *c);
void chain_set(struct chain *c, uint64_t seq, const char *hash);

/* Ends the record that begins at `start` of b (`{"seq":` chain.seq + 1, then its keys, without the
 * closing brace): appends prev, hash, brace and line feed. 0, -ENOMEM, -EIO. */
int chain_seal(struct chain *c, struct buf *b, size_t start);

/* A line as a link. prev and hash point into the line: 64 digits each. */
struct chain_link {
	uint64_t seq;
	const char *prev;
	const char *hash;
	size_t hashed_bytes; /* of the line, before the brace */
};

/* Does a line (without line feed) have the form of a record? */
bool chain_read(const char *line, size_t len_bytes, struct chain_link *ret);

/* The hash a line should have. 0, -EIO. */
int chain_digest(struct chain *c, const char *line, const struct chain_link *link,
	char ret[CHAIN_HEX_BYTES]);

struct chain_key;

/* The private key of a file (PEM); made, mode 0600, when there is none. The public half is kept beside
 * it: of `audit.key` in `audit.pub`, mode 0644. Of several that make a key at once one wins. -EPERM: others may read it; -EBADMSG: not an Ed25519 key. */
int chain_key_load(const char *path, struct chain_key **ret);
int chain_key_load_public(const char *path, struct chain_key **ret); /* -ENOENT, -EBADMSG */
void chain_key_free(struct chain_key *key);
const char *chain_key_id(const struct chain_key *key);
int chain_sign(const struct chain_key *key, const void *data, size_t len_bytes,
	char ret_hex[CHAIN_SIGNATURE_BYTES]);
bool chain_is_signed(
	const struct chain_key *key, const void *data, size_t len_bytes, const char *hex);

#endif
