/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IP addresses as 16 bytes (IPv4 in v4-mapped form), endpoints, and what kind of range an address
 * lies in (include/ranges.h). Text forms here are the strict ones of inet_pton; the loose
 * notations of host names (0x7f.1) are wire/host.c's.
 */
#ifndef NEJ_BASE_ADDR_H
#define NEJ_BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../include/ranges.h"

#define ADDR_TEXT_BYTES 46     /* INET6_ADDRSTRLEN */
#define ENDPOINT_TEXT_BYTES 56 /* [addr]:port */

struct addr {
	uint8_t b[16];
};

struct endpoint {
	struct addr addr;
	uint16_t port;
};

struct prefix {
	struct addr addr;
	uint8_t bits; /* of the 16 byte form: an IPv4 /24 is 120 */
};

static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(a->b, mapped, sizeof(mapped));
}

struct addr addr_from_v4(uint32_t host_order);
uint32_t addr_to_v4(const struct addr *a);   /* host order, of the last four bytes */
bool addr_is_loopback(const struct addr *a); /* 127.0.0.0/8, ::1 */
bool addr_is_unset(const struct addr *a);    /* 0.0.0.0, :: */
bool addr_equal(const struct addr *a, const struct addr *b);

/* Strict dotted quad or RFC 4291 text without zone. 0 or -EINVAL. */
int addr_parse(const char *s, size_t len_bytes, struct addr *ret);
/* Canonical text (RFC 5952; v4-mapped as dotted quad). Returns out. */
const char *addr_print(const struct addr *a, char out[static ADDR_TEXT_BYTES]);

/* `ADDR`, `ADDR:PORT`, `[ADDR6]`, `[ADDR6]:PORT`, bare ADDR6. Without a port: default_port. */
int endpoint_parse(const char *s, uint16_t default_port, struct endpoint *ret);
const char *endpoint_print(const struct endpoint *e, char out[static ENDPOINT_TEXT_BYTES]);

/* `ADDR/BITS` or `ADDR`; host bits must be zero. 0, -EINVAL. */
int prefix_parse(const char *s, size_t len_bytes, struct prefix *ret);
bool prefix_has(const struct prefix *p, const struct addr *a);

/* The range of an address; EMBEDS is resolved: an address embedded in IPv6 is classified itself.
 * ret_plain (may be NULL) gets the address that was classified. */
enum nej_range addr_classify(const struct addr *a, struct addr *ret_plain);

/* sockaddr in and out: IPv4 as sockaddr_in. Returns the length. */
socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret);
int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret); /* 0, -EAFNOSUPPORT */

#endif
