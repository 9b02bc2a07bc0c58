/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks over the control socket; see ask.h. */
#include "ask.h"

#include <errno.h>
#include <string.h>

#include "../base/log.h"
#include "../sandbox/control.h"

void ask_say_no(const char *name, int error, const json_t *answer)
{
	const char *text = json_string_value(json_object_get(answer, "error"));

	if (error == -ENOENT || error == -ECONNREFUSED)
		log_error("no sandbox named %s runs here", name);
	else if (error < 0)
		log_error("cannot ask %s: %s%s", name, strerror(-error),
			error == -EACCES ? " (run it with sudo)" : "");
	else
		log_error("%s: %s", name, text ? text : "it said no, and not why");
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
