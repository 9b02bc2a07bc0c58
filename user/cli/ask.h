/* SPDX-License-Identifier: GPL-2.0-only */
/* One question to a running sandbox, with its answer or the reason why there is none. */
#ifndef NEJ_CLI_ASK_H
#define NEJ_CLI_ASK_H

#include <jansson.h>
#include <stdbool.h>

/* Why a sandbox did not do what was asked, as a sentence: error as of control_ask, or its answer. */
void ask_explain(const char *name, int error, const json_t *answer, char *ret, size_t max_bytes);
/* Says on standard error why a sandbox did not do what was asked: error as of control_ask, or its answer. */
void ask_say_no(const char *name, int error, const json_t *answer);

/* True with the answer, the caller's; false when it was no, which has been said. request is taken over. */
bool ask(const char *name, json_t *request, int timeout_ms, json_t **ret);

#endif
