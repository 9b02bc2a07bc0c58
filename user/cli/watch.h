/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej watch NAME`: what a running sandbox is refused, as it happens. */
#ifndef NEJ_CLI_WATCH_H
#define NEJ_CLI_WATCH_H

/* 0; 1: no such sandbox; 2 usage. */
int cli_watch(int argc, char **argv);

#endif
