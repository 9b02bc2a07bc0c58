/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej worker`: hidden; the supervisor alone starts it. */
#ifndef NEJ_CLI_WORKER_H
#define NEJ_CLI_WORKER_H

int cli_worker(int argc, char **argv);

#endif
