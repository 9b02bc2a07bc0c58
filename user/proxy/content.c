/* SPDX-License-Identifier: GPL-2.0-only */
/* Judges the bodies of requests; see content.h. */
#include "content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../policy/match.h"
#include "../wire/base64.h"
#include "../wire/modelapi.h"
#include "../wire/toollist.h"
#include "../wire/url.h"

#define MAX_SHOWN_BYTES 128
#define STATUS_UNSUPPORTED 415

/* Everything a refusal or a sieve may need is copied: the policy may be replaced meanwhile. */
struct content {
	bool has_mcp, denies_hosted;
	bool wants_body;
	bool asks_list;     /* the request holds a tools/list: its JSON answer is a list */
	bool is_streamable; /* the client looks for answers in the response */
	uint32_t rule;
	unsigned int line;
	char *rule_text;
	struct buf tools; /* each with its NUL */
	struct buf path;
	struct buf detail, body;
	struct refuse_answer answer;
};

/* --- making one */

static int copy_tools(struct content *ct, const struct policy *p)
{
	const char *tool;
	size_t len;

	for (size_t i = 0; (tool = policy_mcp_tool(p, ct->rule, i, &len)); i++) {
		buf_add(&ct->tools, tool, len);
		buf_add(&ct->tools, "", 1);
	}
	return ct->tools.is_failed ? -ENOMEM : 0;
}

DEFINE_CLEANUP(struct content, content_free);

int content_new(const struct policy *p, uint32_t rule, struct http1_text path, struct content **ret)
{
	_cleanup_(content_free_ptr)
	struct content *ct = NULL;
	struct policy_rule_info info;

	*ret = NULL;
	if (!policy_rule(p, rule, &info) ||
		(!policy_rule_has_mcp(p, rule) && !policy_denies_hosted_tools(p, rule)))
		return 0;
	ct = calloc(1, sizeof(*ct));
	if (!ct)
		return -ENOMEM;
	ct->rule = rule;
	ct->line = info.line;
	ct->has_mcp = policy_rule_has_mcp(p, rule);
	ct->denies_hosted = policy_denies_hosted_tools(p, rule);
	ct->rule_text = strdup(info.text);
	buf_add(&ct->path, path.ptr, path.len);
	if (!ct->rule_text || ct->path.is_failed || copy_tools(ct, p) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(ct);
	return 0;
}

void content_free(struct content *ct)
{
	if (!ct)
		return;
	free(ct->rule_text);
	buf_done(&ct->tools);
	buf_done(&ct->path);
	buf_done(&ct->detail);
	buf_done(&ct->body);
	free(ct);
}

/* --- refusals */

/* In nej's own words: status 0 is the reason's. */
static int refuse(struct content *ct, enum nej_reason reason, uint16_t status, const char *detail,
	struct refusal *ret_why)
{
	ct->answer = (struct refuse_answer){.status = status};
	*ret_why = (struct refusal){
		.reason = reason,
		.rule = ct->rule,
		.detail = detail,
		.answer = status ? &ct->answer : NULL,
	};
	return -EACCES;
}

/* In the words of the protocol that was asked, which stand in ct->body. */
static int refuse_as(struct content *ct, uint16_t status, struct refusal *ret_why)
{
	if (ct->body.is_failed || ct->detail.is_failed)
		return refuse(ct, NEJ_REASON_LIMIT, 0, "out of memory", ret_why);
	refuse(ct, NEJ_REASON_RULE, status, ct->detail.data, ret_why);
	ct->answer.body = ct->body.data;
	ct->answer.body_len = ct->body.len;
	return -EACCES;
}

static bool is_identity(struct http1_text value)
{
	return !value.len || http1_text_is(value, "identity");
}

static bool is_encoded(const struct http1_head *head)
{
	for (size_t i = 0; i < head->n_fields; i++)
		if (http1_text_is(head->fields[i].name, "content-encoding") &&
			!head->fields[i].is_hop && !is_identity(head->fields[i].value))
			return true;
	return false;
}

/* The media type of Content-Type, `multipart/form-data`, whatever parameters follow. */
static bool has_type(const struct http1_head *head, const char *type)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		struct http1_text value = head->fields[i].value;
		const char *end;

		if (!http1_text_is(head->fields[i].name, "content-type") || !value.len)
			continue;
		end = memchr(value.ptr, ';', value.len);
		if (end)
			value.len = (size_t)(end - value.ptr);
		while (value.len &&
			(value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
			value.len--;
		return http1_text_is(value, type);
	}
	return false;
}

/* --- the head */

/* What stands behind each `charset` of a Content-Type is `=utf-8`, in quotes or not. */
static bool has_plain_charset(struct http1_text value)
{
	static const char *const plain[] = {"=utf-8", "=\"utf-8\"", "=utf8"};
	static const char word[] = "charset";
	size_t n = sizeof(word) - 1;

	for (size_t i = 0; i + n <= value.len; i++) {
		bool is_plain = false;

		if (strncasecmp(value.ptr + i, word, n) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(plain); k++) {
			size_t len = strlen(plain[k]), end = i + n + len;

			is_plain |= end <= value.len &&
				!strncasecmp(value.ptr + i + n, plain[k], len) &&
				(end == value.len || value.ptr[end] == ';' ||
					value.ptr[end] == ' ' || value.ptr[end] == '\t');
		}
		if (!is_plain)
			return false;
	}
	return true;
}

/* A server that reads the body in another character set (UTF-7: `+ACI-` is a quote) reads another
 * body. */
static bool is_in_utf8(const struct http1_head *head)
{
	size_t n = 0;

	for (size_t i = 0; i < head->n_fields; i++) {
		if (!http1_text_is(head->fields[i].name, "content-type"))
			continue;
		if (n++ || !has_plain_charset(head->fields[i].value))
			return false;
	}
	return true;
}

/* Both ways to read the path must lead to a place for files. */
static bool is_upload(const struct content *ct, const struct http1_head *head)
{
	static const enum url_reading readings[] = {URL_FULL, URL_PLAIN};
	bool is_multipart = has_type(head, "multipart/form-data");
	char text[URL_MAX_PATH_BYTES];
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(readings); i++)
		if (url_read_path(ct->path.data, ct->path.len, readings[i], text, &len) < 0 ||
			!modelapi_is_upload(text, len, is_multipart))
			return false;
	return true;
}

