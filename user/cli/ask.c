/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks over the control socket; see ask.h. */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/log.h"
#include "../sandbox/control.h"

void ask_explain(const char *name, int error, const json_t *answer, char *ret, size_t max_bytes)
{
	const char *text = json_string_value(json_object_get(answer, "error"));

	if (error == -ENOENT || error == -ECONNREFUSED)
		snprintf(ret, max_bytes, "no sandbox named %s runs here", name);
	else if (error < 0)
		snprintf(ret, max_bytes, "cannot ask %s: %s%s", name, strerror(-error),
			error == -EACCES ? " (run it with sudo)" : "");
	else
		snprintf(ret, max_bytes, "%s: %s", name, text ? text : "it said no, and not why");
}

void ask_say_no(const char *name, int error, const json_t *answer)
{
	char text[4096];

	ask_explain(name, error, answer, text, sizeof(text));
	log_error("%s", text);
}

bool ask(const char *name, json_t *request, int timeout_ms, json_t **ret)
{
	json_t *answer = NULL;
	int r = control_ask(name, request, timeout_ms, &answer);

	json_decref(request);
	if (r == 0 && json_is_true(json_object_get(answer, "ok"))) {
		*ret = answer;
		return true;
	}
	ask_say_no(name, r, answer);
	json_decref(answer);
	return false;
}
