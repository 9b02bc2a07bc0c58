/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One connection through the proxy, and the thread's state that all of them share. Internal to
 * user/proxy. An established tunnel is this struct and nothing else: what deciding and dialling
 * needed is freed by then. Read conn.c for who moves a connection from state to state.
 */
#ifndef NEJ_PROXY_CONN_H
#define NEJ_PROXY_CONN_H

#include "../../include/abi.h"
#include "../wire/http1.h"
#include "pool.h"
#include "proxy.h"

#define PROXY_BUF_BYTES 65536

/* Bytes read from one half that the other could not take yet. */
struct stash {
	uint32_t len, off;
	char data[];
};

/* One side of a connection: a socket, or a stream of HTTP/2 (stream.h). stash and pipe hold what was
 * read here. */
struct half {
	struct loop_io io;
	struct stream *stream; /* instead of a socket */
	struct stash *stash;
	struct session *tls; /* NULL: in clear */
	uint32_t in_pipe;    /* bytes waiting in the pipe */
	int16_t pipe;        /* lent from the pool; -1: none */
	bool is_watched : 1;
	bool has_out : 1;     /* EPOLLOUT is in the watched events */
	bool is_readable : 1; /* an edge said so and no read has emptied the queue since */
	bool is_hup : 1;      /* the peer's FIN or an error is behind the queue: read to the end */
	bool is_eof : 1;      /* the FIN was read */
	bool is_shut : 1;     /* our FIN was sent */
	bool is_bulk : 1;     /* the last read filled the buffer: splice from now on */
	bool is_kept : 1;     /* keepalive is set */
};

/* The attempt being made or going on: one audit record, and its totals at the end. */
struct attempt {
	uint64_t start_ns;
	uint64_t ticket;
	uint64_t bytes_out, bytes_in;
	char *host; /* whom it reaches; NULL before */
	char *url;  /* of a WebSocket: METHOD, blank, path; NULL */
	uint32_t rule, generation;
	uint16_t port;
	uint8_t app, layer; /* enum audit_app, audit_layer */
	bool has_ticket;
	bool is_admitted; /* counted against the limits of `rule` */
	bool is_metered;  /* see quota.h */
	struct quota_slot *slot;
};

struct dial;
struct http;
struct refusal;
struct mux;
struct quota_slot;
struct mux_kit;
struct session;
struct setup;
struct stream;
struct uplink;

struct conn {
	struct proxy *proxy;
	struct conn *next, **prev; /* proxy->conns */
	struct half client, server;
	struct loop_timer timer; /* sniffing, HTTP inactivity, drain; tunnels have none */
	struct setup *setup;     /* until established */
	struct http *http;       /* requests in clear */
	struct dial *dial;       /* in flight */
	struct mux *mux;         /* HTTP/2: this connection carries streams */
	struct attempt attempt;
	struct nej_process process; /* who connected */
	struct addr dest;           /* as the client asked for it; unset for explicit requests */
	uint32_t drained;           /* bytes thrown away after a refusal */
	uint32_t via;            /* forward proxy the server's half goes through; CONN_STRAIGHT */
	uint32_t via_generation; /* of the policy `via` is an index of */
	uint16_t dest_port;
	bool has_dest;
	bool is_held; /* dest is a synthetic address, held in synth */
	bool is_explicit;
	bool is_uncounted; /* one more than may be, to be told so */
};

struct listener {
	struct loop_io io;
	struct loop_timer pause; /* out of descriptors and nothing helped: accept again later */
	struct proxy *proxy;
	struct listener *next;
	bool is_eager;
};

struct spare;

/* Connections to origins that wait for a request, see spare.h. */
struct spares {
	struct spare *oldest, *newest;
	size_t n;
	struct loop_timer timer;
};

struct proxy {
	struct proxy_options o;
	struct loop *loop;
	struct listener *listeners;
	struct conn *conns;
	size_t n_conns;
	size_t held_bytes; /* kept for slow readers and unfinished heads */
	int spare_fd;      /* given up for a moment when descriptors run out */
	struct pool pool;
	struct spares spares;
	struct mux_kit *mux_kit; /* once HTTP/2 was spoken */
	struct uplink *uplinks;  /* HTTP/2 towards origins */
	size_t n_uplinks;
	struct loop_timer keepalive;
	char *buf;              /* PROXY_BUF_BYTES, for one read at a time */
	char note[256];         /* scratch: a refusal's detail, until it is told */
	struct buf out;         /* scratch: what is about to be sent */
	struct http1_head head; /* scratch: the head being looked at */
};

