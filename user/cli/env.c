/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what sandbox/environment.c sets for the programs of a running sandbox. */
#include "env.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/log.h"
#include "../sandbox/environment.h"
#include "../sandbox/options.h"
#include "../sandbox/state.h"

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
		argp_error(state, "the name of a sandbox is missing (`nej status` lists them)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print(void *arg, const char *name, const char *value)
{
	(void)arg;
	printf("export %s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			printf("'\\''");
		else
			putchar(*value);
	}
	printf("'\n");
}

int cli_env(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse,
		.args_doc = "NAME",
		.doc = "Prints the variables that the sandbox sets for its programs, for a shell."};
	struct environment_facts facts = {0};
	static struct state state;
	const char *name = NULL;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &name) != 0)
		return SANDBOX_EXIT_USAGE;
	r = state_read(name, &state);
	if (r < 0 || !state.is_live) {
		log_error("no sandbox named %s is running%s%s", name,
			r < 0 && r != -ENOENT ? ": " : "",
			r < 0 && r != -ENOENT ? strerror(-r) : "");
		return 1;
	}
	facts.sandbox = name;
	facts.user = state.user;
	facts.home = state.home;
	facts.proxy_port = state.proxy_port;
	facts.has_anchors = facts.wants_java = state.inspects;
	environment_each(NULL, &facts, print, NULL);
	return 0;
}
