/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker process: what `nej worker` (hidden, started by the supervisor alone) does. */
#ifndef NEJ_SANDBOX_RUNTIME_H
#define NEJ_SANDBOX_RUNTIME_H

/* Takes what handoff.h lists, builds stub and proxy, locks itself in, serves until the supervisor is
 * gone. Exit status. */
int runtime_main(void);

#endif
