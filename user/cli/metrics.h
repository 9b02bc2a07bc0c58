/* SPDX-License-Identifier: GPL-2.0-only */
/* The sandboxes of `nej status` as text that Prometheus reads (exposition format 0.0.4). */
#ifndef NEJ_CLI_METRICS_H
#define NEJ_CLI_METRICS_H

#include <jansson.h>

#include "../base/buf.h"

/* all: the array that status --json prints. out->is_failed when there was no memory. */
void metrics_print(const json_t *all, struct buf *out);

#endif
