/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks a supervisor to let its processes go, or takes away what a dead one left. */
#include "detach.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "../base/log.h"
#include "../kernel/object.h"
#include "control.h"
#include "leftover.h"
#include "state.h"

#define ANSWER_MS 10000
#define EMPTY_ANSWER_MS 2000
#define END_MS 10000 /* until its last records are written */
#define ROUND_MS 10

static bool is_live(const char *name)
{
	static struct state s;

	return state_read(name, &s) == 0 && s.is_live;
}

/* It was killed on its way out, and something of it stays. */
static bool is_left(const char *name)
{
	static struct state s;

	return object_is_pinned(name) || (state_read(name, &s) == 0 && s.pid);
}

/* All is as it was only when the supervisor has ended, and has not just died. */
static int wait_for_end(const char *name)
{
	const struct timespec pause = {.tv_nsec = ROUND_MS * 1000000};

	for (int ms = 0; is_live(name); ms += ROUND_MS) {
		if (ms > END_MS) {
			log_error("%s was asked to end, and has not", name);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	return is_left(name) ? leftover_remove(name) : 0;
}

static int say_no(const char *name, int error, const json_t *answer)
{
	const char *text = json_string_value(json_object_get(answer, "error"));

	log_error("%s: %s%s", name,
		error < 0      ? strerror(-error)
			: text ? text
			       : "it said no, and not why",
		error == -EACCES ? " (run it with sudo)" : "");
	return 1;
}

static int ask(const char *name, bool is_if_empty, int answer_ms)
{
	json_t *request = json_pack("{s:s, s:b}", "command", "detach", "if_empty", is_if_empty);
	json_t *answer = NULL;
	int r = control_ask(name, request, answer_ms, &answer), status;

	json_decref(request);
	if (r == -ENOENT || r == -ECONNREFUSED)
		status = is_live(name) ? wait_for_end(name) : leftover_remove(name);
	else if (r == -ECONNRESET || r == -EPIPE || r == -EBADMSG)
		status = wait_for_end(name); /* it is ending on its own: its cgroup is gone */
	else if (r == 0 && json_is_true(json_object_get(answer, "ok")))
		status = wait_for_end(name);
	else
		status = say_no(name, r, answer);
	json_decref(answer);
	return status;
}

int detach(const char *name)
{
	return ask(name, false, ANSWER_MS);
}

int detach_empty(const char *name)
{
	return ask(name, true, EMPTY_ANSWER_MS);
}
