/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One side of a connection: reading, sending with what does not fit kept back, ending; the same for
 * plain sockets, for TLS and for streams of HTTP/2. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_HALF_H
#define NEJ_PROXY_HALF_H

#include <limits.h>

#include "conn.h"

/* Stands in io.fd for the socket a stream has not, so that "is it open?" is one question. No open
 * descriptor has this number. */
#define HALF_STREAM_FD INT_MAX

void half_init(struct half *h, int fd);
/* The half is a stream from now on, which is the half's. */
void half_init_stream(struct half *h, struct stream *s);

/* One read. Bytes, 0 at the end (is_eof is set), -EAGAIN, other negative errno. */
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
void half_drop_stash(struct proxy *p, struct half *from);

/* Sends what `from`, or TLS of `to`, holds back. 1 all gone, 0 not yet, negative errno. */
int half_flush(struct conn *c, struct half *from, struct half *to);

/* Does something wait that came from `from` and `to` could not take? Then no more is read. */
bool half_is_blocked(const struct half *from, const struct half *to);

/* The pipe goes back to its pool. */
void half_return_pipe(struct proxy *p, struct half *h);

/* Nothing more will be sent: FIN, under TLS after close_notify unless what was sent is cut short. */
void half_shut(struct half *h, bool is_cut);

/* Did the end come the way the protocol wants it (under TLS with close_notify)? */
bool half_is_cut(const struct half *h);

/* Closes the socket and forgets everything. is_reset: with RST. */
void half_end(struct proxy *p, struct half *h, bool is_reset);

#endif
