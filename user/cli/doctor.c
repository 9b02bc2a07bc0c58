/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the table of kernel/probe.c, for people or as JSON. */
#include "doctor.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernel/probe.h"
#include "../sandbox/options.h"
#include "../sandbox/resources.h"

#define MAX_RESULTS 64

enum option_key {
	KEY_JSON = 256,
};

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "Print one JSON array", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *is_json = state->input;

	(void)arg;
	if (key == ARGP_KEY_ARG)
		argp_error(state, "no argument is taken");
	if (key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	*is_json = true;
	return 0;
}

static const char *level_word(enum probe_level level)
{
	return level == PROBE_REQUIRED    ? "required"
		: level == PROBE_OPTIONAL ? "optional"
					  : "not needed";
}

static void print_json(const struct probe_result *results, size_t n)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct probe_result *p = &results[i];

		json_array_append_new(all,
			json_pack("{s:s, s:b, s:s, s:s, s:s, s:s}", "name", p->name, "present",
				(int)p->is_present, "level", level_word(p->level), "what", p->what,
				"without", p->without ? p->without : "", "detail", p->detail));
	}
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
}

static void print_one(const struct probe_result *p)
{
	printf("%-3s %-18s %-10s %s%s%s%s\n", p->is_present ? "yes" : "NO", p->name,
		level_word(p->level), p->what, p->detail[0] ? " (" : "", p->detail,
		p->detail[0] ? ")" : "");
	if (!p->is_present && p->without && p->without[0])
		printf("    %-18s %-10s without it: %s\n", "", "", p->without);
}

/* What only some options of `nej run` need. */
static struct probe_result probe_controllers(void)
{
	struct probe_result row = {.name = "controllers",
		.what = "--memory, --pids and --cpus: the controllers of cgroup2",
		.without = "these options refuse to start",
		.level = PROBE_OPTIONAL};

	resources_available(row.detail, sizeof(row.detail));
	row.is_present = strcmp(row.detail, "memory pids cpu") == 0;
	return row;
}

int cli_doctor(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.doc = "Says for each capability of the kernel and the machine whether it is "
		       "there, what "
		       "nej uses it for and what it does without."};
	struct probe_result results[MAX_RESULTS];
	size_t n, n_missing = 0;
	bool is_json = false;

	if (argp_parse(&argp, argc, argv, 0, NULL, &is_json) != 0)
		return SANDBOX_EXIT_USAGE;
	n = probe_all(results, MAX_RESULTS - 1);
	results[n++] = probe_controllers();
	for (size_t i = 0; i < n; i++)
		n_missing += !results[i].is_present && results[i].level == PROBE_REQUIRED;
	if (is_json)
		print_json(results, n);
	for (size_t i = 0; i < n && !is_json; i++)
		print_one(&results[i]);
	return n_missing ? SANDBOX_EXIT_MISSING : 0;
}
