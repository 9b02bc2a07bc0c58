/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a forward proxy's answer and as proxy credentials. What was said of the first bytes
 * holds whatever follows; credentials and base64 that are taken have one spelling.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/base64.h"
#include "../../user/wire/basic.h"
#include "../../user/wire/tunnel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http1_head head;

static void try_answer(const char *data, size_t len)
{
	struct tunnel_answer whole = {0}, part = {0};
	int r = tunnel_parse(data, len, &head, &whole), before = 0;

	if (r == 1) {
		assert(whole.head_bytes && whole.head_bytes <= len);
		assert(whole.status >= 200 && whole.status <= 999);
		assert(tunnel_parse(data, whole.head_bytes, &head, &part) == 1);
		assert(part.status == whole.status && part.head_bytes == whole.head_bytes);
		assert(tunnel_parse(data, whole.head_bytes - 1, &head, &part) == 0 ||
			whole.head_bytes > TUNNEL_MAX_ANSWER_BYTES);
	}
	for (size_t n = 0; n < len && n < 400 && !before; n++)
		before = tunnel_parse(data, n, &head, &part);
	assert(!before || before == r);
}

static void try_base64(const char *text, size_t len)
{
	char *raw = malloc(len / 4 * 3 + 1);
	struct buf again;
	size_t n;

	buf_init(&again);
	if (raw && base64_decode(text, len, raw, &n) == 0) {
		base64_encode(raw, n, &again);
		assert(again.len == len && (!len || !memcmp(again.data, text, len)));
	}
	buf_done(&again);
	free(raw);
}

static void try_basic(const char *data, size_t len)
{
	struct http1_text field = {data, len};
	struct basic b, c;
	struct buf out;

	if (basic_parse(field, &b) < 0)
		return;
	assert(strlen(b.name) == b.name_len && strlen(b.password) == b.password_len);
	buf_init(&out);
	basic_print(b.name, b.password, &out);
	assert(basic_parse((struct http1_text){out.data, out.len}, &c) == 0);
	assert(!strcmp(b.name, c.name) && !strcmp(b.password, c.password));
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* in memory of its own length, so that a read behind it is seen */
	char *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	try_answer(copy, size);
	try_base64(copy, size);
	try_basic(copy, size);
	free(copy);
	return 0;
}
