/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes credentials out of a response: its head's texts at once, its body by a sieve that holds
 * nothing back but what may be a credential's beginning. Compressed bodies come out plain.
 */
#ifndef NEJ_WIRE_SCRUB_H
#define NEJ_WIRE_SCRUB_H

#include "http1.h"
#include "swap.h"

/* Accept-Encoding of a request whose answer will be scrubbed: `gzip, deflate` as far as the client
 * would take them, else `identity`. A constant. */
const char *scrub_accept_encoding(const struct http1_head *request);

/* Replaces what rule finds in the phrase, names and values of the fields, which then point into
 * scratch. How many were replaced; -E2BIG, -ENOMEM, or an error of on_hit. */
int scrub_head(const struct swap_rule *rule, struct http1_head *head, struct buf *scratch);

/* What comes before the scrubbing of this response's body: NULL, or a sieve that decompresses it.
 * Content-Encoding is marked as not to be passed on then. -EPROTONOSUPPORT: a coding that nobody can
 * look into; -EBADMSG: part of a compressed body. Only for responses with a body. */
int scrub_decoder(struct http1_head *response, struct sieve **ret);

#endif
