/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * REQUEST of `nej explain`: `[METHOD ]URL`, `HOST:PORT`, `tcp://HOST:PORT`, `udp://ADDR:PORT`,
 * `dns:NAME`; and its decision as the proxy or the stub would make it.
 */
#ifndef NEJ_POLICY_REQUEST_H
#define NEJ_POLICY_REQUEST_H

#include <stdbool.h>

#include "decide.h"

/* Decides one request text. 0, or -EINVAL when the text is not a REQUEST at all (a malformed host
 * is a decision, not an error). */
int request_explain(const struct policy *p, const char *text, struct policy_decision *ret);

#endif
