/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP keepalive towards servers, so that a tunnel that is idle for hours notices a dead peer. Set
 * late: most connections are gone within seconds and are spared two system calls and a timer.
 */
#ifndef NEJ_PROXY_KEEPALIVE_H
#define NEJ_PROXY_KEEPALIVE_H

struct proxy;

/* A server was reached: those still there in a while get their keepalive. Without memory for the
 * timer they go without. */
void keepalive_want(struct proxy *p);
void keepalive_stop(struct proxy *p);

#endif
