/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the argument of `nej detach`; all else is sandbox/detach.c's. */
#include "detach.h"

#include <argp.h>

#include "../sandbox/detach.h"
#include "../sandbox/options.h"

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
