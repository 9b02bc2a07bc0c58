/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes a provider reach out. Theory: the whole body is walked, wherever the path leads and
 * whatever an object is called; only what is the client's own data (schemas, arguments and results
 * of its functions) is passed over. Of tools it is known which stay at home; all others are hosted,
 * those of tomorrow too. Keys are compared folded (json_fold), since servers differ in spelling.
 */
#include "modelapi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

#define FOLD_BYTES 64
#define MAX_MESSAGE_BYTES 2048

struct check {
	struct json json;
	char *what; /* MODELAPI_WHAT_BYTES; empty: nothing was found */
};

enum place {
	PLACE_ROOT,  /* the request itself */
	PLACE_PLAIN, /* anything in it */
	PLACE_TOOL,  /* an element of `tools` */
};

/* --- the lists, folded */

/* Types of tools that the client runs, or the provider in a container without network. A date or
 * other number behind one is its version. */
static const char *const home_types[] = {"function", "custom", "bash", "texteditor", "computer",
	"computerusepreview", "computeruse", "computertoolset", "browsertoolset", "memory",
	"codeexecution", "codeinterpreter", "toolsearch", "toolsearchtoolbm", "toolsearchtoolregex",
	"filesearch", "applypatch", "localshell", "shell", "imagegeneration", "namespace",
	"advisor", "programmatictoolcalling", NULL};

/* Fields of Gemini's Tool and Bedrock's, which have no type, that do the same. */
static const char *const home_fields[] = {"functiondeclarations", "codeexecution", "computeruse",
	"filesearch", "toolspec", "cachepoint", NULL};

/* Of a tool: what describes it to the model. */
static const char *const tool_texts[] = {"inputschema", "outputschema", "parameters",
	"parametersjsonschema", "responsejsonschema", "response", "function", "inputexamples",
	"functiondeclarations", "toolspec", "format", NULL};

/* Keys that switch something on wherever they stand. */
static const char *const hosted_keys[] = {"websearchoptions", "websearch", "webfetch", "mcpservers",
	"mcpserver", "googlesearch", "googlesearchretrieval", "urlcontext", "enterprisewebsearch",
	"parallelaisearch", "exaaisearch", "googlemaps", "searchparameters", "externalapi",
	"plugins", "connectors", NULL};

/* ... and these with a text */
static const char *const hosted_texts[] = {"serverurl", "connectorid", "tunnelid", NULL};

/* Of the request itself: what was set up elsewhere and may bring tools along. */
static const char *const stored_keys[] = {
	"agent", "agentid", "workflow", "workflowid", "inputfileid", NULL};

/* Keys whose value is fetched if it is an address. */
static const char *const url_keys[] = {"imageurl", "fileurl", "fileuri", "videourl", "audiourl",
	"documenturl", "uri", "gcsuri", "webhookurl", "callbackurl", NULL};

/* Calls of the client's functions and what came of them, and of these the client's own. */
static const char *const call_keys[] = {"functioncall", "functionresponse", "tooluse", NULL};
static const char *const call_texts[] = {"args", "response", "input", NULL};

/* Keys whose value is a JSON schema, wherever they stand. */
static const char *const schema_keys[] = {
	"schema", "responseschema", "responsejsonschema", "jsonschema", NULL};

