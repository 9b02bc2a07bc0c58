/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej env`: the variables a sandbox sets, as shell exports. */
#ifndef NEJ_CLI_ENV_H
#define NEJ_CLI_ENV_H

int cli_env(int argc, char **argv);

#endif
