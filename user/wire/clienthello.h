/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the server name out of a TLS ClientHello, over any split into records and segments.
 * Nothing is decrypted and nothing changed. Source: RFC 8446 section 4.1.2, RFC 6066 section 3.
 */
#ifndef NEJ_WIRE_CLIENTHELLO_H
#define NEJ_WIRE_CLIENTHELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

struct clienthello {
	bool has_sni; /* else host is not set */
	bool has_ech; /* encrypted_client_hello, GREASE or real */
	struct host host;
	bool has_alpn_h2;
};

/* 0 complete; -EAGAIN more bytes are needed; -EPROTO not TLS or malformed; -EINVAL the SNI is not a
 * host name (an address in SNI is a HOST_ADDR, not an error); -EMSGSIZE larger than
 * NEJ_MAX_HEAD_BYTES. Looks at all len bytes from the first byte of the connection each time. */
int clienthello_parse(const uint8_t *data, size_t len_bytes, struct clienthello *ret);

#endif
