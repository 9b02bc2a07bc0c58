/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One TLS connection over a non-blocking socket, as server towards the sandbox (with a leaf of the
 * sandbox's authority) or as client towards an origin (verified as strictly as a client would).
 * Reads and writes like recv(2) and send(2). Source: RFC 8446, RFC 5246, RFC 7301.
 */
#ifndef NEJ_TLS_SESSION_H
#define NEJ_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../wire/host.h"
#include "context.h"

struct session;
struct session_io; /* of one thread: what is about to be sent */
struct meter;

int session_io_new(struct context *cx, struct session_io **ret);
void session_io_free(struct session_io *io);
/* Handshakes are timed there. */
void session_io_measure(struct session_io *io, struct meter *meter);

enum session_alpn {
	SESSION_ALPN_NONE = 0,
	SESSION_ALPN_HTTP1 = 1,
	SESSION_ALPN_H2 = 2,
};

/* Towards the sandbox. host: whom we stand for. alpn: the protocols we would speak, of which the
 * client's list decides, h2 first. first: bytes read from the socket already, from its first byte
 * on; copied. 0 or -ENOMEM. */
int session_new_server(struct session_io *io, const struct host *host, uint16_t port,
	unsigned int alpn, const void *first, size_t first_len, struct session **ret);

/* Of a context with a certificate of its own (context_new_fixed). 0 or -ENOMEM. */
int session_new_fixed(struct session_io *io, unsigned int alpn, struct session **ret);

struct session_peer {
	const struct host *host; /* verified against the certificate; SNI when it is a name */
	uint16_t port;
	unsigned int alpn; /* offered */
	/* PEM, read by the caller: believed instead of the roots (a forward proxy's CA). NULL */
	const char *ca_pem;
	size_t ca_pem_len;
	/* The socket is under TLS already (a tunnel through an https forward proxy): what we say goes
	 * through that session, which is owned by the new one on success. NULL: the socket is plain. */
	struct session *below;
};

/* Towards an origin. 0; -ENOMEM; -EINVAL when ca_pem holds no certificate. */
int session_new_client(
	struct session_io *io, const struct session_peer *peer, struct session **ret);
void session_free(struct session *s);

/* One step. 1 the handshake is done; 0 the socket must be waited for; negative: failed, see
 * session_problem. fd: the socket, at each call. */
int session_handshake(struct session *s, int fd);
enum session_alpn session_alpn(const struct session *s); /* what was agreed; of a done handshake */

bool session_is_resumed(
	const struct session *s); /* no new key exchange with certificates was made */

/* As recv(2): bytes, 0 at the end, -EAGAIN, other negative errno. */
ssize_t session_recv(struct session *s, int fd, void *buf, size_t size_bytes);
/* After session_recv: has the socket been read empty, and nothing waits decrypted? */
bool session_is_drained(const struct session *s);
/* After the end: came it without the peer's close_notify (RFC 8446 section 6.1)? */
bool session_is_cut(const struct session *s);

/* Takes all of data, or -EAGAIN when earlier bytes wait for the socket; other negative errno.
 * want_more: do not send yet, more follows in this turn. */
ssize_t session_send(struct session *s, int fd, const void *data, size_t len_bytes, bool want_more);
/* Bytes wait for the socket: session_flush when it is writable. */
bool session_is_clogged(const struct session *s);
/* 1 all gone, 0 not yet, negative errno. */
int session_flush(struct session *s, int fd);
/* Sends close_notify, as far as it fits. */
void session_shutdown(struct session *s, int fd);
/* Why it failed, for people; never NULL. */
const char *session_problem(const struct session *s);
enum session_failure {
	SESSION_FAILURE_NONE,
	SESSION_FAILURE_REFUSED,     /* the client refused our certificate */
	SESSION_FAILURE_UNVERIFIED,  /* the origin's certificate does not hold */
	SESSION_FAILURE_CLIENT_CERT, /* the origin wants a certificate of the client */
	SESSION_FAILURE_ALPN,        /* the origin wants another protocol inside */
	SESSION_FAILURE_PROTOCOL,    /* versions, ciphers, ALPN, or not TLS */
	SESSION_FAILURE_GONE,        /* the peer went away */
};
enum session_failure session_failure(const struct session *s);

#endif
