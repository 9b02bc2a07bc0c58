/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks sandboxes over their control sockets; what is done is sandbox/live.c's. */
#include "change.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../kernel/object.h"
#include "../sandbox/control.h"
#include "../sandbox/options.h"
#include "../sandbox/state.h"
#include "ask.h"

#define ANSWER_MS 60000 /* reading a large policy takes its time */
#define HALT_ANSWER_MS 3000

enum option_key {
	KEY_ALL = 256,
};

static const struct argp_option reload_options[] = {
	{"policy", 'p', "FILE", 0, "From now on this one (default: the same file, read again)", 0},
	{0},
};
static const struct argp_option all_options[] = {
	{"all", KEY_ALL, NULL, 0, "Every sandbox on this machine", 0},
	{0},
};

struct change {
	const char *name, *policy, *command, *done;
	bool is_all;
	bool is_halt; /* it is in force before anybody is asked */
	size_t n;
	int status;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct change *c = state->input;

	switch (key) {
	case 'p':
		c->policy = arg;
		return 0;
	case KEY_ALL:
		c->is_all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (c->name)
			argp_error(state, "one sandbox at a time");
		c->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->name == !c->is_all)
			argp_error(state, "the name of a sandbox is missing%s",
				c->is_all ? ", or --all is too much" : "");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static json_t *request_of(const struct change *c)
{
	json_t *request = json_pack("{s:s}", "command", c->command);
	char path[PATH_MAX];

	/* the supervisor has another working directory */
	if (c->policy)
		json_object_set_new(request, "policy",
			json_string(realpath(c->policy, path) ? path : c->policy));
	return request;
}

static void print_done(const struct change *c, const char *name, const json_t *answer)
{
	const json_t *generation = json_object_get(answer, "generation");
	const json_t *ended = json_object_get(answer, "ended");

	printf("%s: %s", name, c->done);
	if (generation)
		printf(" (generation %lld)", (long long)json_integer_value(generation));
	if (ended)
		printf(", %lld connection%s ended", (long long)json_integer_value(ended),
			json_integer_value(ended) == 1 ? "" : "s");
	putchar('\n');
}

/* One write into the pinned settings: nothing of it passes any more, if a supervisor answers or not. */
static bool halt_kernel(const struct change *c, const char *name)
{
	int r = c->is_halt ? object_halt_pinned(name) : -ENOENT;

	if (r < 0 && r != -ENOENT && r != -EINVAL)
		log_warning("%s: cannot halt it in the kernel: %s", name, strerror(-r));
	return r == 0;
}

static void change(struct change *c, const char *name)
{
	bool is_halted = halt_kernel(c, name);
	json_t *request = request_of(c), *answer = NULL;
	int r = control_ask(name, request, c->is_halt ? HALT_ANSWER_MS : ANSWER_MS, &answer);

	json_decref(request);
	if (is_halted && r < 0)
		printf("%s: halted in the kernel alone: its supervisor does not answer (%s)\n",
			name, strerror(-r));
	else if (r == 0 && json_is_true(json_object_get(answer, "ok")))
		print_done(c, name, answer);
	else {
		c->status = 1;
		ask_say_no(name, r, answer);
	}
	json_decref(answer);
}

/* Also of those whose supervisor has died: rules of addresses still let them out. */
static void on_name_first(void *arg, const char *name)
{
	struct change *c = arg;

	halt_kernel(c, name);
}

static void on_name(void *arg, const char *name)
{
	struct change *c = arg;
	static struct state s;

	if (state_read(name, &s) < 0 || !s.is_live)
		return;
	c->n++;
	change(c, name);
}

static int run(struct change *c, const struct argp *argp, int argc, char **argv)
{
	int r;

	if (argp_parse(argp, argc, argv, 0, NULL, c) != 0)
		return SANDBOX_EXIT_USAGE;
	if (c->name) {
		change(c, c->name);
		return c->status;
	}
	r = state_each(on_name_first, c);
	if (r >= 0)
		r = state_each(on_name, c);
	if (r < 0) {
		log_error("cannot read " STATE_ROOT ": %s%s", strerror(-r),
			r == -EACCES ? " (run it with sudo)" : "");
		return SANDBOX_EXIT_USAGE;
	}
	if (!c->n)
		printf("no sandbox runs here\n");
	return c->status;
}

int cli_reload(int argc, char **argv)
{
	static const struct argp argp = {.options = reload_options,
		.parser = parse,
		.args_doc = "NAME",
		.doc = "Puts another policy in force, whole or not at all, and ends what it "
		       "forbids. Secrets are read anew."};
	struct change c = {.command = "reload", .done = "the policy is in force"};

	return run(&c, &argp, argc, argv);
}

int cli_halt(int argc, char **argv)
{
	static const struct argp argp = {.options = all_options,
		.parser = parse,
		.args_doc = "NAME | --all",
		.doc = "Refuses all traffic of a sandbox and ends its connections, until "
		       "`nej resume`. Its processes go on."};
	struct change c = {.command = "halt", .done = "halted", .is_halt = true};

	return run(&c, &argp, argc, argv);
}

int cli_resume(int argc, char **argv)
{
	static const struct argp argp = {.options = all_options,
		.parser = parse,
		.args_doc = "NAME | --all",
		.doc = "Lets a halted sandbox's policy decide again."};
	struct change c = {.command = "resume", .done = "its policy decides again"};

	return run(&c, &argp, argc, argv);
}
