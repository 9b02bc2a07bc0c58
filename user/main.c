/* SPDX-License-Identifier: GPL-2.0-only */
/* Help, version and dispatch; the table of commands is cli/commands.c's. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

#define EXIT_USAGE 2

static void print_help(FILE *to)
{
	fprintf(to,
		"usage: nej COMMAND [OPTION...] [ARGUMENT...]\n\n"
		"Runs programs so that they reach only what a policy names.\n\n");
	for (const struct command *c = commands; c->name; c++)
		if (c->help)
			fprintf(to, "  %-10s %s\n", c->name, c->help);
	fprintf(to, "\n`nej COMMAND --help` says more; so do nej(8) and nej-policy(5).\n");
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
	command = command_find(argv[1]);
	if (!command) {
		fprintf(stderr, "nej: there is no command `%s`; `nej --help` lists them\n",
			argv[1]);
		return EXIT_USAGE;
	}
	snprintf(name, sizeof(name), "nej %s", command->name);
	argv[1] = name; /* for messages of usage */
	return command->run(argc - 1, argv + 1);
}
