/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the content coding off a body: gzip (RFC 1952, several members too) and deflate (RFC 1950,
 * or RFC 1951 alone, as some servers mean it). The only user of zlib.
 */
#ifndef NEJ_WIRE_INFLATE_H
#define NEJ_WIRE_INFLATE_H

#include "sieve.h"

enum inflate_coding {
	INFLATE_GZIP,
	INFLATE_DEFLATE,
};

/* One byte becomes at most 1,032: feed small pieces. A body that is damaged or cut ends with
 * -EBADMSG. 0 or -ENOMEM. */
int inflate_sieve_new(enum inflate_coding coding, struct sieve **ret);

#endif