/* A client of HTTP with SSE looks for its answer in the event stream, never here, but takes a bad
 * status for one. Streamable HTTP must name application/json; both may send MCP-Protocol-Version. */
static bool is_streamable(const struct http1_head *head)
{
	bool has_session = false;

	for (size_t i = 0; i < head->n_fields; i++)
		has_session |= http1_text_is(head->fields[i].name, "mcp-session-id");
	return head->wants_json || has_session;
}

int content_begin(
	struct content *ct, const struct http1_head *head, size_t *ret_max, struct refusal *ret_why)
{
	ct->is_streamable = is_streamable(head);
	if (head->is_websocket)
		return refuse(ct, NEJ_REASON_UNKNOWN_PROTOCOL, 0,
			"what goes over a websocket cannot be looked into, as the rule wants it",
			ret_why);
	if (head->body == HTTP1_BODY_NONE)
		return 0;
	if (!ct->has_mcp && is_upload(ct, head))
		return 0;
	if (is_encoded(head))
		return refuse(ct, NEJ_REASON_FRAMING, STATUS_UNSUPPORTED,
			"the body is compressed: send it as it is, the rule looks into it",
			ret_why);
	if (!is_in_utf8(head))
		return refuse(ct, NEJ_REASON_FRAMING, STATUS_UNSUPPORTED,
			"the body is not in UTF-8, or has two types: the rule looks into it",
			ret_why);
	ct->wants_body = true;
	*ret_max = ct->has_mcp ? CONTENT_MAX_MCP : CONTENT_MAX_HOSTED;
	return 1;
}

/* --- MCP */

static bool allows(const void *arg, const char *tool, size_t len)
{
	const struct content *ct = arg;
	const char *at = ct->tools.data, *end = at + ct->tools.len;

	while (at < end) {
		size_t n = strlen(at);

		if (match_tool(at, n, tool, len))
			return true;
		at += n + 1;
	}
	return false;
}

/* Mcp-Name may be `=?base64?TEXT?=`. */
static bool agrees(const struct jsonrpc *r, const char *member, struct http1_text value)
{
	static const char before[] = "=?base64?", after[] = "?=";
	size_t n_before = sizeof(before) - 1, n_after = sizeof(after) - 1, n;
	char text[JSONRPC_MAX_NAME_BYTES];

	if (value.len < n_before + n_after || strncasecmp(value.ptr, before, n_before) != 0)
		return jsonrpc_agrees(r, member, value.ptr, value.len);
	value.ptr += n_before;
	value.len -= n_before + n_after;
	return !memcmp(value.ptr + value.len, after, n_after) && value.len <= sizeof(text) &&
		!base64_decode(value.ptr, value.len, text, &n) &&
		jsonrpc_agrees(r, member, text, n);
}

/* Who routes by the headers must not find another call there than in the body. */
static bool has_true_headers(const struct jsonrpc *r, const struct http1_head *head)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		const struct http1_field *f = &head->fields[i];

		if (http1_text_is(f->name, "mcp-method") && !agrees(r, "method", f->value))
			return false;
		if (http1_text_is(f->name, "mcp-name") && !agrees(r, "name", f->value))
			return false;
	}
	return true;
}

/* A name out of a body, in the record and in messages. */
static void add_shown(struct buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len && i < MAX_SHOWN_BYTES; i++)
		buf_add_char(b, text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
	if (len > MAX_SHOWN_BYTES)
		buf_add_str(b, "...");
}

static int refuse_call(struct content *ct, const struct jsonrpc *r, const struct buf *tool,
	struct refusal *ret_why)
{
	struct jsonrpc_error error = {.reason = "rule", .line = ct->line, .rule = ct->rule_text};
	struct buf message;
	int result;

