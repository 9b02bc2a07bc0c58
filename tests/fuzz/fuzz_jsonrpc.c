/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a JSON-RPC body, and as what an MCP server answers. A refusal's answer is itself
 * strict JSON-RPC with an id for each request; lists are sifted alike however the bytes are cut, and
 * a second time nothing more is taken out.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/toollist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool allows(const void *arg, const char *tool, size_t len)
{
	(void)arg;
	return len > 2 && (tool[0] == 's' || tool[len - 1] == '_');
}

static const struct toollist_policy policy = {.allows = allows};

static void try_request(const char *text, size_t len)
{
	static const struct jsonrpc_error error = {
		.message = "m", .reason = "rule", .line = 1, .rule = "r"};
	struct jsonrpc r, again;
	struct buf tool, out;
	const char *why = NULL;

	buf_init(&tool);
	buf_init(&out);
	if (jsonrpc_parse(text, len, &r, &why) < 0) {
		assert(why);
	} else {
		if (jsonrpc_find_denied(&r, allows, NULL, &tool))
			assert(!allows(NULL, tool.data ? tool.data : "", tool.len));
		jsonrpc_agrees(&r, "name", "search", 6);
		jsonrpc_print_error(&r, &error, &out);
		assert(jsonrpc_parse(out.data, out.len, &again, &why) == 0);
		assert(!again.asks_list && again.is_batch == (r.is_batch && r.is_answered));
		jsonrpc_done(&again);
	}
	jsonrpc_done(&r);
	buf_done(&tool);
	buf_done(&out);
}

static int sift(struct sieve *s, const char *text, size_t len, size_t step, struct buf *out)
{
	int r = 0;

	assert(s);
	for (size_t at = 0; at < len && r == 0; at += step)
		r = s->feed(s, text + at, len - at < step ? len - at : step, out);
	if (r == 0)
		r = s->finish(s, out);
	s->free(s);
	return r;
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static void try_answer(struct sieve *(*new)(const struct toollist_policy *p), const char *text,
	size_t len, size_t step)
{
	struct buf whole, cut, again;
	int r;

	buf_init(&whole);
	buf_init(&cut);
	buf_init(&again);
	r = sift(new (&policy), text, len, len + 1, &whole);
	assert(r == sift(new (&policy), text, len, step, &cut));
	if (r == 0) {
		assert(is_same(&whole, &cut));
		assert(sift(new (&policy), whole.data, whole.len, step, &again) == 0);
		assert(is_same(&whole, &again));
	}
	buf_done(&whole);
	buf_done(&cut);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 2)
		return 0;
	text = malloc(size - 1);
	assert(text);
	memcpy(text, data + 1, size - 1);
	if (data[0] % 3 == 0)
		try_request(text, size - 1);
	else
		try_answer(data[0] % 3 == 1 ? toollist_new_json : toollist_new_events, text,
			size - 1, 1 + data[0] / 3 % 19);
	free(text);
	return 0;
}
