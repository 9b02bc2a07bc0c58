/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej gateway` and its worker. */
#ifndef NEJ_CLI_GATEWAY_H
#define NEJ_CLI_GATEWAY_H

int cli_gateway(int argc, char **argv);
int cli_gateway_worker(int argc, char **argv);

#endif
