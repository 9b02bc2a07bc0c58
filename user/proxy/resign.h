/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AWS Signature Version 4 made anew: the sandbox signs with a placeholder, its request goes up
 * signed with the true key. Only what the placeholder's holder really signed is ever signed.
 * Internal to user/proxy. rechunk.h does the chunks of a signed body.
 */
#ifndef NEJ_PROXY_RESIGN_H
#define NEJ_PROXY_RESIGN_H

#include "../tls/hmac.h"
#include "../wire/canonical.h"

#define RESIGN_MAX_BODY_BYTES (8u << 20) /* of a body whose hash the request does not name */

/* One account, borrowed: the secret access key as the sandbox and as the service knows it, and the
 * true access key id (empty: the client's is used). */
struct resign_keys {
	struct http1_text placeholder, secret, id;
};

enum resign_need {
	RESIGN_NOTHING, /* not signed so, or not understood: it passes as it came */
	RESIGN_HEAD,    /* signed at once */
	RESIGN_BODY,    /* its body first, at most RESIGN_MAX_BODY_BYTES of it */
	RESIGN_CHUNKS,  /* at once, and its body through a sieve of rechunk.h */
	RESIGN_REFUSED, /* cannot be signed anew: *ret_detail says why */
};

/* A key of the day, the region and the service, and what it signed last. Wiped. */
struct resign_seed {
	uint8_t key[HMAC_BYTES];
	char signature[SIGV4_HEX_BYTES];
};

/* One request being signed anew. Texts of its head point into it once it is placed. */
struct resign {
	struct sigv4 s;
	struct canonical_reading reading; /* in which the client signed */
	struct resign_seed client, up;    /* what the chunks go on from */
	struct buf authorization, path;   /* with the signature; one of them is used */
	char body_hash[SIGV4_HEX_BYTES];
};

/* Looks at a request to a host that a key is for. path: with its query, as the client sent it.
 * ret is to be done with in every case. */
enum resign_need resign_init(struct resign *ret, const struct http1_head *h, struct http1_text path,
	const char **ret_detail);
void resign_done(struct resign *r);

/* Was the request signed with this placeholder? body_hash: NULL when the body is not at hand. 1 yes:
 * the next calls may follow; 0; -ENOMEM, -EIO. keys are not needed any more. */
int resign_verify(struct resign *r, const struct resign_keys *keys, const struct http1_head *came,
	struct http1_text path, const char *body_hash);

/* Puts the true key id into the head as it goes up and into the path. 0 or -ENOMEM. */
int resign_place(struct resign *r, struct http1_head *goes, struct http1_text *path);

/* Signs what goes up, the last change to it. host: as its Host field will say; body_hash: NULL when
 * the body is not at hand. 0 or negative errno. */
int resign_sign(struct resign *r, struct http1_head *goes, struct http1_text *path,
	struct http1_text host, const char *body_hash);

/* One more signature by a key. 0 or negative errno. */
int resign_text(const struct resign_seed *seed, const struct buf *text, char ret[SIGV4_HEX_BYTES]);

#endif
