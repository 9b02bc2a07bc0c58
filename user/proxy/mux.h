/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One HTTP/2 connection: an nghttp2 session over one half of a carrier, the server's role towards
 * the sandbox, the client's towards an origin. Its streams are halves of other connections. What it
 * owes the peer goes out once a round, in one piece. Internal to user/proxy. Read stream.h next.
 */
#ifndef NEJ_PROXY_MUX_H
#define NEJ_PROXY_MUX_H

#include "conn.h"

#define MUX_MAX_STREAMS 100         /* a client may have open; RFC 9113 section 6.5.2 */
#define MUX_STREAM_WINDOW 262144    /* body bytes a stream may send before they are read */
#define MUX_WINDOW 1048576          /* and all streams of a connection together */
#define MUX_TABLE_BYTES 4096        /* HPACK, either way */
#define MUX_NUISANCES 500           /* resets, pings, settings, empty frames at once … */
#define MUX_NUISANCES_A_SECOND 50   /* … and for long */
#define MUX_BLOCK_BYTES (4 * 65536) /* decoded fields of one head that are still read */

struct h2_fields;
struct h2_list;
struct mux;
struct mux_kit;
struct nghttp2_session;
struct stream;

struct mux_ops {
	/* Server's role: a request came. Its head can be read from the stream, which whoever takes
	 * it gives a half (stream_adopt) or closes. s->fault: why it is malformed; then its
	 * head is one that nobody accepts. */
	void (*on_request)(struct mux *m, struct stream *s);
	/* The peer broke the protocol or floods: what for the record. The connection may go on. */
	void (*on_misuse)(struct mux *m, const char *detail);
	/* The connection is over: close the carrier, free the mux. how: as for
	 * conn_close. Never called from inside a function below. */
	void (*on_end)(struct mux *m, int how);
	/* It is about to be freed, its carrier closed by whomever. NULL: nobody wants to know. */
	void (*on_free)(struct mux *m);
};

/* One HTTP/2 connection. Owned by who made it; the carrier is not the mux's. */
struct mux {
	struct mux_kit *kit;
	struct conn *carrier;
	struct half *half, *other; /* half carries; other holds back what it did not take */
	struct nghttp2_session *session;
	const struct mux_ops *ops;
	void *owner;              /* the ops' own */
	struct mux *next_dirty;   /* has something to send or to end */
	struct stream *streams;   /* all that nobody has freed */
	struct h2_fields *fields; /* of the head being read */
	uint64_t last_ms;         /* something came or went */
	uint64_t nuisance_ms;     /* when the allowance was filled last */
	uint32_t allowance;
	uint32_t block_bytes; /* read since the last frame began */
	uint32_t n_streams;   /* open ones */
	int end;              /* negative: how it ends, at the end of the round */
	bool is_server : 1;
	bool is_dirty : 1;
	bool is_going : 1;  /* GOAWAY came or went: no new streams */
	bool is_heard : 1;  /* a frame came */
	bool is_ending : 1; /* on_end was called or is about to be */
};

/* What the HTTP/2 connections of a thread share. One is made for the proxy at the first need. */
struct mux_kit *mux_kit_of(struct proxy *p);
void mux_kit_free(struct mux_kit *kit);

/* 0 or -ENOMEM. carrier->client carries when is_server, carrier->server otherwise; both halves are
 * in place. The settings are queued. */
int mux_new(struct conn *carrier, bool is_server, const struct mux_ops *ops, struct mux **ret);
/* Tells the streams (-ECONNRESET) and frees. */
void mux_free(struct mux *m);
/* Watches the carrier. first: bytes of the peer that were read already. 0 or a value for
 * conn_end; then on_end is not called. */
int mux_start(struct mux *m, const char *first, size_t len_bytes);

/* Bytes of the peer. 0; negative: the connection is over, as for conn_end. */
int mux_feed(struct mux *m, const char *data, size_t len_bytes);
/* Sends what can be sent. As mux_feed. */
int mux_flush(struct mux *m);
/* A look at the carrier when the loop's round ends. */
void mux_touch(struct mux *m);

/* GOAWAY: open streams run to their end, then the connection ends. */
void mux_shutdown(struct mux *m);

/* Client's role: may a stream be opened now? Not once GOAWAY came or while the origin has as many
 * as it wants. */
bool mux_has_room(const struct mux *m);

/* Takes one from the allowance for frames that cost us more than their sender. False: it is used
 * up. */
bool mux_allows_nuisance(struct mux *m);

/* --- between mux.c and stream.c */

/* Runs one round: tells streams what came, sends what is owed. Also for tests. */
void mux_kit_run(struct mux_kit *kit);
void mux_kit_tell(struct mux_kit *kit, struct stream *s);
void mux_kit_untell(struct mux_kit *kit, struct stream *s);
struct h2_list *mux_kit_list(struct mux_kit *kit);

#endif
