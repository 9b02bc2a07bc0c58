/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of commands: help and dispatch come from its rows. */
#ifndef NEJ_CLI_COMMANDS_H
#define NEJ_CLI_COMMANDS_H

struct command {
	const char *name; /* NULL behind the last */
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: hidden */
};

extern const struct command commands[];

/* NULL when there is none of this name. */
const struct command *command_find(const char *name);

#endif
