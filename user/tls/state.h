/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a session consists of, for setup.c that makes it and session.c that runs it. Internal to
 * user/tls.
 */
#ifndef NEJ_TLS_STATE_H
#define NEJ_TLS_STATE_H

#include <openssl/ssl.h>

#include "../base/buf.h"
#include "../base/meter.h"
#include "session.h"
#include "tickets.h"

struct session_io {
	struct context *cx;
	struct buf tx;       /* records that OpenSSL wrote in this call */
	struct meter *meter; /* NULL */
};

struct session {
	SSL *ssl;
	struct session_io *io;
	struct session *below; /* instead of the plain socket; owned */
	uint64_t since_ns;     /* that it was made; 0: its handshake is over */
	int fd;                /* during a call */
	int error;             /* negative errno of the socket */
	struct buf first; /* the client's first bytes, read by somebody else; until the handshake */
	size_t first_off;
	struct buf out; /* records the socket did not take */
	size_t out_off;
	const char *problem; /* static */
	uint8_t failure;     /* enum session_failure */
	uint8_t alpn;        /* offered or spoken, bits of enum session_alpn */
	bool is_server : 1;
	bool may_read : 1;   /* in this call */
	bool is_drained : 1; /* the socket's queue is empty */
	bool is_eof : 1;     /* the FIN was read */
	bool is_cut : 1;
	bool has_ticket : 1;
	bool was_asked : 1;                   /* for a client certificate */
	uint8_t ticket_key[TICKET_KEY_BYTES]; /* of a client */
};

#endif
