/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej verify [--key PUB] AUDIT`: does the chain hold, and is its end the one that was signed? */
#ifndef NEJ_CLI_VERIFY_H
#define NEJ_CLI_VERIFY_H

/* 0: it holds, 1: it is broken, 2: wrong usage, or nothing to check. */
int cli_verify(int argc, char **argv);

#endif
