/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joins resign.c to the credentials of a request; see aws.h. A request that no placeholder signed
 * passes as it came: the service refuses it.
 */
#include "aws.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rechunk.h"

struct aws {
	struct inject *inject;
	struct resign resign;
	enum resign_need need;
	size_t secret; /* which one signed it */
	bool is_ours;  /* verified */
};

static const char no_body[] = "";

void aws_free(struct aws *a)
{
	if (!a)
		return;
	resign_done(&a->resign);
	free(a);
}

static int refuse(int error, const char *detail, struct refusal *ret_why)
{
	*ret_why = (struct refusal){.reason = NEJ_REASON_LIMIT, .rule = POLICY_NO_RULE};
	if (detail)
		ret_why->reason = NEJ_REASON_SECRET_UNAVAILABLE;
	else
		ret_why->error = error;
	ret_why->detail = detail;
	return error;
}

/* The body must be there before the head is printed: for its hash, or because credentials get in. */
static bool wants_body(const struct aws *a, const struct http1_head *head)
{
	if (head->body == HTTP1_BODY_NONE || a->need == RESIGN_CHUNKS)
		return false;
	return a->need == RESIGN_BODY || inject_swaps_body(a->inject);
}

int aws_new(struct inject *in, const struct http1_head *head, struct http1_text path,
	struct aws **ret, struct refusal *ret_why)
{
	const char *detail = NULL;
	struct aws *a;
	size_t i = 0;

	*ret = NULL;
	if (!inject_next_signing(in, &i))
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return refuse(-ENOMEM, NULL, ret_why);
	a->inject = in;
	a->need = resign_init(&a->resign, head, path, &detail);
	if (a->need == RESIGN_NOTHING || a->need == RESIGN_REFUSED) {
		aws_free(a);
		return detail ? refuse(-EOPNOTSUPP, detail, ret_why) : 0;
	}
	*ret = a;
	return wants_body(a, head);
}

/* NULL with *ret_is_failed false: the body is not at hand. */
static const char *hash_of(const struct http1_head *head, const struct buf *body,
	char space[static HMAC_HEX_BYTES], int *ret_error)
{
	*ret_error = 0;
	if (body && body->len)
		*ret_error = hmac_hash(body->data, body->len, space);
	else if (body || head->body == HTTP1_BODY_NONE)
		*ret_error = hmac_hash(no_body, 0, space);
	else
		return NULL;
	return space;
}

static struct http1_text text_of(struct secret_text t)
{
	return (struct http1_text){t.ptr, t.len};
}

int aws_verify(
	struct aws *a, struct http1_head *head, struct http1_text *path, const struct buf *body)
{
	char space[HMAC_HEX_BYTES];
	const struct secret *s;
	const char *hash;
	int r = 0;

	if (!a)
		return 0;
	hash = hash_of(head, body, space, &r);
	for (size_t i = 0; r == 0 && (s = inject_next_signing(a->inject, &i)); i++) {
		const struct resign_keys keys = {.placeholder = text_of(s->placeholder),
			.secret = text_of(s->value),
			.id = text_of(s->key_id)};

		r = resign_verify(&a->resign, &keys, head, *path, hash);
		a->secret = i;
		if (r == 1 && !s->value.len)
			return inject_missing(a->inject, i);
	}
	a->is_ours = r == 1;
	return a->is_ours ? resign_place(&a->resign, head, path) : r;
}

static int sign_chunks(struct aws *a, struct buf *body)
{
	struct buf anew = {0};
	struct sieve *sieve;
	size_t held = 0;
	int r = rechunk_new(&a->resign, &held, &sieve);

	if (r < 0)
		return r;
	r = sieve_feed(sieve, body->data, body->len, &anew);
	if (r == 0)
		r = sieve_finish(sieve, &anew);
	sieve_free(sieve);
	buf_wipe(body);
	*body = anew;
	return r;
}

int aws_sign(struct aws *a, struct http1_head *head, struct http1_text *path,
	struct http1_text host, struct buf *body)
{
	char space[HMAC_HEX_BYTES];
	const char *hash;
	int r = 0;

	if (!a || !a->is_ours)
		return 0;
	/* its length may be signed */
	if (body && head->body != HTTP1_BODY_NONE)
		http1_set_body(head, HTTP1_BODY_LENGTH, body->len);
	hash = hash_of(head, body, space, &r);
	if (r == 0)
		r = resign_sign(&a->resign, head, path, host, hash);
	if (r == 0 && body && a->need == RESIGN_CHUNKS)
		r = sign_chunks(a, body);
	if (r == 0)
		inject_signed(a->inject, a->secret);
	return r;
}

bool aws_refusal(const struct aws *a, int error, struct refusal *ret_why)
{
	if (!a || !a->is_ours || a->need != RESIGN_CHUNKS)
		return false;
	switch (error) {
	case -EBADMSG:
		ret_why->reason = NEJ_REASON_FRAMING;
		ret_why->detail = "a chunk of the body is malformed or signed with another key";
		return true;
	case -E2BIG:
		ret_why->reason = NEJ_REASON_FRAMING;
		ret_why->detail = "a signed chunk of the body is larger than 1 MiB";
		return true;
	case -ENOBUFS:
		ret_why->reason = NEJ_REASON_LIMIT;
		return true;
	default:
		return false;
	}
}

int aws_body(struct aws *a, size_t *held_bytes, struct sieve **ret)
{
	*ret = NULL;
	if (!a || !a->is_ours || a->need != RESIGN_CHUNKS)
		return 0;
	return rechunk_new(&a->resign, held_bytes, ret);
}
