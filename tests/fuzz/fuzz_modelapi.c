/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a request to a model API. What is found has printable words; no body, put beside or
 * around a hosted tool, hides it; an error's body is strict JSON.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../../user/wire/modelapi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(const struct buf *b)
{
	char what[MODELAPI_WHAT_BYTES];
	int r = modelapi_check(b->data, b->len, what);

	assert(r < 0 || !r == !what[0]);
	for (const char *c = what; r == 1 && *c; c++)
		assert(*c >= ' ' && *c <= '~');
	return r;
}

static int check_around(const char *before, const struct buf *body, const char *after)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_add_str(&b, before);
	buf_add(&b, body->data, body->len);
	buf_add_str(&b, after);
	r = check(&b);
	buf_done(&b);
	return r;
}

static void try_error(const struct buf *body)
{
	struct json j;
	struct buf out;

	buf_init(&out);
	modelapi_print_error(modelapi_of(body->data, body->len), body->data, &out);
	assert(json_parse(out.data, out.len, &j) == 0);
	json_done(&j);
	buf_done(&out);
	modelapi_is_upload(body->data, body->len, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf body;
	int r;

	buf_init(&body);
	buf_add(&body, data, size);
	r = check(&body);
	assert(r == 0 || r == 1 || r == -EBADMSG);
	if (r >= 0) {
		/* one deeper may be too deep */
		int beside =
			check_around("{\"a\":", &body, ",\"tools\":[{\"type\":\"web_search\"}]}");
		int before = check_around("[{\"tools\":[{\"googleSearch\":{}}]},", &body, "]");

		assert(beside == 1 || beside == -EBADMSG);
		assert(before == 1 || before == -EBADMSG);
	}
	try_error(&body);
	buf_done(&body);
	return 0;
}
