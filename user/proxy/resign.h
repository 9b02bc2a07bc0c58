/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AWS Signature Version 4 made anew: the sandbox signs with a placeholder, its request goes up
 * signed with the true key. Only what the placeholder's holder really signed is ever signed.
 * Internal to user/proxy. rechunk.h does the chunks of a signed body.
 */
#ifndef NEJ_PROXY_RESIGN_H
#define NEJ_PROXY_RESIGN_H

#include "../tls/hmac.h"
#include "../wire/sigv4.h"

#define RESIGN_MAX_BODY_BYTES (8u << 20) /* of a body whose hash the request does not name */

/* One account, borrowed: the secret access key as the sandbox and as the service knows it, and the
 * access key id if the sandbox has a placeholder of it too (else both NULL). */
struct resign_keys {
	struct http1_text placeholder, secret;
	const char *id_placeholder, *id;
};

enum resign_need {
	RESIGN_NOTHING, /* not signed so, or not understood: it passes as it came */
	RESIGN_HEAD,    /* resign_request at once */
	RESIGN_BODY,    /* its body first, at most RESIGN_MAX_BODY_BYTES of it */
	RESIGN_CHUNKS,  /* at once, and its body through a sieve of rechunk.h */
	RESIGN_REFUSED, /* cannot be signed anew: *ret_detail says why */
};

/* Looks at a request to a host that a key is for. path: with its query, as the client sent it.
 * ret is written unless RESIGN_NOTHING. */
enum resign_need resign_look(const struct http1_head *h, struct http1_text path, struct sigv4 *ret,
	const char **ret_detail);

/* A request as it came, or as it goes up. */
struct resign_side {
	struct http1_text path, host; /* path with its query; host as the Host field says it */
	const char *body_hash;        /* in hexadecimal; NULL: not at hand */
};

struct resign_seed {
	uint8_t key[HMAC_BYTES]; /* of the day, the region and the service; wiped */
	char signature[SIGV4_HEX_BYTES];
};

struct resigned {
	struct resign_seed client, up; /* what chunks go on from */
	struct buf authorization;      /* the field's value; empty for a presigned URL */
	struct buf path;               /* of a presigned URL, else empty */
	char body_hash[SIGV4_HEX_BYTES];
};

void resigned_init(struct resigned *r);
void resigned_done(struct resigned *r); /* wipes */

/* Verifies the signature s of the request as it came, then signs it as it goes up. came and goes
 * are one head before and after placeholders were replaced; fields of goes that change point into
 * ret then. 1: signed anew; 0: not signed with this placeholder, nothing is changed; negative
 * errno. */
int resign_request(const struct resign_keys *keys, const struct sigv4 *s,
	const struct http1_head *came, const struct resign_side *client, struct http1_head *goes,
	const struct resign_side *up, struct resigned *ret);

/* One more signature by a key of resign_request. 0 or negative errno. */
int resign_text(const struct resign_seed *key, const struct buf *text, char ret[SIGV4_HEX_BYTES]);

#endif
