/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej run`: a command in a sandbox. */
#ifndef NEJ_CLI_RUN_H
#define NEJ_CLI_RUN_H

/* argv[0] is the name for messages. The command's exit status, or that of a refusal. */
int cli_run(int argc, char **argv);

#endif
