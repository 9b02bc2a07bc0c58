/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client's signature is computed once more with the placeholder, in each reading of the
 * request that signers use; the reading that gives it is signed with the true key. A signature
 * that none gives was not made with the placeholder: signing its request would lend the key to
 * whoever can send one. Read wire/canonical.c next.
 */
#include "resign.h"

#include <errno.h>
#include <string.h>

#include "../../include/bounds.h"

enum resign_need resign_init(struct resign *ret, const struct http1_head *h, struct http1_text path,
	const char **ret_detail)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	*ret_detail = NULL;
	r = sigv4_parse(h, path, &ret->s);
	if (r == -EPROTONOSUPPORT) {
		*ret_detail = "the request is signed with SigV4A (AWS4-ECDSA-P256-SHA256), which "
			      "cannot be signed again here: use Signature Version 4";
		return RESIGN_REFUSED;
	}
	if (r < 0 || ret->s.form == SIGV4_NONE)
		return RESIGN_NOTHING;
	switch (ret->s.payload) {
	case SIGV4_PAYLOAD_BODY:
		return RESIGN_BODY;
	case SIGV4_PAYLOAD_CHUNKS:
	case SIGV4_PAYLOAD_TRAILERS:
		return RESIGN_CHUNKS;
	case SIGV4_PAYLOAD_UNKNOWN:
		*ret_detail = "x-amz-content-sha256 names a form of body that cannot be signed "
			      "again here";
		return RESIGN_REFUSED;
	default:
		return RESIGN_HEAD;
	}
}

void resign_done(struct resign *r)
{
	buf_wipe(&r->authorization);
	buf_wipe(&r->path);
	explicit_bzero(r, sizeof(*r));
}

/* --- signatures */

/* HMAC over HMAC: the day, the region, the service. */
static int derive(struct http1_text secret, const struct sigv4 *s, uint8_t ret[HMAC_BYTES])
{
	const char *const steps[] = {s->date, s->region, s->service, "aws4_request"};
	struct buf start;
	const void *key;
	size_t len;
	int r = 0;

	buf_init(&start);
	if (buf_reserve(&start, secret.len + 4) < 0)
		return -ENOMEM;
	buf_add_str(&start, "AWS4");
	buf_add(&start, secret.ptr, secret.len);
	key = start.data;
	len = start.len;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++) {
		r = hmac_sign(key, len, steps[i], strlen(steps[i]), ret);
		key = ret;
		len = HMAC_BYTES;
	}
	explicit_bzero(start.data, start.len);
	buf_done(&start);
	return r;
}

int resign_text(const struct resign_seed *seed, const struct buf *text, char ret[SIGV4_HEX_BYTES])
{
	uint8_t raw[HMAC_BYTES];
	int r;

	if (text->is_failed)
		return -ENOMEM;
	r = hmac_sign(seed->key, sizeof(seed->key), text->data, text->len, raw);
	if (r == 0)
		hmac_print(raw, ret);
	return r;
}

static int sign(const struct resign_seed *key, const struct sigv4 *s,
	const struct canonical_request *c, struct canonical_reading reading,
	char ret[SIGV4_HEX_BYTES])
{
	char hash[SIGV4_HEX_BYTES];
	struct buf text;
	int r;

	/* credentials may stand in it: room from the start leaves no copies behind */
	buf_init(&text);
	buf_reserve(&text, 3 * c->path.len + NEJ_MAX_HEAD_BYTES);
	r = canonical_print(s, c, reading, &text);
	if (r == 0)
		r = hmac_hash(text.data, text.len, hash);
	if (r == 0) {
		buf_clear(&text);
		sigv4_print_string(s, hash, &text);
		r = resign_text(key, &text, ret);
	}
	buf_wipe(&text);
	return r;
}

/* What stands for the body. NULL: its hash is wrong, or needed and not at hand. */
static const char *payload_of(const struct sigv4 *s, const char *body_hash)
{
	if (s->payload == SIGV4_PAYLOAD_BODY)
		return body_hash;
	if (s->is_hash && body_hash && strcasecmp(s->given, body_hash))
		return NULL;
	return s->given;
}

