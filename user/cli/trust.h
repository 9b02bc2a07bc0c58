/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej trust`: approves a policy's present content. */
#ifndef NEJ_CLI_TRUST_H
#define NEJ_CLI_TRUST_H

int cli_trust(int argc, char **argv);

#endif
