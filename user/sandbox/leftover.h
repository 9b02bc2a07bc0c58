/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of an attach whose supervisor died: its links still refuse everything. */
#ifndef NEJ_SANDBOX_LEFTOVER_H
#define NEJ_SANDBOX_LEFTOVER_H

/* Takes away what is left under the name: its processes are not confined any more. What the worker had
 * to say is written to the log first, and that it ended. 0 or an exit status; the message is out. */
int leftover_remove(const char *name);

#endif
