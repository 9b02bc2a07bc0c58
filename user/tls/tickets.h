/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS sessions of origins, kept to be resumed by host, port and protocol; a session is used once
 * (RFC 8446 appendix C.4). Any thread may ask. Internal to user/tls.
 */
#ifndef NEJ_TLS_TICKETS_H
#define NEJ_TLS_TICKETS_H

#include <openssl/ssl.h>
#include <stdint.h>

#define TICKET_KEY_BYTES 32

struct tickets;

int tickets_new(struct tickets **ret);
void tickets_free(struct tickets *t);

/* Keeps a session; its reference is taken over. The key's earlier one is let go. */
void tickets_put(
	struct tickets *t, const uint8_t key[static TICKET_KEY_BYTES], SSL_SESSION *session);
/* Takes it out again: the reference is the caller's. NULL: none. */
SSL_SESSION *tickets_take(struct tickets *t, const uint8_t key[static TICKET_KEY_BYTES]);

#endif
