/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes, in any pieces, with a text put into them in any form: the text is found where it was
 * put, what a stream lets pass never holds one, refused streams never gave one away.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/wire/base64.h"
#include "../../user/wire/swap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct needle texts[] = {
	{"nej_A1b2C3d4", 12, true}, {"pass word/+\"%\\=1", 16, false}, {"nej_A1b2", 8, true}};
static const char standin[] = "x1x1x1x1x1x1";

struct run {
	int result;
	size_t n_hits;
	struct buf out;
};

static int put(void *arg, const struct needle_hit *hit, struct buf *out)
{
	struct run *run = arg;

	assert(hit->id < ARRAY_SIZE(texts) && hit->start < hit->end);
	run->n_hits++;
	swap_print_like(hit, texts[hit->id].len, standin, sizeof(standin) - 1, out);
	return 0;
}

static int refuse(void *arg, const struct needle_hit *hit, struct buf *out)
{
	(void)arg;
	(void)hit;
	(void)out;
	return -EPERM;
}

/* One text in one form, as a client could write it; seed chooses which bytes are escaped. */
static void add_form(struct buf *b, uint8_t which, uint32_t seed)
{
	const struct needle *t = &texts[which % ARRAY_SIZE(texts)];
	unsigned form = which / 8 % 5;
	struct buf plain = {0};

	for (size_t i = 0; i < t->len && form < 3; i++) {
		unsigned char c = (unsigned char)t->text[i];
		bool is_escaped = seed >> (i % 32) & 1;

		if (form == 1 && (is_escaped || strchr("%+ ", c)))
			buf_printf(b, "%%%02x", c);
		else if (form == 2 && (is_escaped || strchr("\"\\", c)))
			buf_printf(b, "\\u%04X", c);
		else
			buf_add_char(b, (char)c);
	}
	buf_add(&plain, "??", seed % 3);
	buf_add(&plain, t->text, t->len);
	if (form == 3)
		base64_encode(plain.data, plain.len, b);
	for (size_t i = 0; i < t->len && form == 4; i++)
		buf_printf(b, seed & 1 ? "%02x" : "%02X", (unsigned char)t->text[i]);
	buf_done(&plain);
}

/* Bytes 0xf8 and above stand for a text, with the next five bytes saying how. */
static void build(const uint8_t *data, size_t size, struct buf *b, size_t *ret_put)
{
	*ret_put = 0;
	for (size_t i = 0; i < size; i++) {
		uint32_t seed;

		if (data[i] < 0xf8 || i + 6 > size) {
			buf_add_char(b, (char)data[i]);
			continue;
		}
		memcpy(&seed, data + i + 2, sizeof(seed));
		add_form(b, data[i + 1], seed);
		i += 5;
		++*ret_put;
	}
}

static struct run stream(const struct needles *set, const struct buf *in, size_t hold,
	bool is_refusing, uint32_t cuts)
{
	struct run run = {0};
	struct swap_rule rule = {.needles = set,
		.hold_bytes = hold,
		.on_hit = is_refusing ? refuse : put,
		.arg = &run};
	struct sieve *sieve = NULL;
	size_t at = 0;

	if (swap_sieve_new(&rule, NULL, &sieve) < 0)
		abort();
	while (at < in->len && run.result == 0) {
		size_t before = run.out.len, n = 1 + (cuts >> (at % 24)) % 61;

		n = n < in->len - at ? n : in->len - at;
		run.result = sieve_feed(sieve, in->data + at, n, &run.out);
		if (run.result < 0)
			run.out.len = before;
		at += n;
	}
	if (run.result == 0)
		run.result = sieve_finish(sieve, &run.out);
	sieve_free(sieve);
	return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct needles *set;
	struct needle_hit hit;
	struct buf in = {0};
	struct run held, loose, watched;
	uint32_t cuts;
	size_t n_put;

	if (size < 4)
		return 0;
	memcpy(&cuts, data, sizeof(cuts));
	if (!set && needles_new(texts, ARRAY_SIZE(texts), &set) < 0)
		abort();
	build(data + 4, size - 4, &in, &n_put);
	held = stream(set, &in, 1, false, cuts);
	loose = stream(set, &in, 4, false, cuts);
	watched = stream(set, &in, 0, true, cuts);
	assert(held.result == 0 && loose.result == 0);
	assert(held.n_hits == loose.n_hits);
	assert((watched.result == -EPERM) == (held.n_hits > 0));
	assert(!n_put || held.n_hits);
	if (watched.out.data)
		assert(!needles_find(set, watched.out.data, watched.out.len, 0, &hit));
	if (!held.n_hits && in.len)
		assert(held.out.len == in.len && !memcmp(held.out.data, in.data, in.len));
	buf_done(&held.out);
	buf_done(&loose.out);
	buf_done(&watched.out);
	buf_done(&in);
	return 0;
}
