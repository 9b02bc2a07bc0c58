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

#include "../wire/canonical.h"

enum resign_need resign_look(const struct http1_head *h, struct http1_text path, struct sigv4 *ret,
	const char **ret_detail)
{
	int r = sigv4_parse(h, path, ret);

	*ret_detail = NULL;
	if (r == -EPROTONOSUPPORT) {
		*ret_detail = "the request is signed with SigV4A (AWS4-ECDSA-P256-SHA256), which "
			      "cannot be signed again here: use Signature Version 4";
		return RESIGN_REFUSED;
	}
	if (r < 0 || ret->form == SIGV4_NONE)
		return RESIGN_NOTHING;
	switch (ret->payload) {
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

void resigned_init(struct resigned *r)
{
	memset(r, 0, sizeof(*r));
}

void resigned_done(struct resigned *r)
{
	buf_done(&r->authorization);
	buf_done(&r->path);
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

int resign_text(const struct resign_seed *key, const struct buf *text, char ret[SIGV4_HEX_BYTES])
{
	uint8_t raw[HMAC_BYTES];
	int r;

	if (text->is_failed)
		return -ENOMEM;
	r = hmac_sign(key->key, sizeof(key->key), text->data, text->len, raw);
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

	buf_init(&text);
	r = canonical_print(s, c, reading, &text);
	if (r == 0)
		r = hmac_hash(text.data, text.len, hash);
	if (r == 0) {
		buf_clear(&text);
		sigv4_print_string(s, hash, &text);
		r = resign_text(key, &text, ret);
	}
	buf_done(&text);
	return r;
}

/* What stands for the body. NULL: its hash is wrong, or needed and not at hand. */
static const char *payload_of(const struct sigv4 *s, const struct resign_side *side)
{
	if (s->payload == SIGV4_PAYLOAD_BODY)
		return side->body_hash;
	if (s->is_hash && side->body_hash && strcasecmp(s->given, side->body_hash))
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

/* --- the request as it goes up */

static void set_field(struct http1_head *h, const char *name, struct http1_text value)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (http1_text_is(h->fields[i].name, name))
			h->fields[i].value = value;
}

/* The signature in the place it came in. */
static int put(struct http1_head *goes, const struct sigv4 *s, struct http1_text path,
	struct resigned *ret)
{
	struct buf *out = s->form == SIGV4_HEADER ? &ret->authorization : &ret->path;

	buf_clear(out);
	if (s->form == SIGV4_QUERY)
		sigv4_print_query(s, path, out);
	else
		sigv4_print_authorization(s, out);
	if (out->is_failed)
		return -ENOMEM;
	if (s->form == SIGV4_HEADER)
		set_field(goes, "authorization", (struct http1_text){out->data, out->len});
	return 0;
}

/* The body was changed on its way: the request names the new hash. */
static void put_hash(struct http1_head *goes, const struct resign_side *up, struct sigv4 *s,
	struct resigned *ret)
{
	if (!s->is_hash || s->form != SIGV4_HEADER || !up->body_hash ||
		!strcasecmp(s->given, up->body_hash))
		return;
	memcpy(ret->body_hash, up->body_hash, SIGV4_HEX_BYTES);
	memcpy(s->given, up->body_hash, SIGV4_HEX_BYTES);
	set_field(goes, "x-amz-content-sha256",
		(struct http1_text){ret->body_hash, SIGV4_HEX_BYTES - 1});
}

static int sign_up(const struct resign_keys *keys, struct sigv4 *s,
	struct canonical_reading reading, struct http1_head *goes, const struct resign_side *up,
	struct resigned *ret)
{
	struct canonical_request c = {.method = goes->method,
		.path = up->path,
		.host = up->host,
		.head = goes,
		.is_up = true};
	int r;

	if (keys->id && !strcmp(s->key_id, keys->id_placeholder)) {
		if (strlen(keys->id) >= sizeof(s->key_id))
			return -EINVAL;
		strcpy(s->key_id, keys->id);
	}
	canonical_drop_hop_names(goes, s);
	put_hash(goes, up, s, ret);
	c.payload = payload_of(s, up);
	if (!c.payload)
		return -EBADMSG;
	if (s->form == SIGV4_QUERY) {
		/* the key id in it is signed too */
		r = put(goes, s, up->path, ret);
		if (r < 0)
			return r;
		c.path = (struct http1_text){ret->path.data, ret->path.len};
	}
	r = sign(&ret->up, s, &c, reading, ret->up.signature);
	if (r < 0)
		return r;
	memcpy(s->signature, ret->up.signature, SIGV4_HEX_BYTES);
	return put(goes, s, up->path, ret);
}

int resign_request(const struct resign_keys *keys, const struct sigv4 *s,
	const struct http1_head *came, const struct resign_side *client, struct http1_head *goes,
	const struct resign_side *up, struct resigned *ret)
{
	struct canonical_request c = {.method = came->method,
		.path = client->path,
		.host = client->host,
		.head = came,
		.payload = payload_of(s, client)};
	struct canonical_reading reading;
	struct sigv4 anew = *s;
	int r;

	if (!c.payload)
		return 0;
	r = derive(keys->placeholder, s, ret->client.key);
	if (r == 0)
		r = find_reading(&ret->client, s, &c, &reading);
	if (r <= 0)
		return r;
	memcpy(ret->client.signature, s->signature, SIGV4_HEX_BYTES);
	r = derive(keys->secret, s, ret->up.key);
	if (r == 0)
		r = sign_up(keys, &anew, reading, goes, up, ret);
	return r < 0 ? r : 1;
}
