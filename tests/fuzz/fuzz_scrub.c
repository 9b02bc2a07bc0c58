/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a compressed body, whole and in pieces: the same comes of them. Any bytes as a
 * response's head: what is left of it holds no credential, and codings that nobody reads are refused.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/wire/inflate.h"
#include "../../user/wire/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_OUT (4u << 20) /* a bomb's pieces are small, not what they become */

static const struct needle texts[] = {{"sk-live-51Hx0", 13, false}, {"pa\"ss\\w%rd", 10, false}};

static int put(void *arg, const struct needle_hit *hit, struct buf *out)
{
	swap_print_like(hit, texts[hit->id].len, "nej-standin-0", 13, out);
	++*(size_t *)arg;
	return 0;
}

static int unpack(
	enum inflate_coding coding, const uint8_t *data, size_t size, size_t step, struct buf *out)
{
	struct sieve *sieve = NULL;
	int r = inflate_sieve_new(coding, &sieve);

	assert(r == 0);
	for (size_t at = 0; at < size && r == 0 && out->len < MAX_OUT; at += step)
		r = sieve_feed(
			sieve, (const char *)data + at, step < size - at ? step : size - at, out);
	if (r == 0)
		r = sieve_finish(sieve, out);
	sieve_free(sieve);
	return r;
}

static void try_body(enum inflate_coding coding, const uint8_t *data, size_t size)
{
	struct buf whole = {0}, pieces = {0};
	int r = unpack(coding, data, size, size, &whole),
	    s = unpack(coding, data, size, 3, &pieces);

	if (whole.len < MAX_OUT) {
		assert(r == s);
		if (r == 0)
			assert(whole.len == pieces.len &&
				(!whole.len || !memcmp(whole.data, pieces.data, whole.len)));
	}
	buf_done(&whole);
	buf_done(&pieces);
}

static bool has_any(const struct needles *set, struct http1_text t)
{
	struct needle_hit hit;

	return t.len && needles_find(set, t.ptr, t.len, 0, &hit);
}

static void try_head(const char *data, size_t size)
{
	static struct needles *set;
	struct http1_head head;
	struct buf scratch = {0};
	struct sieve *decoder = NULL;
	size_t n = 0;
	struct swap_rule rule = {.on_hit = put, .arg = &n};

	if (!set && needles_new(texts, ARRAY_SIZE(texts), &set) < 0)
		abort();
	rule.needles = set;
	if (http1_parse_response(data, size, false, &head) < 0)
		return;
	assert(scrub_accept_encoding(&head));
	assert(scrub_head(&rule, &head, &scratch) == (int)n);
	assert(!has_any(set, head.phrase));
	for (size_t i = 0; i < head.n_fields; i++)
		assert(!has_any(set, head.fields[i].name) && !has_any(set, head.fields[i].value));
	if (scrub_decoder(&head, &decoder) < 0)
		assert(!decoder);
	sieve_free(decoder);
	buf_done(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] % 3 < 2)
		try_body(data[0] % 3 ? INFLATE_DEFLATE : INFLATE_GZIP, data + 1, size - 1);
	else
		try_head((const char *)data + 1, size - 1);
	return 0;
}
