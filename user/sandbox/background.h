/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that goes on alone once it works, whose caller waits until then. */
#ifndef NEJ_SANDBOX_BACKGROUND_H
#define NEJ_SANDBOX_BACKGROUND_H

/* Returns twice. In the caller's process the exit status to end with, when the other says it is ready
 * (0) or has ended (its own, or 125); in the other, a session of its own, -1 with *ret_caller. With
 * one thread only. */
int background_begin(int *ret_caller);
/* The caller may go on; standard streams are closed. No matter: -1. */
void background_ready(int caller);

#endif
