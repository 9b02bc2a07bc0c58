/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one parser of host names. What it returns is checked, dialled, rewritten and logged; nobody
 * parses the text a second time. Also recognises every loose notation of an IPv4 address and names
 * of the public wildcard-address services, which are addresses and never names.
 */
#ifndef NEJ_WIRE_HOST_H
#define NEJ_WIRE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"

#define HOST_MAX_BYTES 253

enum host_kind {
	HOST_NAME,
	HOST_ADDR,
};

struct host {
	uint8_t kind;     /* enum host_kind */
	uint8_t len;      /* of name */
	bool is_embedded; /* HOST_ADDR that a wildcard-address service's name spells */
	bool is_local;    /* HOST_NAME `localhost` or below: loopback */
	/* Lower case, no trailing dot, NUL. Of an address its canonical text (IPv6 without
	 * brackets), of an embedded one the name as it was asked. */
	char name[HOST_MAX_BYTES + 1];
	struct addr addr; /* HOST_ADDR */
};

/* Parses a host as it stands in a URL, Host header, SNI or CONNECT target, without port. IPv6 only
 * in brackets. Letters, digits, `-`, `_` and dots; labels of 1 to 63 bytes that neither begin nor
 * end with `-` (one trailing dot is dropped). 0 or -EINVAL (malformed-host). Writes only on
 * success. */
int host_parse(const char *s, size_t len_bytes, struct host *ret);

/* HOST[:PORT]; *ret_port is 0 when there is none. 0 or -EINVAL. */
int host_parse_port(const char *s, size_t len_bytes, struct host *ret, uint16_t *ret_port);

/* The host of an address (a connection to a literal). */
void host_from_addr(const struct addr *a, struct host *ret);

/* The same name, or the same address. An embedded address equals only its own name. */
bool host_equal(const struct host *a, const struct host *b);

#endif
