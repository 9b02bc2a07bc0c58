/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One HTTP/2 stream as a half of a connection. Towards the rest of nej it speaks HTTP/1: heads as
 * text, bodies with a length or in chunks, trailers behind them; so a request is decided and changed
 * by the same code whatever carries it. Towards the peer it speaks frames. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_STREAM_H
#define NEJ_PROXY_STREAM_H

#include <sys/types.h>

#include "../wire/h2_list.h"
#include "mux.h"

#define STREAM_OUT_BYTES 65536 /* body bytes that wait for the peer's window */

/* What is to be done with the bytes nej sends. */
enum stream_out {
	STREAM_HEAD, /* heads are gathered */
	STREAM_BODY, /* of out_shape */
	STREAM_SENT, /* the message is complete */
};

/* Owned by the half that adopted it, and by the mux while frames of it are on their way. */
struct stream {
	struct proxy *proxy;
	struct mux *mux; /* NULL: the connection is gone */
	struct stream *next, **prev;
	struct stream *next_told;
	struct loop_io *io; /* the half's; NULL: nobody's */
	int32_t id;         /* 0: no frame was sent yet */
	int error;          /* negative: why it ended early */
	uint32_t events;    /* to be told */
	enum stream_out out_state;
	/* from the peer */
	struct buf text; /* HTTP/1 text not read yet: heads, or the end of a chunked body */
	struct buf in;   /* body bytes not read yet */
	size_t text_off, in_off;
	size_t owed;      /* body bytes that still count against the peer's window */
	uint64_t in_left; /* of a body with a length, to come */
	struct buf trailers;
	const char *fault; /* the request is malformed */
	struct h2_shape in_shape;
	/* to the peer */
	struct buf head; /* an unfinished one */
	struct buf out;
	size_t out_off;
	struct h2_shape out_shape;
	uint64_t out_left;
	struct h2_dechunk chunks;
	size_t drained;       /* body bytes thrown away */
	size_t held;          /* of the buffers, as counted in proxy->held_bytes */
	bool is_told : 1;     /* in the kit's list */
	bool is_new : 1;      /* a request nobody has taken */
	bool has_head : 1;    /* the peer's final head came */
	bool is_in_ended : 1; /* END_STREAM came */
	bool is_in_read : 1;  /* and was read */
	bool is_deferred : 1; /* nghttp2 waits for body bytes */
	bool is_blocked : 1;  /* a send did not fit: EPOLLOUT is owed */
	bool is_end_due : 1;  /* no more body bytes will come */
	bool is_end_sent : 1; /* END_STREAM went */
	bool is_closed : 1;   /* nghttp2 has let go of it */
	bool is_orphan : 1;   /* its half is gone: finish sending, then free */
};

/* Client's role: a stream of m; the request is sent by stream_send. 0 or -ENOMEM. */
int stream_open(struct mux *m, struct stream **ret);
/* io is told what epoll would say of a socket, at the end of a round, never from inside a call. */
void stream_adopt(struct stream *s, struct loop_io *io);

/* For who gives up its turn: io is told once more. */
void stream_tell_again(struct stream *s);

/* As recv(2): bytes, 0 at the message's end, -EAGAIN, -ECONNRESET; -ESTALE: the origin says it never
 * looked at the request, so that it may be sent elsewhere whatever it is. */
ssize_t stream_recv(struct stream *s, void *buf, size_t size_bytes);
/* As send(2): what was taken of data, -EAGAIN while the peer's window is shut, -EPIPE, -ENOMEM,
 * -EBADMSG (no HTTP/1 of ours). */
ssize_t stream_send(struct stream *s, const void *data, size_t len_bytes);
/* As shutdown(2) for writing: the end of a body that has no other, or of a websocket. */
void stream_shut(struct stream *s);
/* Gives the stream up. What was sent completely still arrives, unless is_reset. */
void stream_close(struct stream *s, bool is_reset);

/* --- from mux.c */

struct stream *stream_new(struct mux *m, int32_t id);
void stream_free(struct stream *s);
void stream_on_fields(struct stream *s, struct h2_fields *f, bool is_end);
void stream_on_data(struct stream *s, const void *data, size_t len_bytes);
void stream_on_end(struct stream *s);
/* nghttp2 has let go of it. error: as stream_recv tells it, or 0. */
void stream_on_closed(struct stream *s, int error);
void stream_on_end_sent(struct stream *s);
/* Body bytes were put into frames. */
void stream_on_sent(struct stream *s, size_t len_bytes);

#endif
