/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej demo`: one sandboxed program in a made-up internet, and what came of what it tried. */
#ifndef NEJ_CLI_DEMO_H
#define NEJ_CLI_DEMO_H

/* 0 when all came as it should, 1 when not, 3 when this machine cannot show it. */
int demo_main(int argc, char **argv);

#endif
