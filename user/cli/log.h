/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej log [-f] [--denied] [--json] AUDIT`: an audit log for people. */
#ifndef NEJ_CLI_LOG_H
#define NEJ_CLI_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "../audit/read.h"

/* 0, or 2: wrong usage, or no such log. */
int cli_log(int argc, char **argv);

/* One record as one line. Whatever the sandbox put into a text, only printable ASCII comes out. */
void log_print_record(const struct audit_record *r, bool is_tty, FILE *to);

/* A text of an outsider on a terminal: what is not printable ASCII as \x.. or \u.... */
void log_print_text(const char *text, FILE *to);

#endif
