/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a request, a response or a chunked body, and what the next hop would get: it must
 * parse again, with the same framing, one Host, and no field of one hop; and a chunked body must
 * carry the same bytes however it is cut.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/hop.h"
#include "../../user/wire/http1.h"
#include "../../user/wire/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http1_head first, second;

static void check_again(const struct buf *out, bool is_request, bool is_head)
{
	size_t n = http1_head_end(out->data, out->len);
	int r;

	assert(n == out->len);
	r = is_request ? http1_parse_request(out->data, out->len, &second)
		       : http1_parse_response(out->data, out->len, is_head, &second);
	/* our own Host and framing may be one field more than there is room for */
	if (r == -E2BIG)
		return;
	assert(r == 0);
	assert(second.body == first.body);
	assert(second.body != HTTP1_BODY_LENGTH || second.length == first.length);
	for (size_t i = 0; i < second.n_fields; i++)
		assert(second.fields[i].id != HTTP1_NAME_HTTP2_SETTINGS &&
			second.fields[i].id != HTTP1_NAME_KEEP_ALIVE &&
			second.fields[i].id != HTTP1_NAME_PROXY_CONNECTION &&
			second.fields[i].id != HTTP1_NAME_PROXY_AUTHORIZATION);
}

static void try_request(const char *data, size_t len)
{
	struct target t;
	struct host host;
	uint16_t port;
	struct buf out;

	if (http1_parse_request(data, len, &first) < 0)
		return;
	if (target_parse(first.method, first.target, &t) < 0 || t.form == TARGET_AUTHORITY)
		return;
	if (t.form == TARGET_ABSOLUTE)
		host = t.host;
	else if (!first.host.ptr || target_parse_host(first.host, &host, &port) < 0)
		return;
	assert(t.path.len);
	if (t.is_rooted)
		return;
	buf_init(&out);
	hop_print_request(&first, &host, 8080, 80, t.path, &out);
	check_again(&out, true, false);
	assert(second.host.len >= 5 && !memcmp(second.host.ptr + second.host.len - 5, ":8080", 5));
	buf_done(&out);
}

static void try_response(const char *data, size_t len, bool is_head)
{
	struct hop_reply how = {0};
	struct buf out;

	if (http1_parse_response(data, len, is_head, &first) < 0)
		return;
	buf_init(&out);
	hop_print_response(&first, &how, &out);
	check_again(&out, false, is_head);
	buf_done(&out);
}

/* Feeds in pieces whose sizes come from the data. */
static int feed(const char *data, size_t len, unsigned int step, bool is_plain, struct buf *out,
	size_t *ret_used)
{
	struct http1_chunks c;
	size_t at = 0;
	int r = 0;

	http1_chunks_init(&c, is_plain);
	while (at < len && r == 0) {
		size_t used = 0, n = len - at < step ? len - at : step;

		r = http1_chunks_feed(&c, data + at, n, out, &used);
		if (r < 0)
			break;
		assert(used <= n);
		at += used;
	}
	*ret_used = at;
	http1_chunks_done(&c);
	return r;
}

static void try_chunks(const char *data, size_t len)
{
	struct buf whole, cut, framed, again;
	size_t used, used_cut, used_again;
	int r, r_cut;

	buf_init(&whole);
	buf_init(&cut);
	buf_init(&framed);
	buf_init(&again);
	r = feed(data, len, 1u << 30, true, &whole, &used);
	r_cut = feed(data, len, 1 + (unsigned char)data[0] % 7, true, &cut, &used_cut);
	assert(r == r_cut);
	if (r >= 0) {
		assert(used == used_cut && whole.len == cut.len);
		assert(!whole.len || !memcmp(whole.data, cut.data, whole.len));
	}
	if (r == 1) {
		assert(feed(data, len, 1u << 30, false, &framed, &used) == 1);
		/* what we framed is one body, to its last byte, with the same bytes in it */
		assert(feed(framed.data, framed.len, 1u << 30, true, &again, &used_again) == 1);
		assert(used_again == framed.len && again.len == whole.len);
		assert(!whole.len || !memcmp(whole.data, again.data, whole.len));
	}
	buf_done(&whole);
	buf_done(&cut);
	buf_done(&framed);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	size_t n;

	if (size < 2)
		return 0;
	text = malloc(size - 1);
	memcpy(text, data + 1, size - 1);
	n = http1_head_end(text, size - 1);
	if (data[0] % 4 == 3)
		try_chunks(text, size - 1);
	else if (n && data[0] % 4 == 0)
		try_request(text, n);
	else if (n)
		try_response(text, n, data[0] % 4 == 2);
	free(text);
	return 0;
}
