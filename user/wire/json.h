/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a JSON text (RFC 8259) strictly, so that no other reader can understand it differently:
 * one value, no repeated keys, valid UTF-8, no lone surrogates, no byte left over. Pure. The result
 * is a flat list of tokens with their places in the text. Read jsonrpc.h and modelapi.h next.
 */
#ifndef NEJ_WIRE_JSON_H
#define NEJ_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/buf.h"

#define JSON_MAX_BYTES (64u << 20)
#define JSON_MAX_DEPTH 128
#define JSON_MAX_TOKENS (1u << 21) /* of 16 bytes each */
#define JSON_NONE UINT32_MAX

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* In the order of the text: a container, then what is in it; of an object's member the key (a
 * string), then its value. */
struct json_token {
	uint32_t at, end; /* in the text, quotes and brackets included */
	uint32_t next;    /* the token behind this one and all it holds */
	uint8_t kind;     /* enum json_kind */
	bool has_escape;  /* a string with a backslash in it */
	uint8_t pad[2];
};

struct json {
	const char *text; /* the caller's, as long as this is used */
	size_t len;
	struct json_token *tokens; /* the first is the whole value */
	uint32_t n, cap;
};

/* 0; -EBADMSG not strictly JSON; -ELOOP too deep; -EFBIG too many values or bytes; -ENOMEM. What was
 * taken is given back by json_done either way. */
int json_parse(const char *text, size_t len_bytes, struct json *ret);
void json_done(struct json *j);

/* Tokens of an array or object one after another: its first (JSON_NONE if empty or another kind),
 * and the one after `of` within `container`. In an object these are keys; key + 1 is the value. */
uint32_t json_first(const struct json *j, uint32_t container);
uint32_t json_after(const struct json *j, uint32_t container, uint32_t of);

/* The value of a member whose decoded key is exactly `key`, or JSON_NONE. */
uint32_t json_member(const struct json *j, uint32_t object, const char *key);
/* A string's decoded text is exactly this. False for other kinds. */
bool json_is(const struct json *j, uint32_t token, const char *text);
/* A string as careless readers compare keys: in lower case (the two letters beyond ASCII that fold
 * into it included: encoding/json of Go takes them) and without `_` and `-`. False, with out
 * undefined, for other kinds, and for what has other bytes or does not fit with its NUL. */
bool json_fold(const struct json *j, uint32_t token, size_t max_bytes, char *out);

/* Appends a string's decoded text (UTF-8, may hold NUL). */
void json_add_text(const struct json *j, uint32_t token, struct buf *out);

#endif
