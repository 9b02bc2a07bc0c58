/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej import`: a policy out of another tool's file. */
#ifndef NEJ_CLI_IMPORT_H
#define NEJ_CLI_IMPORT_H

int cli_import(int argc, char **argv);

#endif
