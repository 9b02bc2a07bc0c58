/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client's half of SOCKS5: greeting, user name and password (read over and not kept), request.
 * Source: RFC 1928, RFC 1929. Pure, no I/O.
 */
#ifndef NEJ_WIRE_SOCKS5_H
#define NEJ_WIRE_SOCKS5_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

enum socks5_method {
	SOCKS5_NO_AUTH = 0,
	SOCKS5_PASSWORD = 2,
	SOCKS5_NONE_FITS = 0xff,
};

enum socks5_reply {
	SOCKS5_OK = 0,
	SOCKS5_FAILURE = 1,
	SOCKS5_NOT_ALLOWED = 2,
	SOCKS5_UNREACHABLE = 4,
	SOCKS5_REFUSED = 5,
	SOCKS5_COMMAND_UNKNOWN = 7,
	SOCKS5_ADDRESS_UNKNOWN = 8,
};

#define SOCKS5_REPLY_BYTES 10

/* Each returns the bytes it read, 0 while more are needed, -EBADMSG when it is something else.
 * The request also -EINVAL (the name is malformed), -EOPNOTSUPP (not CONNECT), -EAFNOSUPPORT. */
int socks5_parse_greeting(const uint8_t *data, size_t len_bytes, enum socks5_method *ret);
int socks5_parse_password(const uint8_t *data, size_t len_bytes);
int socks5_parse_request(
	const uint8_t *data, size_t len_bytes, struct host *ret, uint16_t *ret_port);

void socks5_print_reply(enum socks5_reply reply, uint8_t out[static SOCKS5_REPLY_BYTES]);

#endif
