/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS is terminated where the policy looks inside: the client's handshake is answered with a leaf
 * for the name it asked for, and what follows is HTTP, decided request by request. Internal to
 * user/proxy.
 */
#ifndef NEJ_PROXY_INTERCEPT_H
#define NEJ_PROXY_INTERCEPT_H

#include "conn.h"

/* Takes over a connection that is being set up, its view at a whole ClientHello for setup->host.
 * Returns a value for conn_end. */
int intercept_start(struct conn *c);

#endif
