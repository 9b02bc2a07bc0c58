/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej detach`: the end of `nej attach`. */
#ifndef NEJ_CLI_DETACH_H
#define NEJ_CLI_DETACH_H

/* argv[0] is the name for messages. The exit status. */
int cli_detach(int argc, char **argv);

#endif
