/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sieve for an aws-chunked upload: each chunk's signature is verified with the placeholder's
 * key and made anew with the true one. Length and framing stay as they are. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_RECHUNK_H
#define NEJ_PROXY_RECHUNK_H

#include "../wire/sieve.h"
#include "resign.h"

/* r: the request, signed; what is needed of it is copied. held_bytes: counts what the sieve keeps
 * back (a chunk); beyond NEJ_MAX_HELD_BYTES the body is cut with -ENOBUFS. A chunk that the
 * placeholder's holder did not sign cuts it with -EBADMSG. 0 or -ENOMEM. */
int rechunk_new(const struct resign *r, size_t *held_bytes, struct sieve **ret);

#endif
