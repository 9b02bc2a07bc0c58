/* SPDX-License-Identifier: GPL-2.0-only */
/* What both directions of a stream need. Internal to stream.c and stream_out.c. */
#ifndef NEJ_PROXY_STREAM_OUT_H
#define NEJ_PROXY_STREAM_OUT_H

#include "stream.h"

/* What waits here is counted with all else that waits. -ENOBUFS when that is too much. */
int stream_hold(struct stream *s);
/* Its half will be told, at the end of the round. */
void stream_tell(struct stream *s, uint32_t events);
/* RST_STREAM, unless it is over. code: RFC 9113 section 7. */
void stream_reset(struct stream *s, uint32_t code);
/* An emptied buffer gives its memory back when it is a lot. */
void stream_shrink(struct buf *b);

/* All of the peer's message came, if not yet the frame that says so. */
bool stream_has_come(const struct stream *s);

#endif
