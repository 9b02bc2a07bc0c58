/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes down what a running sandbox is, for whoever asks later (state.h). */
#ifndef NEJ_SANDBOX_DESCRIBE_H
#define NEJ_SANDBOX_DESCRIBE_H

#include "sandbox.h"

/* At the start, and when its policy changes. 0 or negative errno. */
int describe(const struct sandbox *sb);

#endif
