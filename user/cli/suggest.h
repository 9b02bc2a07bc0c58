/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej suggest AUDIT`: policy lines that would have allowed what was denied, most wanted first. */
#ifndef NEJ_CLI_SUGGEST_H
#define NEJ_CLI_SUGGEST_H

#include <stdio.h>

/* 0, 1: the log cannot be read to its end, 2: wrong usage, or no such log. */
int cli_suggest(int argc, char **argv);

/* The same for the log at path: a YAML document with `version` and `rules`. 0 or negative errno. */
int suggest_print(const char *path, FILE *to);

#endif
