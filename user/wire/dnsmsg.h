/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DNS messages (RFC 1035, 6891, 8914, 9460): reads a client's question, builds the reply, reads the
 * records of an upstream reply and encodes the known types anew. Pure, no I/O: nothing is ever
 * relayed as bytes. What is answered to whom is dns/answer.c's.
 */
#ifndef NEJ_WIRE_DNSMSG_H
#define NEJ_WIRE_DNSMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"

#define DNSMSG_HEAD_BYTES 12
#define DNSMSG_NAME_BYTES 256 /* a name as text with its NUL: 253 and room */
#define DNSMSG_QUESTION_BYTES (255 + 4)
#define DNSMSG_MIN_REPLY_BYTES 512 /* without EDNS, RFC 1035 section 4.2.1 */
#define DNSMSG_MAX_UDP_BYTES 4096
#define DNSMSG_MAX_ALIASES 12

enum dnsmsg_type {
	DNSMSG_A = 1,
	DNSMSG_NS = 2,
	DNSMSG_CNAME = 5,
	DNSMSG_SOA = 6,
	DNSMSG_PTR = 12,
	DNSMSG_HINFO = 13,
	DNSMSG_MX = 15,
	DNSMSG_TXT = 16,
	DNSMSG_AAAA = 28,
	DNSMSG_SRV = 33,
	DNSMSG_OPT = 41,
	DNSMSG_SVCB = 64,
	DNSMSG_HTTPS = 65,
	DNSMSG_TKEY = 249, /* 249 to 254 ask for no record of a name */
	DNSMSG_MAILA = 254,
	DNSMSG_ANY = 255,
};

enum dnsmsg_rcode {
	DNSMSG_NOERROR = 0,
	DNSMSG_FORMERR = 1,
	DNSMSG_SERVFAIL = 2,
	DNSMSG_NXDOMAIN = 3,
	DNSMSG_NOTIMP = 4,
	DNSMSG_REFUSED = 5,
	DNSMSG_BADVERS = 16,
};

/* Extended errors, RFC 8914 section 4. */
enum dnsmsg_ede {
	DNSMSG_EDE_NONE = -1,
	DNSMSG_EDE_OTHER = 0,
	DNSMSG_EDE_BLOCKED = 15,
	DNSMSG_EDE_FILTERED = 17,
	DNSMSG_EDE_PROHIBITED = 18,
	DNSMSG_EDE_NOT_SUPPORTED = 21,
	DNSMSG_EDE_NETWORK = 23,
};

struct dnsmsg_query {
	uint16_t id, flags, type, qclass;
	uint16_t question_len; /* bytes behind the header */
	uint16_t edns_size;
	uint8_t edns_version;
	bool has_edns, is_do;
	uint8_t name_len;
	char name[DNSMSG_NAME_BYTES]; /* lower case, labels joined by dots; "" is the root */
};

/* 0; -ENOMSG no reply is due (shorter than a header, or itself a reply); -EOPNOTSUPP another opcode
 * than QUERY; -EBADMSG anything else than one question, an odd label (a dot or NUL in it, a pointer,
 * over 63 bytes), a broken OPT record, bytes left over. On -EOPNOTSUPP and -EBADMSG only id and
 * flags are set. */
int dnsmsg_parse_query(const uint8_t *msg, size_t len_bytes, struct dnsmsg_query *ret);

/* --- replies: init, add, end. One answer record at most DNSMSG_MAX_UDP_BYTES. */

struct dnsmsg_reply {
	uint8_t *data;
	size_t len, limit; /* limit: of the whole message, the OPT record included */
	uint16_t n_answers;
	bool is_cut;
};

/* query: the client's message. q NULL: the question could not be read, only the header is echoed.
 * limit_bytes: at least DNSMSG_MIN_REPLY_BYTES. */
void dnsmsg_reply_init(struct dnsmsg_reply *r, uint8_t *data, size_t limit_bytes,
	const uint8_t *query, const struct dnsmsg_query *q);
/* Records of the asked name. What does not fit is left out and marks the reply as truncated. */
void dnsmsg_add_addr(struct dnsmsg_reply *r, const struct addr *a, uint32_t ttl_s);
void dnsmsg_add_record(struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const uint8_t *rdata,
	size_t len_bytes);
/* rdata of one name, of labels joined by dots. 0 or -EINVAL. */
int dnsmsg_add_name(struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const char *name);
/* Header and, when the client sent one, OPT with the extended error if that fits. text may be NULL.
 * Returns the message's length. */
size_t dnsmsg_reply_end(struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	enum dnsmsg_rcode rcode, enum dnsmsg_ede ede, const char *text, size_t text_len);

/* --- upstream replies */

struct dnsmsg_reader {
	const uint8_t *msg;
	size_t len, at;
	uint16_t n_left; /* answer records */
	uint8_t rcode;
};

struct dnsmsg_record {
	uint16_t type;
	uint32_t ttl_s;
	size_t rdata_at, rdata_len;
	char owner[DNSMSG_NAME_BYTES]; /* as in struct dnsmsg_query */
};

/* 0 or -EBADMSG: not a reply with one question. */
int dnsmsg_read_start(struct dnsmsg_reader *r, const uint8_t *msg, size_t len_bytes);
/* 1 with a record of class IN, 0 at the end of the answer section, -EBADMSG. */
int dnsmsg_read_next(struct dnsmsg_reader *r, struct dnsmsg_record *ret);
/* A name at an offset, compression followed backwards only. 0 or -EBADMSG. */
int dnsmsg_read_name(const uint8_t *msg, size_t len_bytes, size_t at,
	char ret[static DNSMSG_NAME_BYTES], size_t *ret_next);

/* The alias chain of a name: names, each NUL-terminated, behind one another. */
struct dnsmsg_chain {
	char names[DNSMSG_MAX_ALIASES * DNSMSG_NAME_BYTES];
	size_t len;
	const char *last; /* whose records count: an alias, or the name that was asked */
	uint32_t ttl_s;   /* smallest of the chain; UINT32_MAX without one */
};

/* 0, -EBADMSG, -ELOOP (more than DNSMSG_MAX_ALIASES). name must outlive ret. */
int dnsmsg_read_chain(
	const uint8_t *msg, size_t len_bytes, const char *name, struct dnsmsg_chain *ret);

/* Is this a type whose records are passed on (built anew)? */
bool dnsmsg_is_known(uint16_t type);

/* rdata of a known type, names in full; HTTPS and SVCB keep only mandatory, alpn, no-default-alpn
 * and port: no addresses, no ECH keys, nothing unknown. Returns its length; -ENOTSUP unknown type;
 * -EBADMSG; -ENOSPC; -ENODATA (a service record that is nothing without what was taken out). */
int dnsmsg_rebuild(const uint8_t *msg, size_t len_bytes, const struct dnsmsg_record *rec,
	uint8_t *out, size_t cap);

/* Target of a SVCB or HTTPS record; "" means the owner itself. 0 or -EBADMSG. */
int dnsmsg_read_target(const uint8_t *msg, size_t len_bytes, const struct dnsmsg_record *rec,
	char ret[static DNSMSG_NAME_BYTES]);

/* The address an in-addr.arpa or ip6.arpa name spells in full. 0; -ENOENT not below these zones;
 * -EINVAL below them but not a whole address. */
int dnsmsg_parse_reverse(const char *name, struct addr *ret);

#endif