enum setup_kind {
	SETUP_TRANSPARENT,
	SETUP_CONNECT,  /* after CONNECT or SOCKS5 named the destination */
	SETUP_EXPLICIT, /* a request to the proxy itself is still to come */
	SETUP_SOCKS,
};

/* What a connection needs until its destination is known and reached. */
struct setup {
	struct buf head;  /* client bytes kept over a wait */
	size_t held;      /* of head, as counted in proxy->held_bytes */
	const char *view; /* client bytes nobody has taken; in head or in proxy->buf */
	size_t view_len;
	int (*step)(struct conn *c);    /* looks at the view; negative: close */
	int (*reached)(struct conn *c); /* the server is connected */
	struct host host; /* destination as far as it is known; a name or an address */
	uint16_t port;
	enum setup_kind kind;
	uint8_t app;   /* enum audit_app; what the client speaks, NONE until known */
	bool is_fixed; /* host is what the client asked for by name: SNI and Host must agree */
	bool is_dialling;
	bool is_eager; /* accepted without bytes: a client that waits for its server says nothing */
	bool is_raw_ok;    /* anything over TCP may pass: the server may speak first */
	bool is_host_port; /* the host's own loopback */
	bool is_socks, is_greeted, is_password_due; /* SOCKS5 */
	bool is_answered; /* CONNECT or SOCKS5 got its yes: what is refused now is refused inside */
	bool wants_json;
	bool has_ech;        /* in the ClientHello; GREASE or real cannot be told apart */
	bool has_h2;         /* in its ALPN */
	uint32_t generation; /* of the policy that let it be dialled */
	bool is_shaking;     /* the client's bytes are TLS's now, see intercept.c */
	bool has_spoken;     /* the server sent bytes before the client's were understood */
	bool is_recorded;    /* the audit record was put when it did */
	uint32_t rule;
};

/* The result of looking for an agreement to close: negative numbers from here on close. */
#define CONN_CLOSE (-ECONNABORTED) /* orderly */
#define CONN_RESET (-ECONNRESET)   /* with RST to both */

#define CONN_STRAIGHT UINT32_MAX /* no forward proxy */

/* A connection with a client's socket and nothing else, in proxy->conns. NULL without memory. */
struct conn *conn_new(struct proxy *p, int fd);
/* Takes an accepted socket. The connection frees itself when it ends. */
void conn_accept(struct proxy *p, int fd, const struct endpoint *peer, bool is_eager);
/* One more than may be, by the result of quota_take_connection, -ENOMEM or -EMFILE. */
struct refusal conn_refusal(int error);
/* Refuses it: with a response if it asks the proxy itself, else with RST; and puts it on record. */
void conn_refuse(struct proxy *p, int fd, const struct endpoint *peer, int error);
void conn_close(struct conn *c, int how); /* CONN_CLOSE or any other error: reset */
void conn_end(struct conn *c, int r);     /* closes when r is negative, as conn_close */

/* Ends a refused connection so that what was sent to the client survives: nothing more is expected
 * from it (is_settled), or its bytes are thrown away for a while. Returns a value for conn_end. */
int conn_finish(struct conn *c, bool is_settled);

/* Closes the server's socket; bytes it sent that are still on their way to the client stay. */
void conn_drop_server(struct conn *c);

int conn_watch(
	struct conn *c, struct half *half, void (*on_ready)(struct loop_io *io, uint32_t events));
void conn_set_timer(struct conn *c, uint64_t ms, void (*on_timeout)(struct loop_timer *timer));

struct setup *setup_new(struct conn *c);
void setup_free(struct conn *c);
void setup_take(struct setup *s, size_t n); /* the first n bytes of the view are done with */
/* Reads what the client has sent and lets step look at it, until it wants no more. */
int setup_read(struct conn *c);
/* The same with a view that has not been looked at. */
int setup_resume(struct conn *c);
/* Waits for more client bytes or for the dialler: keeps the view, watches the client. */
int setup_wait(struct conn *c);

static inline struct conn *conn_of_client(struct loop_io *io)
{
	return (struct conn *)(void *)((char *)io - offsetof(struct conn, client.io));
}

static inline struct conn *conn_of_server(struct loop_io *io)
{
	return (struct conn *)(void *)((char *)io - offsetof(struct conn, server.io));
}

static inline bool half_has_pending(const struct half *h)
{
	return h->stash || h->in_pipe;
}

#endif
