/* SPDX-License-Identifier: GPL-2.0-only */
/* Responses without credentials; see reflect.h. */
#include "reflect.h"

#define HOLD_BYTES 4 /* see response_rule */

static int on_value(void *arg, const struct needle_hit *hit, struct buf *out)
{
	struct reflect *r = arg;
	const struct secret *s = secret_at(r->book, hit->id);

	r->seen |= 1ull << hit->id;
	swap_print_like(hit, s->value.len, s->placeholder.ptr, s->placeholder.len, out);
	return 0;
}

/* In a body whose length was told: what stands in for a value is as long as what was found. */
static int on_fitted_value(void *arg, const struct needle_hit *hit, struct buf *out)
{
	size_t begin = out->len, len = hit->end - hit->start;

	on_value(arg, hit, out);
	if (out->is_failed || out->len - begin == len)
		return 0;
	out->len = begin;
	for (size_t i = 0; i < len; i++)
		buf_add_char(out, 'x');
	return 0;
}

/*
 * A shorter beginning than HOLD_BYTES at the end of a piece is passed on: of a message whose last
 * byte happens to be a credential's first, the receiver may be waiting for exactly that byte before
 * it says anything that moves the server on (gRPC, event streams).
 */
static struct swap_rule response_rule(struct reflect *r)
{
	return (struct swap_rule){.needles = secret_values(r->book),
		.hold_bytes = HOLD_BYTES,
		.on_hit = on_value,
		.arg = r};
}

/* Do placeholders have the lengths of their values? All but those of short values do. */
static bool is_fitting(const struct reflect *r)
{
	for (size_t i = 0; i < secret_count(r->book); i++) {
		const struct secret *s = secret_at(r->book, i);

		if (s->value.len >= NEEDLE_MIN_BYTES && s->value.len != s->placeholder.len)
			return false;
	}
	return true;
}

int reflect_head(struct reflect *r, struct http1_head *head, struct buf *scratch)
{
	const struct swap_rule rule = response_rule(r);
	int n = scrub_head(&rule, head, scratch);

	return n < 0 ? n : 0;
}

int reflect_body(
	struct reflect *r, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long)
{
	struct sieve *decoder = NULL, *scrubber = NULL;
	struct swap_rule rule = response_rule(r);
	int err;

	*ret = NULL;
	*ret_is_as_long = true;
	if (needles_is_empty(secret_values(r->book)))
		return 0;
	err = scrub_decoder(head, &decoder);
	if (err < 0)
		return err;
	*ret_is_as_long = !decoder && head->body == HTTP1_BODY_LENGTH && is_fitting(r);
	if (*ret_is_as_long)
		rule.on_hit = on_fitted_value;
	err = swap_sieve_new(&rule, NULL, &scrubber);
	if (err < 0) {
		sieve_free(decoder);
		return err;
	}
	if (decoder)
		decoder->next = scrubber;
	*ret = decoder ? decoder : scrubber;
	return 0;
}
