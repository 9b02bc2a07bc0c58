/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej run`, from the options to the exit status. Read supervise.h for what is between. */
#ifndef NEJ_SANDBOX_LAUNCH_H
#define NEJ_SANDBOX_LAUNCH_H

#include "options.h"

/* Makes the sandbox, runs the command in it, takes it apart. Returns the exit status; a signal that
 * ended the command ends us as well. Messages go to stderr. */
int launch(const struct sandbox_options *options);

#endif
