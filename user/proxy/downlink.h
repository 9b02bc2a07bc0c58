/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP/2 towards the sandbox: the client's connection carries streams, and each request on it is a
 * connection of its own, decided like any other. Internal to user/proxy. Read mux.h next.
 */
#ifndef NEJ_PROXY_DOWNLINK_H
#define NEJ_PROXY_DOWNLINK_H

#include "conn.h"

/* Takes over a connection whose handshake agreed on h2; its set-up stays, as that of every request.
 * Returns a value for conn_end. */
int downlink_start(struct conn *c);

#endif
