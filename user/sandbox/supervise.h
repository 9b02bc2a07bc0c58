/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps a started sandbox running until its command ends. Read launch.h for what is before. */
#ifndef NEJ_SANDBOX_SUPERVISE_H
#define NEJ_SANDBOX_SUPERVISE_H

#include "sandbox.h"

/* Blocks the signals that are passed on or wanted later; the mask before is kept for the command. */
void supervise_block_signals(struct sandbox *sb);

/* Runs until the command has ended and the worker's last events are written; sb->wait_status is
 * set. on_ready (NULL: nobody waits): from here on the control socket answers. 0 or negative errno. */
int supervise(struct sandbox *sb, void (*on_ready)(void *arg), void *arg);

#endif
