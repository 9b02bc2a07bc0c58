/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `nej status --metrics-listen`: one page, GET /metrics, over HTTP/1.1, for Prometheus to scrape. Every
 * answer ends its connection. Knows nothing of sandboxes.
 */
#ifndef NEJ_CLI_EXPORTER_H
#define NEJ_CLI_EXPORTER_H

#include "../base/addr.h"
#include "../base/buf.h"

#define EXPORTER_DEFAULT_PORT 9469

/* Until SIGTERM or SIGINT. fill writes the page, a second old at most. 0 or negative errno: it cannot
 * listen there. */
int exporter_run(const struct endpoint *at, void (*fill)(void *arg, struct buf *page), void *arg);

#endif
