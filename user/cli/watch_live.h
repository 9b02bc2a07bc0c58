/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej watch` on a terminal: an operator sees what is denied, and grants it with a key. */
#ifndef NEJ_CLI_WATCH_LIVE_H
#define NEJ_CLI_WATCH_LIVE_H

#include "../audit/lines.h"

/* Until it is left. lines: the sandbox's log, from where it is to be shown. 0 or negative errno. */
int watch_live(const char *name, struct lines *lines);

#endif
