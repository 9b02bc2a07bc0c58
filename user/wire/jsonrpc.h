/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON-RPC 2.0 as MCP sends it (Streamable HTTP, HTTP with SSE): which tools a request body calls,
 * and the error that answers a refused one. Pure. Lists of tools are toollist.h's.
 */
#ifndef NEJ_WIRE_JSONRPC_H
#define NEJ_WIRE_JSONRPC_H

#include "json.h"

#define JSONRPC_MAX_BATCH 256
#define JSONRPC_MAX_ID_BYTES 256
#define JSONRPC_MAX_NAME_BYTES 1024 /* of a tool */
/* Of the range for the implementation (JSON-RPC 2.0 section 5.1), none that an SDK gives a meaning
 * of its own, such as a timeout that is tried again. */
#define JSONRPC_REFUSED (-32050)

/* Is this tool allowed? arg is the caller's. */
typedef bool (*jsonrpc_allows)(const void *arg, const char *tool, size_t len_bytes);

struct jsonrpc {
	struct json json;
	bool is_batch;
	bool asks_list;   /* some method is tools/list */
	bool is_answered; /* some message has an id to answer to */
};

/* A whole body. 0; -EBADMSG with *ret_why (static) when it is no JSON-RPC, or one that two readers
 * could understand differently (json.h; keys in other spellings; a batch that is empty or too long;
 * a call without a tool's name); -ENOMEM. jsonrpc_done gives back either way. */
int jsonrpc_parse(const char *body, size_t len_bytes, struct jsonrpc *ret, const char **ret_why);
void jsonrpc_done(struct jsonrpc *r);

/* Finds a tools/call of a tool that is not allowed and appends its name, decoded, to ret_tool. */
bool jsonrpc_find_denied(
	const struct jsonrpc *r, jsonrpc_allows allows, const void *arg, struct buf *ret_tool);

/* The method or the tool of the only message, as the headers Mcp-Method and Mcp-Name repeat them:
 * false where the header says something else. */
bool jsonrpc_agrees(const struct jsonrpc *r, const char *member, const char *value, size_t len);

struct jsonrpc_error {
	const char *message; /* NUL-terminated UTF-8, like all here */
	const char *reason;
	unsigned int line; /* of the rule; 0: none */
	const char *rule;
};

/* Appends an error for each request of the body: an array for a batch, else an object; with the id
 * null where nothing has one. */
void jsonrpc_print_error(
	const struct jsonrpc *r, const struct jsonrpc_error *error, struct buf *out);

#endif
