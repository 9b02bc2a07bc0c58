/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks a supervisor to let its processes go, or takes away what a dead one left. */
#include "detach.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "../base/log.h"
#include "../sandbox/control.h"
#include "../sandbox/leftover.h"
#include "../sandbox/options.h"
#include "../sandbox/state.h"

#define ANSWER_MS 10000
#define END_MS 10000 /* until its last records are written */
#define ROUND_MS 10

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **name = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*name)
			argp_error(state, "one sandbox at a time");
		*name = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "the name of a sandbox is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_live(const char *name)
{
	static struct state s;

	return state_read(name, &s) == 0 && s.is_live;
}

/* All is as it was only when the supervisor has ended. */
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
	return 0;
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

static int detach(const char *name)
{
	json_t *request = json_pack("{s:s}", "command", "detach"), *answer = NULL;
	int r = control_ask(name, request, ANSWER_MS, &answer), status;

	json_decref(request);
	if (r == -ENOENT || r == -ECONNREFUSED)
		status = leftover_remove(name);
	else if (r == 0 && json_is_true(json_object_get(answer, "ok")))
		status = wait_for_end(name);
	else
		status = say_no(name, r, answer);
	json_decref(answer);
	return status;
}

int cli_detach(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse,
		.args_doc = "NAME",
		.doc = "Lets the processes of an attach go, as they were before; also where its "
		       "supervisor died and left them cut off."};
	const char *name = NULL;

	if (argp_parse(&argp, argc, argv, 0, NULL, &name) != 0)
		return SANDBOX_EXIT_USAGE;
	return detach(name);
}
