/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moving bytes between the two halves of a connection, with backpressure, half-close and RST passed
 * on. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_PUMP_H
#define NEJ_PROXY_PUMP_H

#include "conn.h"

/* One read. Bytes, 0 at the FIN (is_eof is set), -EAGAIN, other negative errno. */
ssize_t half_recv(struct half *h, void *buf, size_t size_bytes);

/* Notes what epoll said of a half; -ECONNRESET when it broke after its FIN. */
int half_note(struct half *h, uint32_t events);

/* Makes epoll tell again what is still readable: for a half that gives up its turn. */
int half_rearm(struct conn *c, struct half *h);

/* Sends to `to` bytes that were read from `from`; what does not fit is stashed there. flags:
 * MSG_MORE when more follows at once. 0 or negative errno. */
int half_send(struct conn *c, struct half *from, struct half *to, const void *data,
	size_t len_bytes, int flags);

/* Forgets what `from` holds back. */
void half_drop_stash(struct conn *c, struct half *from);

/* Sends what `from` holds back. 1 all gone, 0 not yet, negative errno. */
int half_flush(struct conn *c, struct half *from, struct half *to);

/* Reads from `from` as much as `to` takes; passes the FIN on. 0 or negative errno. */
int pump_move(struct conn *c, struct half *from, struct half *to);

/* The connection is a tunnel from now on: setup and http are freed, `first` (client bytes read
 * already) goes up. Returns a value for conn_end. */
int pump_start(struct conn *c, const char *first, size_t len_bytes);

#endif
