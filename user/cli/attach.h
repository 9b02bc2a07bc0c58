/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej attach`: processes that are there come into a sandbox. */
#ifndef NEJ_CLI_ATTACH_H
#define NEJ_CLI_ATTACH_H

/* argv[0] is the name for messages. The exit status. */
int cli_attach(int argc, char **argv);

#endif
