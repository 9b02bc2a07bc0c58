/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `nej attach`: confines processes that are there, and those that join them, until it is told to let
 * them go. launch.h is the other way to begin a sandbox.
 */
#ifndef NEJ_SANDBOX_ATTACH_H
#define NEJ_SANDBOX_ATTACH_H

#include "options.h"

/* Until `nej detach`, a signal, or the cgroup's end; with is_background until it is enforced. The
 * exit status; messages go to stderr. */
int attach(const struct sandbox_options *options);

#endif
