/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads JSON-RPC messages out of strict JSON; see jsonrpc.h. */
#include "jsonrpc.h"

#include <errno.h>
#include <string.h>

#define MAX_SHOWN_BYTES 2048
#define FOLD_BYTES 32

/* Steps through the messages: the elements of a batch, or the one there is. */
static uint32_t first_message(const struct jsonrpc *r)
{
	return r->is_batch ? json_first(&r->json, 0) : 0;
}

static uint32_t next_message(const struct jsonrpc *r, uint32_t message)
{
	return r->is_batch ? json_after(&r->json, 0, message) : JSON_NONE;
}

/* A key that a careless reader takes for one of these, but that is none of them: each reader would
 * see another message. */
static bool has_lookalike(const struct json *j, uint32_t object, const char *const *keys)
{
	char folded[FOLD_BYTES];

	for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_after(j, object, k))
		for (size_t i = 0; keys[i] && json_fold(j, k, sizeof(folded), folded); i++)
			if (!strcmp(folded, keys[i]) && !json_is(j, k, keys[i]))
				return true;
	return false;
}

static bool is_kind(const struct json *j, uint32_t token, enum json_kind kind)
{
	return token != JSON_NONE && j->tokens[token].kind == kind;
}

static bool is_good_id(const struct json *j, uint32_t id)
{
	const struct json_token *t = &j->tokens[id];

	return (t->kind == JSON_STRING || t->kind == JSON_NUMBER || t->kind == JSON_NULL) &&
		t->end - t->at <= JSONRPC_MAX_ID_BYTES;
}

static bool is_call(const struct json *j, uint32_t message)
{
	return json_is(j, json_member(j, message, "method"), "tools/call");
}

/* The name token of a call; JSON_NONE if it has none. */
static uint32_t tool_of(const struct json *j, uint32_t message)
{
	uint32_t params = json_member(j, message, "params");

	return is_kind(j, params, JSON_OBJECT) ? json_member(j, params, "name") : JSON_NONE;
}

static const char *check_call(const struct json *j, uint32_t message)
{
	static const char *const keys[] = {"name", "arguments", NULL};
	uint32_t name = tool_of(j, message);

	if (!is_kind(j, name, JSON_STRING))
		return "a tools/call without the name of a tool";
	if (j->tokens[name].end - j->tokens[name].at > JSONRPC_MAX_NAME_BYTES)
		return "the name of a tool is too long";
	if (has_lookalike(j, json_member(j, message, "params"), keys))
		return "a tools/call with a key in another spelling";
	return NULL;
}

/* Why the message is refused, or NULL. */
static const char *check_message(struct jsonrpc *r, uint32_t message)
{
	static const char *const keys[] = {
		"jsonrpc", "id", "method", "params", "result", "error", NULL};
	const struct json *j = &r->json;
	uint32_t method, id;
	char folded[FOLD_BYTES];
	bool has_result;

	if (!is_kind(j, message, JSON_OBJECT))
		return "a JSON-RPC message that is no object";
	if (has_lookalike(j, message, keys))
		return "a JSON-RPC message with a key in another spelling";
	if (!json_is(j, json_member(j, message, "jsonrpc"), "2.0"))
		return "a message that is not JSON-RPC 2.0";
	id = json_member(j, message, "id");
	if (id != JSON_NONE && !is_good_id(j, id))
		return "the id of a JSON-RPC message is none";
	method = json_member(j, message, "method");
	has_result = json_member(j, message, "result") != JSON_NONE ||
		json_member(j, message, "error") != JSON_NONE;
	if (method == JSON_NONE)
		return has_result ? NULL : "a JSON-RPC message without a method";
	if (has_result || !is_kind(j, method, JSON_STRING))
		return "a JSON-RPC message that is a request and something else";
	r->is_answered |= id != JSON_NONE && j->tokens[id].kind != JSON_NULL;
	r->asks_list |= json_is(j, method, "tools/list");
	if (is_call(j, message))
		return check_call(j, message);
	if (json_fold(j, method, sizeof(folded), folded) && !strcmp(folded, "tools/call"))
		return "the method tools/call in another spelling";
	return NULL;
}

