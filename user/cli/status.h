/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej status`: the sandboxes that run, and what is left of dead ones. */
#ifndef NEJ_CLI_STATUS_H
#define NEJ_CLI_STATUS_H

/* 0, or 1 when the named sandbox is not there. */
int cli_status(int argc, char **argv);

#endif
