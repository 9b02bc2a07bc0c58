/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nghttp2 calls while it reads and writes frames, and what it shares with mux.c: the kit of a
 * thread. Internal to the two. Read mux.h first.
 */
#ifndef NEJ_PROXY_MUX_FRAMES_H
#define NEJ_PROXY_MUX_FRAMES_H

#include <nghttp2/nghttp2.h>

#include "../wire/h2_list.h"
#include "mux.h"

#define MUX_OUT_BYTES 65536 /* gathered for one send */

struct mux_kit {
	struct proxy *proxy;
	struct loop_hook hook;
	struct loop_timer again;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct stream *told, **told_end;
	struct mux *dirty;
	struct h2_fields *spare; /* for the next head */
	char *frame;             /* where a session puts a frame together */
	bool is_making;          /* a session is being made */
	struct buf out;          /* what is about to be sent */
	struct h2_list list;     /* scratch: a head on its way out */
};

/* Fills callbacks and option. 0 or -ENOMEM. */
int mux_frames_init(struct mux_kit *kit);

/* Makes m->session. 0 or -ENOMEM. */
int mux_frames_open(struct mux_kit *kit, struct mux *m);

/* The peer has gone too far: GOAWAY with ENHANCE_YOUR_CALM and the end. Returns what a callback of
 * nghttp2 returns then. */
int mux_calm(struct mux *m, const char *detail);

/* The list of fields being read is not needed any more. */
void mux_return_fields(struct mux *m);

#endif
