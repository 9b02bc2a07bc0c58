/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej reload`, `nej halt` and `nej resume`: what is asked of a running sandbox. */
#ifndef NEJ_CLI_CHANGE_H
#define NEJ_CLI_CHANGE_H

/* 0 done; 1 a sandbox said no, or is not there; else as options.h. */
int cli_reload(int argc, char **argv);
int cli_halt(int argc, char **argv);
int cli_resume(int argc, char **argv);

#endif
