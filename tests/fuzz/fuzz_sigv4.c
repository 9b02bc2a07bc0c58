/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a signed request or an aws-chunked body. What is printed of a signature must be read
 * again as the same; nothing in it ends a line; and a body means the same however it is cut.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/awschunk.h"
#include "../../user/wire/canonical.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http1_head head;

static void check_same(const struct sigv4 *a, const struct sigv4 *b)
{
	assert(a->form == b->form && !strcmp(a->key_id, b->key_id));
	assert(!strcmp(a->date, b->date) && !strcmp(a->region, b->region));
	assert(!strcmp(a->service, b->service) && !strcmp(a->names, b->names));
	assert(!strcmp(a->signature, b->signature) && !strcmp(a->time, b->time));
}

/* The head again, with what we would print of its signature. */
static void read_again(const struct sigv4 *s)
{
	struct http1_text path = head.target;
	struct buf out;
	struct sigv4 again;

	buf_init(&out);
	if (s->form == SIGV4_QUERY) {
		sigv4_print_query(s, head.target, &out);
		path = (struct http1_text){out.data, out.len};
	} else {
		sigv4_print_authorization(s, &out);
		for (size_t i = 0; i < head.n_fields; i++)
			if (http1_text_is(head.fields[i].name, "authorization"))
				head.fields[i].value = (struct http1_text){out.data, out.len};
	}
	assert(!memchr(out.data, '\n', out.len) && !memchr(out.data, '\r', out.len));
	assert(sigv4_parse(&head, path, &again) == 0);
	check_same(s, &again);
	buf_done(&out);
}

static void try_request(const char *data, size_t len)
{
	struct canonical_request c = {.head = &head, .payload = "UNSIGNED-PAYLOAD"};
	struct canonical_reading reading;
	struct sigv4 s, up;
	struct buf out;
	int r;

	if (http1_parse_request(data, len, &head) < 0)
		return;
	r = sigv4_parse(&head, head.target, &s);
	assert(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
	if (r < 0 || s.form == SIGV4_NONE)
		return;
	c.method = head.method;
	c.path = head.target;
	c.host = head.host;
	buf_init(&out);
	for (size_t i = 0; canonical_reading(i % 2, i / 2, &reading); i++) {
		up = s;
		c.is_up = i % 3 == 0;
		if (c.is_up)
			canonical_drop_hop_names(&head, &up);
		assert(strlen(up.names) <= strlen(s.names));
		buf_clear(&out);
		assert(canonical_print(&up, &c, reading, &out) == 0);
	}
	buf_done(&out);
	read_again(&s);
}

/* Returns awschunk's verdict; out is every chunk and what is signed of the trailers. */
static int feed(const char *data, size_t len, size_t step, bool has_trailers, struct buf *out)
{
	struct awschunk a;
	size_t at = 0, used;
	int r = 0;

	awschunk_init(&a, has_trailers);
	while (at < len && r >= 0) {
		size_t n = len - at < step ? len - at : step;

		r = awschunk_feed(&a, data + at, n, &used);
		assert(used <= n && (r || used == n));
		at += used;
		if (r == 1) {
			assert(a.data_at + a.data_len <= a.held.len);
			assert(a.signature_at + 64 < a.data_at);
			buf_add(out, a.held.data, a.held.len);
			awschunk_next(&a);
		}
	}
	if (r >= 0) {
		r = awschunk_finish(&a, out);
		assert(r != 1 || a.signature_at + 64 <= a.held.len);
	}
	awschunk_done(&a);
	return r;
}

static void try_body(const char *data, size_t len, bool has_trailers)
{
	struct buf whole, cut;
	int r;

	buf_init(&whole);
	buf_init(&cut);
	r = feed(data, len, SIZE_MAX, has_trailers, &whole);
	assert((feed(data, len, 1 + (unsigned char)data[0] % 5, has_trailers, &cut) < 0) ==
		(r < 0));
	if (r == 0)
		assert(whole.len == len && !memcmp(whole.data, data, len));
	if (r >= 0)
		assert(whole.len == cut.len && !memcmp(whole.data, cut.data, cut.len));
	buf_done(&whole);
	buf_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 2)
		return 0;
	text = malloc(size - 1);
	memcpy(text, data + 1, size - 1);
	if (data[0] % 4 < 2)
		try_body(text, size - 1, data[0] % 4);
	else if (http1_head_end(text, size - 1) == size - 1)
		try_request(text, size - 1);
	free(text);
	return 0;
}
