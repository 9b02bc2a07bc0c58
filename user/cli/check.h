/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej check POLICY`: every error and warning of a policy. */
#ifndef NEJ_CLI_CHECK_H
#define NEJ_CLI_CHECK_H

/* Exit status: 0 a good policy (warnings or not), 1 one with errors, 2 wrong usage or no file. */
int cli_check(int argc, char **argv);

#endif