/* 1 with the reading in which the placeholder gives the client's signature; 0: there is none. */
static int find_reading(const struct resign_seed *key, const struct sigv4 *s,
	const struct canonical_request *c, struct canonical_reading *ret)
{
	struct canonical_reading reading;
	char signature[SIGV4_HEX_BYTES];
	int r;

	for (size_t i = 0; canonical_reading(s->is_s3, i, &reading); i++) {
		r = sign(key, s, c, reading, signature);
		if (r < 0)
			return r;
		if (hmac_equal(signature, s->signature, SIGV4_HEX_BYTES)) {
			*ret = reading;
			return 1;
		}
	}
	return 0;
}

int resign_verify(struct resign *r, const struct resign_keys *keys, const struct http1_head *came,
	struct http1_text path, const char *body_hash)
{
	const struct canonical_request c = {
		.method = came->method,
		.path = path,
		.host = came->host,
		.head = came,
		.payload = payload_of(&r->s, body_hash),
	};
	int result;

	if (!c.payload)
		return 0;
	result = derive(keys->placeholder, &r->s, r->client.key);
	if (result == 0)
		result = find_reading(&r->client, &r->s, &c, &r->reading);
	if (result <= 0)
		return result;
	memcpy(r->client.signature, r->s.signature, SIGV4_HEX_BYTES);
	result = derive(keys->secret, &r->s, r->up.key);
	if (result < 0)
		return result;
	if (keys->id.len && keys->id.len < sizeof(r->s.key_id)) {
		memcpy(r->s.key_id, keys->id.ptr, keys->id.len);
		r->s.key_id[keys->id.len] = 0;
	}
	return 1;
}

/* --- the request as it goes up */

static void set_field(struct http1_head *h, const char *name, struct http1_text value)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (http1_text_is(h->fields[i].name, name))
			h->fields[i].value = value;
}

int resign_place(struct resign *r, struct http1_head *goes, struct http1_text *path)
{
	struct buf out;

	/* *path may be what this printed before */
	buf_init(&out);
	buf_reserve(&out, path->len + sizeof(r->s));
	if (r->s.form == SIGV4_QUERY)
		sigv4_print_query(&r->s, *path, &out);
	else
		sigv4_print_authorization(&r->s, &out);
	if (out.is_failed) {
		buf_wipe(&out);
		return -ENOMEM;
	}
	if (r->s.form == SIGV4_QUERY) {
		buf_wipe(&r->path);
		r->path = out;
		*path = (struct http1_text){out.data, out.len};
	} else {
		buf_wipe(&r->authorization);
		r->authorization = out;
		set_field(goes, "authorization", (struct http1_text){out.data, out.len});
	}
	return 0;
}

/* The body was changed on its way: the request names the new hash. */
static void put_hash(struct resign *r, struct http1_head *goes, const char *body_hash)
{
	if (!r->s.is_hash || r->s.form != SIGV4_HEADER || !body_hash ||
		!strcasecmp(r->s.given, body_hash))
		return;
	memcpy(r->body_hash, body_hash, SIGV4_HEX_BYTES);
	memcpy(r->s.given, body_hash, SIGV4_HEX_BYTES);
	set_field(goes, "x-amz-content-sha256",
		(struct http1_text){r->body_hash, SIGV4_HEX_BYTES - 1});
}

int resign_sign(struct resign *r, struct http1_head *goes, struct http1_text *path,
	struct http1_text host, const char *body_hash)
{
	struct canonical_request c = {
		.method = goes->method, .path = *path, .host = host, .head = goes, .is_up = true};
	int result;

	canonical_drop_hop_names(goes, &r->s);
	put_hash(r, goes, body_hash);
	c.payload = payload_of(&r->s, body_hash);
	if (!c.payload)
		return -EBADMSG;
	result = sign(&r->up, &r->s, &c, r->reading, r->up.signature);
	if (result < 0)
		return result;
	memcpy(r->s.signature, r->up.signature, SIGV4_HEX_BYTES);
	return resign_place(r, goes, path);
}
