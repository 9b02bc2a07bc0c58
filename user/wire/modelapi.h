/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to model APIs (Anthropic, OpenAI, Gemini, and whoever speaks their shapes): would this
 * one make the provider search, fetch or connect by itself? And the error such an API answers with.
 * Pure. What is looked for is one list for all of them, in modelapi.c, since hosts and paths do not
 * tell who understands what.
 */
#ifndef NEJ_WIRE_MODELAPI_H
#define NEJ_WIRE_MODELAPI_H

#include "json.h"

#define MODELAPI_WHAT_BYTES 160

enum modelapi {
	MODELAPI_ANTHROPIC,
	MODELAPI_OPENAI,
	MODELAPI_GEMINI,
};

/* A whole request body. 1: it would, and ret_what says by what, in printable ASCII; 0: it would not;
 * -EBADMSG: not JSON that all readers understand alike; -ENOMEM. */
int modelapi_check(const char *body, size_t len_bytes, char ret_what[static MODELAPI_WHAT_BYTES]);

/* Is the body under this path (in a reading of url.h) a file, which nobody takes for a request? */
bool modelapi_is_upload(const char *path, size_t len_bytes, bool is_multipart);

/* Whose errors a client expects that asked for this path. */
enum modelapi modelapi_of(const char *path, size_t len_bytes);

/* Appends the JSON body of a 403. message: NUL-terminated. */
void modelapi_print_error(enum modelapi api, const char *message, struct buf *out);

#endif
