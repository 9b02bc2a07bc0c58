/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of commands: help, dispatch and completion come from these rows. Each command is one
 * file of cli/.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/check.h"
#include "cli/demo.h"
#include "cli/demo_client.h"
#include "cli/doctor.h"
#include "cli/env.h"
#include "cli/explain.h"
#include "cli/log.h"
#include "cli/run.h"
#include "cli/status.h"
#include "cli/suggest.h"
#include "cli/trust.h"
#include "cli/verify.h"
#include "cli/worker.h"

#define EXIT_USAGE 2

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: hidden */
} commands[] = {
	{"run", cli_run, "run a command in a sandbox"},
	{"check", cli_check, "check a policy: errors and warnings"},
	{"trust", cli_trust, "approve a policy that the sandbox's user could write"},
	{"explain", cli_explain, "say what a policy decides on a request, and by which rule"},
	{"log", cli_log, "print an audit log for people"},
	{"suggest", cli_suggest, "print the policy lines that would have allowed what was denied"},
	{"verify", cli_verify, "check the chain of an audit log"},
	{"status", cli_status, "list running sandboxes and their counters"},
	{"env", cli_env, "print the variables a sandbox sets"},
	{"doctor", cli_doctor, "say what this machine has of what nej uses"},
	{"demo", demo_main, "show a sandbox at work in a made-up internet"},
	{"worker", cli_worker, NULL},
	{"demo-client", demo_client_main, NULL},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fprintf(to,
		"usage: nej COMMAND [OPTION...] [ARGUMENT...]\n\n"
		"Runs programs so that they reach only what a policy names.\n\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].help)
			fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(to, "\n`nej COMMAND --help` says more; so do nej(8) and nej-policy(5).\n");
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static char name[64];
	const struct command *command;

	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
		strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("nej " NEJ_VERSION "\n");
		return 0;
	}
	command = find(argv[1]);
	if (!command) {
		fprintf(stderr, "nej: there is no command `%s`; `nej --help` lists them\n",
			argv[1]);
		return EXIT_USAGE;
	}
	snprintf(name, sizeof(name), "nej %s", command->name);
	argv[1] = name; /* for messages of usage */
	return command->run(argc - 1, argv + 1);
}
