/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AWS Signature Version 4 as it stands in a request: the Authorization field or a presigned URL's
 * query, and the texts that are signed. Pure; no key comes here. canonical.h prints what the
 * signature covers. Source: AWS, Signature Version 4 for API requests; Amazon S3 API reference.
 */
#ifndef NEJ_WIRE_SIGV4_H
#define NEJ_WIRE_SIGV4_H

#include "../base/buf.h"
#include "http1.h"

#define SIGV4_HEX_BYTES 65 /* a SHA-256 or a signature in hexadecimal, and a NUL */
#define SIGV4_MAX_PART_BYTES 128
#define SIGV4_MAX_NAMES_BYTES 4096

enum sigv4_form {
	SIGV4_NONE, /* not signed so */
	SIGV4_HEADER,
	SIGV4_QUERY,
};

/* What stands for the body in what is signed. */
enum sigv4_payload {
	SIGV4_PAYLOAD_BODY,     /* its hash, which the request does not name */
	SIGV4_PAYLOAD_GIVEN,    /* the text the request names: a hash, or UNSIGNED-PAYLOAD */
	SIGV4_PAYLOAD_CHUNKS,   /* the body is aws-chunked, each chunk signed */
	SIGV4_PAYLOAD_TRAILERS, /* and signed trailers follow */
	SIGV4_PAYLOAD_UNKNOWN,  /* a form of body this cannot sign anew */
};

struct sigv4 {
	enum sigv4_form form;
	enum sigv4_payload payload;
	bool is_s3; /* of its own way with paths and payloads */
	char key_id[SIGV4_MAX_PART_BYTES + 1];
	char date[9];  /* 20130524 */
	char time[17]; /* 20130524T000000Z */
	char region[SIGV4_MAX_PART_BYTES + 1];
	char service[SIGV4_MAX_PART_BYTES + 1];
	char names[SIGV4_MAX_NAMES_BYTES + 1]; /* host;x-amz-date */
	char signature[SIGV4_HEX_BYTES];
	char given[SIGV4_HEX_BYTES]; /* what the request names, if anything */
	bool is_hash;                /* `given` is the body's hash */
};

/* path: of the request line, with its query. 0; -EBADMSG: signed, but malformed, twice or too
 * large; -EPROTONOSUPPORT: signed with an asymmetric key (Signature Version 4A). */
int sigv4_parse(const struct http1_head *h, struct http1_text path, struct sigv4 *ret);

/* The next parameter of a query, without its `&`; false at the end. value.ptr is NULL without `=`. */
bool sigv4_next_param(
	struct http1_text *query, struct http1_text *ret_name, struct http1_text *ret_value);

/* The text to sign, given the hash of the canonical request. */
void sigv4_print_string(const struct sigv4 *s, const char *hash_hex, struct buf *out);
/* Of a chunk of an aws-chunked body (is_trailers: of the trailers), after what was signed last. */
void sigv4_print_chunk_string(const struct sigv4 *s, const char *last_signature,
	const char *hash_hex, bool is_trailers, struct buf *out);

/* The Authorization field's value. */
void sigv4_print_authorization(const struct sigv4 *s, struct buf *out);
/* A presigned URL's path and query with this key id and signature. */
void sigv4_print_query(const struct sigv4 *s, struct http1_text path, struct buf *out);

#endif