static const char *check_messages(struct jsonrpc *r)
{
	const char *why = NULL;
	size_t n = 0;

	for (uint32_t m = first_message(r); m != JSON_NONE && !why; m = next_message(r, m)) {
		if (n++ == JSONRPC_MAX_BATCH)
			return "too many messages in one batch";
		why = check_message(r, m);
	}
	return n ? why : "an empty batch";
}

int jsonrpc_parse(const char *body, size_t len_bytes, struct jsonrpc *ret, const char **ret_why)
{
	int r;

	*ret = (struct jsonrpc){0};
	r = json_parse(body, len_bytes, &ret->json);
	if (r == -ENOMEM)
		return r;
	*ret_why = "the body is not one JSON value that all readers understand alike";
	if (r < 0)
		return -EBADMSG;
	ret->is_batch = ret->json.tokens[0].kind == JSON_ARRAY;
	*ret_why = check_messages(ret);
	return *ret_why ? -EBADMSG : 0;
}

void jsonrpc_done(struct jsonrpc *r)
{
	json_done(&r->json);
}

bool jsonrpc_find_denied(
	const struct jsonrpc *r, jsonrpc_allows allows, const void *arg, struct buf *ret_tool)
{
	for (uint32_t m = first_message(r); m != JSON_NONE; m = next_message(r, m)) {
		if (!is_call(&r->json, m))
			continue;
		buf_clear(ret_tool);
		json_add_text(&r->json, tool_of(&r->json, m), ret_tool);
		if (ret_tool->is_failed ||
			!allows(arg, ret_tool->data ? ret_tool->data : "", ret_tool->len))
			return true;
	}
	buf_clear(ret_tool);
	return false;
}

bool jsonrpc_agrees(const struct jsonrpc *r, const char *member, const char *value, size_t len)
{
	uint32_t token = JSON_NONE;
	struct buf text;
	bool is_same;

	if (r->is_batch)
		return false;
	if (!strcmp(member, "method"))
		token = json_member(&r->json, 0, "method");
	else if (is_call(&r->json, 0))
		token = tool_of(&r->json, 0);
	else
		return true;
	if (!is_kind(&r->json, token, JSON_STRING))
		return false;
	buf_init(&text);
	json_add_text(&r->json, token, &text);
	is_same = !text.is_failed && text.len == len && (!len || !memcmp(text.data, value, len));
	buf_done(&text);
	return is_same;
}

static void add_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, "\"%s\":", key);
	buf_add_json(b, text, strlen(text), MAX_SHOWN_BYTES);
}

/* id: JSON_NONE for null. */
static void print_one(
	const struct json *j, uint32_t id, const struct jsonrpc_error *error, struct buf *out)
{
	buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (id == JSON_NONE)
		buf_add_str(out, "null");
	else
		buf_add(out, j->text + j->tokens[id].at, j->tokens[id].end - j->tokens[id].at);
	buf_printf(out, ",\"error\":{\"code\":%d,", JSONRPC_REFUSED);
	add_text(out, "message", error->message);
	buf_add_str(out, ",\"data\":{");
	add_text(out, "reason", error->reason);
	if (error->line) {
		buf_printf(out, ",\"rule\":{\"line\":%u,", error->line);
		add_text(out, "text", error->rule);
		buf_add_char(out, '}');
	}
	buf_add_str(out, "}}}");
}

void jsonrpc_print_error(
	const struct jsonrpc *r, const struct jsonrpc_error *error, struct buf *out)
{
	bool is_first = true;

	if (!r->is_answered) {
		print_one(&r->json, JSON_NONE, error, out);
		return;
	}
	if (r->is_batch)
		buf_add_char(out, '[');
	for (uint32_t m = first_message(r); m != JSON_NONE; m = next_message(r, m)) {
		uint32_t id = json_member(&r->json, m, "id");

		if (id == JSON_NONE || r->json.tokens[id].kind == JSON_NULL ||
			json_member(&r->json, m, "method") == JSON_NONE)
			continue;
		if (!is_first)
			buf_add_char(out, ',');
		is_first = false;
		print_one(&r->json, id, error, out);
	}
	if (r->is_batch)
		buf_add_char(out, ']');
}