	buf_init(&message);
	buf_add_str(&ct->detail, "tool ");
	add_shown(&ct->detail, tool->data ? tool->data : "", tool->len);
	buf_add_str(&ct->detail, " is not among mcp.tools");
	buf_printf(&message,
		"nej refused this call: %s of the rule on line %u (%s). Do not retry: the policy "
		"denies it on purpose.",
		ct->detail.data ? ct->detail.data : "", ct->line, ct->rule_text);
	error.message = message.data ? message.data : "nej refused this call";
	jsonrpc_print_error(r, &error, &ct->body);
	result = refuse_as(ct, r->is_answered && ct->is_streamable ? 200 : 403, ret_why);
	buf_done(&message);
	return result;
}

static int judge_mcp(struct content *ct, const struct http1_head *head, const struct buf *body,
	struct refusal *ret_why)
{
	_cleanup_(jsonrpc_done)
	struct jsonrpc r;
	_cleanup_(buf_done)
	struct buf tool = {0};
	const char *why = NULL;
	int error = jsonrpc_parse(body->data, body->len, &r, &why);

	if (error == -ENOMEM)
		return refuse(ct, NEJ_REASON_LIMIT, 0, "out of memory", ret_why);
	if (error < 0)
		return refuse(ct, NEJ_REASON_FRAMING, 0, why, ret_why);
	if (!has_true_headers(&r, head))
		return refuse(ct, NEJ_REASON_FRAMING, 0,
			"Mcp-Method or Mcp-Name says something else than the body", ret_why);
	ct->asks_list = r.asks_list;
	return jsonrpc_find_denied(&r, allows, ct, &tool) ? refuse_call(ct, &r, &tool, ret_why) : 0;
}

/* --- hosted tools */

static int judge_hosted(struct content *ct, const struct buf *body, struct refusal *ret_why)
{
	char what[MODELAPI_WHAT_BYTES];
	struct buf message;
	int result, r = modelapi_check(body->data, body->len, what);

	if (r == -ENOMEM)
		return refuse(ct, NEJ_REASON_LIMIT, 0, "out of memory", ret_why);
	if (r < 0)
		return refuse(ct, NEJ_REASON_FRAMING, 0,
			"the body is not one JSON value that all readers understand alike",
			ret_why);
	if (r == 0)
		return 0;
	buf_init(&message);
	buf_printf(&ct->detail, "hosted tools are denied: %s", what);
	buf_printf(&message,
		"nej refused this request: it holds %s, with which the provider would reach out "
		"where this sandbox's network cannot see it (hosted_tools: deny, line %u of the "
		"policy). Do not retry with it.",
		what, ct->line);
	modelapi_print_error(modelapi_of(ct->path.data, ct->path.len),
		message.data ? message.data : "nej refused this request", &ct->body);
	result = refuse_as(ct, 403, ret_why);
	buf_done(&message);
	return result;
}

/* --- the whole request */

/* Answers with lists must come as they are. What the client sends the field for is told once. */
static int ask_for_identity(struct http1_head *head)
{
	static const char name[] = "Accept-Encoding", value[] = "identity";
	const struct http1_text plain = {value, sizeof(value) - 1};
	bool is_said = false;

	for (size_t i = 0; i < head->n_fields; i++) {
		struct http1_field *f = &head->fields[i];

		if (!http1_text_is(f->name, "accept-encoding"))
			continue;
		f->is_hop = is_said;
		f->value = plain;
		is_said = true;
	}
	if (is_said)
		return 0;
	if (head->n_fields == HTTP1_MAX_FIELDS)
		return -E2BIG;
	head->fields[head->n_fields++] =
		(struct http1_field){.name = {name, sizeof(name) - 1}, .value = plain};
	return 0;
}

int content_request(struct content *ct, struct http1_head *head, const struct buf *body,
	struct refusal *ret_why)
{
	int r = 0;

	/* others may have wanted it */
	if (!ct->wants_body)
		body = NULL;
	if (body && ct->has_mcp)
		r = judge_mcp(ct, head, body, ret_why);
	if (r == 0 && body && ct->denies_hosted)
		r = judge_hosted(ct, body, ret_why);
	if (r == 0 && ct->has_mcp && ask_for_identity(head) < 0)
		r = refuse(ct, NEJ_REASON_FRAMING, 0, "the request has too many fields", ret_why);
	return r;
}

/* --- the response */

int content_response_body(
	struct content *ct, const struct http1_head *head, size_t *held_bytes, struct sieve **ret)
{
	const struct toollist_policy policy = {
		.allows = allows, .arg = ct, .held_bytes = held_bytes};
	bool is_json = ct->asks_list && has_type(head, "application/json");

	*ret = NULL;
	if (!ct->has_mcp || (!is_json && !has_type(head, "text/event-stream")))
		return 0;
	if (is_encoded(head))
		return -EPROTONOSUPPORT;
	*ret = is_json ? toollist_new_json(&policy) : toollist_new_events(&policy);
	return *ret ? 0 : -ENOMEM;
}
