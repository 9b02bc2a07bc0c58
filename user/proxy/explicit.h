/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the proxy itself: CONNECT, absolute-form HTTP, SOCKS5, on one port. Internal to
 * user/proxy.
 */
#ifndef NEJ_PROXY_EXPLICIT_H
#define NEJ_PROXY_EXPLICIT_H

#include "../wire/host.h"
#include "conn.h"

/* setup->step of a fresh explicit connection. */
int explicit_step(struct conn *c);

/* The destination a CONNECT or SOCKS5 request named, which may be a synthetic address or the
 * sandbox's loopback: decides, dials; reached answers. Returns a value for conn_end. */
int explicit_go(
	struct conn *c, const struct host *host, uint16_t port, int (*reached)(struct conn *c));

/* Is the sandbox's own loopback meant, which stands for the host's there? */
bool explicit_is_loopback(const struct conn *c, const struct host *host);

/* After the answer went out: the bytes inside are sniffed like any others. */
int explicit_answered(struct conn *c);

/* A synthetic address stands for its name here too. Writes *host. */
void explicit_resolve_synthetic(struct conn *c, struct host *host);

#endif
