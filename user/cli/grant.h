/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej grant` and `nej revoke`: what a running sandbox may reach for a while. */
#ifndef NEJ_CLI_GRANT_H
#define NEJ_CLI_GRANT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* What is asked of the sandbox, by whoever is logged in. NULL: the target is no UTF-8. */
json_t *grant_request(const char *target, uint64_t seconds);
/* One of status' `grants` as a line. */
void grant_print(const json_t *grant, FILE *to);

/* 0 done; 1 the sandbox said no, or is not there; 2 usage. */
int cli_grant(int argc, char **argv);
int cli_revoke(int argc, char **argv);

#endif