static bool is_in(const char *const *list, const char *word)
{
	for (size_t i = 0; list[i]; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

/* --- what was found */

/* A token of the body, printable and short. */
static void found(struct check *c, const char *kind, uint32_t token)
{
	const struct json_token *t = &c->json.tokens[token];
	int n = snprintf(c->what, MODELAPI_WHAT_BYTES, "%s ", kind);
	size_t at = n > 0 ? (size_t)n : 0;

	for (uint32_t i = t->at; i < t->end && at + 1 < MODELAPI_WHAT_BYTES && i < t->at + 100;
		i++) {
		char b = c->json.text[i];

		c->what[at++] = b < ' ' || b > '~' ? '?' : b;
	}
	c->what[at] = 0;
}

static bool is_found(const struct check *c)
{
	return c->what[0] != 0;
}

static enum json_kind kind_of(const struct check *c, uint32_t token)
{
	return c->json.tokens[token].kind;
}

static bool is_empty_array(const struct check *c, uint32_t token)
{
	return kind_of(c, token) == JSON_ARRAY && json_first(&c->json, token) == JSON_NONE;
}

/* null, false, [] and texts switch nothing on; {} does. */
static bool switches_on(const struct check *c, uint32_t value)
{
	enum json_kind kind = kind_of(c, value);

	return kind != JSON_NULL && kind != JSON_FALSE && kind != JSON_STRING &&
		!is_empty_array(c, value);
}

/* --- single members */

static bool begins_with(const struct check *c, uint32_t string, const char *text)
{
	const struct json_token *t = &c->json.tokens[string];
	struct buf b;
	bool is_same;

	if (t->kind != JSON_STRING)
		return false;
	buf_init(&b);
	json_add_text(&c->json, string, &b);
	is_same = !b.is_failed && b.len >= strlen(text) && !memcmp(b.data, text, strlen(text));
	buf_done(&b);
	return is_same;
}

/* Inline data, or a file that was uploaded before. */
static bool is_inline(const struct check *c, uint32_t value)
{
	return json_is(&c->json, value, "") || begins_with(c, value, "data:") ||
		begins_with(c, value, "files/") ||
		begins_with(c, value, "https://generativelanguage.googleapis.com/");
}

static void check_url(struct check *c, uint32_t value)
{
	char folded[FOLD_BYTES];

	if (kind_of(c, value) == JSON_STRING && !is_inline(c, value))
		found(c, "the address", value);
	if (kind_of(c, value) != JSON_OBJECT)
		return;
	for (uint32_t k = json_first(&c->json, value); k != JSON_NONE;
		k = json_after(&c->json, value, k))
		if (json_fold(&c->json, k, sizeof(folded), folded) && !strcmp(folded, "url"))
			check_url(c, k + 1);
}

/* Is this the only `type` the object has? */
static bool is_type(const struct check *c, uint32_t object, const char *type)
{
	char folded[FOLD_BYTES];
	bool has_it = false;

	for (uint32_t k = json_first(&c->json, object); k != JSON_NONE;
		k = json_after(&c->json, object, k)) {
		if (!json_fold(&c->json, k, sizeof(folded), folded) || strcmp(folded, "type") != 0)
			continue;
		if (!json_fold(&c->json, k + 1, sizeof(folded), folded) ||
			strcmp(folded, type) != 0)
			return false;
		has_it = true;
	}
	return has_it;
}

/* Some `type` of the object is this one. */
static bool may_be_type(const struct check *c, uint32_t object, const char *type)
{
	char folded[FOLD_BYTES];

	for (uint32_t k = json_first(&c->json, object); k != JSON_NONE;
		k = json_after(&c->json, object, k))
		if (json_fold(&c->json, k, sizeof(folded), folded) && !strcmp(folded, "type") &&
			json_fold(&c->json, k + 1, sizeof(folded), folded) && !strcmp(folded, type))
			return true;
	return false;
}

/* Of OpenAI's containers and Anthropic's environments. */
static void check_network(struct check *c, uint32_t value)
{
	if (kind_of(c, value) == JSON_OBJECT && !is_type(c, value, "disabled") &&
		!is_type(c, value, "none"))
		found(c, "a container with network", value);
}

/* Models that search by themselves: gpt-4o-search-preview, o3-deep-research, some/model:online. */
static void check_model(struct check *c, uint32_t value)
{
	static const char *const parts[] = {"search", ":online"};
	struct buf b;

	if (kind_of(c, value) != JSON_STRING)
		return;
	buf_init(&b);
	json_add_text(&c->json, value, &b);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (b.is_failed || (b.len && strcasestr(b.data, parts[i])))
			found(c, "the model", value);
	buf_done(&b);
}

/* A prompt kept at OpenAI is an object with an id; a batch of Gemini's may come from a file. */
static bool has_member(const struct check *c, uint32_t object, const char *word)
{
	char folded[FOLD_BYTES];

	if (kind_of(c, object) != JSON_OBJECT)
		return false;
	for (uint32_t k = json_first(&c->json, object); k != JSON_NONE;
		k = json_after(&c->json, object, k))
		if (json_fold(&c->json, k, sizeof(folded), folded) && !strcmp(folded, word))
			return true;
	return false;
}

static void check_stored(struct check *c, const char *key, uint32_t k, enum place place)
{
	uint32_t value = k + 1;
	enum json_kind kind = kind_of(c, value);

	if (place == PLACE_ROOT && is_in(stored_keys, key) &&
		(kind == JSON_STRING || kind == JSON_OBJECT))
		found(c, "what is stored as", k);
	else if (!strcmp(key, "prompt") && has_member(c, value, "id"))
		found(c, "what is stored as", k);
	else if (!strcmp(key, "inputconfig") && has_member(c, value, "filename"))
		found(c, "what is stored as", k);
}

/* --- the client's own data */

/* Blocks in which calls of the client's functions and their results stand. */
static const struct {
	const char *type, *key;
} own_data[] = {
	{"tooluse", "input"},
	{"servertooluse", "input"},
	{"mcptooluse", "input"},
	{"functioncall", "arguments"},
	{"functionresult", "result"},
};

/* The member that is the client's own in this object, or NULL. Asked once an object: keys that fold
 * into one are many in a hostile one. */
static const char *own_key(const struct check *c, uint32_t object)
{
	for (size_t i = 0; i < sizeof(own_data) / sizeof(own_data[0]); i++)
		if (is_type(c, object, own_data[i].type))
			return own_data[i].key;
	return NULL;
}

/* --- the walk; as deep as the reader let the body be */

static void walk(struct check *c, uint32_t value, enum place place);

/* Gemini's functionCall {args} and functionResponse {response}, Bedrock's toolUse {input}: all but
 * these is looked at. */
static void walk_call(struct check *c, uint32_t value)
{
	char folded[FOLD_BYTES];

	if (kind_of(c, value) != JSON_OBJECT)
		return;
	for (uint32_t k = json_first(&c->json, value); k != JSON_NONE && !is_found(c);
		k = json_after(&c->json, value, k))
		if (!json_fold(&c->json, k, sizeof(folded), folded) || !is_in(call_texts, folded))
			walk(c, k + 1, PLACE_PLAIN);
}

static void check_type(struct check *c, uint32_t value)
{
	char folded[FOLD_BYTES];
	size_t n;

	if (kind_of(c, value) == JSON_NULL)
		return;
	if (!json_fold(&c->json, value, sizeof(folded), folded)) {
		found(c, "a tool of type", value);
		return;
	}
	n = strlen(folded);
	while (n && folded[n - 1] >= '0' && folded[n - 1] <= '9')
		folded[--n] = 0;
	if (!is_in(home_types, folded))
		found(c, "a tool of type", value);
}

static void walk_tools(struct check *c, uint32_t value)
{
	const struct json *j = &c->json;

	switch (kind_of(c, value)) {
	case JSON_NULL:
		return;
	case JSON_OBJECT:
		walk(c, value, PLACE_TOOL);
		return;
	case JSON_ARRAY:
		break;
	default:
		found(c, "tools as", value);
		return;
	}
	for (uint32_t t = json_first(j, value); t != JSON_NONE && !is_found(c);
		t = json_after(j, value, t))
		if (kind_of(c, t) == JSON_OBJECT)
			walk(c, t, PLACE_TOOL);
		else
			found(c, "a tool as", t);
}

static bool ends_in_tools(const char *key)
{
	size_t n = strlen(key);

	return n > 5 && !strcmp(key + n - 5, "tools");
}

/* Lists of tools under another name: their objects are tools, what else is there are names. */
static void walk_other_tools(struct check *c, uint32_t value)
{
	const struct json *j = &c->json;

	for (uint32_t t = json_first(j, value); t != JSON_NONE && !is_found(c);
		t = json_after(j, value, t))
		walk(c, t, PLACE_TOOL);
}

/* True when nothing more is to be looked at. */
static bool check_tool_member(struct check *c, const char *key, uint32_t k, bool is_typed)
{
	if (!strcmp(key, "type")) {
		check_type(c, k + 1);
		return true;
	}
	if (is_in(tool_texts, key))
		return true;
	if (!is_typed && !is_in(home_fields, key) && switches_on(c, k + 1))
		found(c, "the tool", k);
	return is_found(c);
}

/* own: what own_key said of the object. */
static void check_member(
	struct check *c, const char *own, const char *key, uint32_t k, enum place place)
{
	uint32_t value = k + 1;

	if ((is_in(hosted_keys, key) && switches_on(c, value)) ||
		(is_in(hosted_texts, key) && kind_of(c, value) == JSON_STRING))
		found(c, "the key", k);
	else if (!strcmp(key, "tools"))
		walk_tools(c, value);
	else if (ends_in_tools(key) && kind_of(c, value) == JSON_ARRAY)
		walk_other_tools(c, value);
	else if (is_in(call_keys, key))
		walk_call(c, value);
	else if (!is_in(schema_keys, key) && (!own || strcmp(key, own) != 0))
		walk(c, value, PLACE_PLAIN);
	if (is_found(c))
		return;
	if (is_in(url_keys, key))
		check_url(c, value);
	else if (!strcmp(key, "source") && kind_of(c, value) == JSON_OBJECT &&
		may_be_type(c, value, "url"))
		found(c, "a source by", value);
	else if (!strcmp(key, "networkpolicy") || !strcmp(key, "networking"))
		check_network(c, value);
	else if (!strcmp(key, "model"))
		check_model(c, value);
	else
		check_stored(c, key, k, place);
}

static void walk_object(struct check *c, uint32_t object, enum place place)
{
	const struct json *j = &c->json;
	/* a tool with a name or a type is not Gemini's, whose fields are tools themselves */
	bool is_typed = has_member(c, object, "name") || has_member(c, object, "type");
	const char *own = place == PLACE_ROOT ? NULL : own_key(c, object);
	char folded[FOLD_BYTES];

	for (uint32_t k = json_first(j, object); k != JSON_NONE && !is_found(c);
		k = json_after(j, object, k)) {
		bool is_known = json_fold(j, k, sizeof(folded), folded);

		if (!is_known)
			folded[0] = 0;
		if (place == PLACE_TOOL && check_tool_member(c, folded, k, is_typed))
			continue;
		check_member(c, own, folded, k, place);
	}
}

static void walk(struct check *c, uint32_t value, enum place place)
{
	const struct json *j = &c->json;

	if (kind_of(c, value) == JSON_OBJECT)
		walk_object(c, value, place);
	if (kind_of(c, value) != JSON_ARRAY)
		return;
	for (uint32_t e = json_first(j, value); e != JSON_NONE && !is_found(c);
		e = json_after(j, value, e))
		walk(c, e, PLACE_PLAIN);
}

static void check_done(struct check *c)
{
	json_done(&c->json);
}

int modelapi_check(const char *body, size_t len_bytes, char ret_what[static MODELAPI_WHAT_BYTES])
{
	_cleanup_(check_done)
	struct check c = {.what = ret_what};
	int r = json_parse(body, len_bytes, &c.json);

	ret_what[0] = 0;
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	walk(&c, 0, PLACE_ROOT);
	return is_found(&c);
}

/* --- paths */

static bool has_part(const char *path, size_t len, const char *part)
{
	return len && memmem(path, len, part, strlen(part));
}

static bool ends_with(const char *path, size_t len, const char *end)
{
	size_t n = strlen(end);

	while (len && path[len - 1] == '/')
		len--;
	return len >= n && !memcmp(path + len - n, end, n);
}

bool modelapi_is_upload(const char *path, size_t len_bytes, bool is_multipart)
{
	static const char *const ends[] = {"/files", "/parts", "/audio/transcriptions",
		"/audio/translations", "/images/edits", "/images/variations", "/videos", NULL};

	if (len_bytes > 8 && !memcmp(path, "/upload/", 8))
		return true;
	for (size_t i = 0; is_multipart && ends[i]; i++)
		if (ends_with(path, len_bytes, ends[i]))
			return true;
	return false;
}

enum modelapi modelapi_of(const char *path, size_t len_bytes)
{
	if ((has_part(path, len_bytes, "/messages") && !has_part(path, len_bytes, "/threads/")) ||
		has_part(path, len_bytes, "/publishers/anthropic/"))
		return MODELAPI_ANTHROPIC;
	if (has_part(path, len_bytes, "Content") || has_part(path, len_bytes, "/v1beta") ||
		has_part(path, len_bytes, "/interactions"))
		return has_part(path, len_bytes, "/openai/") ? MODELAPI_OPENAI : MODELAPI_GEMINI;
	return MODELAPI_OPENAI;
}

void modelapi_print_error(enum modelapi api, const char *message, struct buf *out)
{
	static const struct {
		const char *before, *after;
	} shapes[] = {
		[MODELAPI_ANTHROPIC] = {"{\"type\":\"error\",\"error\":{\"type\":"
					"\"permission_error\",\"message\":",
			"}}"},
		[MODELAPI_OPENAI] = {"{\"error\":{\"message\":",
			",\"type\":\"invalid_request_error\",\"param\":\"tools\","
			"\"code\":\"hosted_tools_denied\"}}"},
		[MODELAPI_GEMINI] = {"{\"error\":{\"code\":403,\"message\":",
			",\"status\":\"PERMISSION_DENIED\"}}"},
	};

	buf_add_str(out, shapes[api].before);
	buf_add_json(out, message, strlen(message), MAX_MESSAGE_BYTES);
	buf_add_str(out, shapes[api].after);
}
