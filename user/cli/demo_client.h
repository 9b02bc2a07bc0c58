/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that `nej demo` runs in the sandbox: it tries five things and says what it saw. */
#ifndef NEJ_CLI_DEMO_CLIENT_H
#define NEJ_CLI_DEMO_CLIENT_H

/* Prints one line an attempt, `ID<TAB>what it saw`. The hidden command `demo-client`. */
int demo_client_main(int argc, char **argv);

#endif
