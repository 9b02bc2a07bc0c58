/* SPDX-License-Identifier: GPL-2.0-only */
/* Percent-encoding (RFC 3986 section 2.1) of single bytes. url.h reads whole paths. */
#ifndef NEJ_WIRE_PERCENT_H
#define NEJ_WIRE_PERCENT_H

#include "../base/buf.h"
#include "http1.h"

/* Appends c, as an escape in upper case unless it is unreserved. */
void percent_encode(char c, struct buf *out);

/* Takes the byte at the front of t, which is not empty; an escape is one byte, a broken one a plain
 * `%` (*ret_is_broken). */
char percent_take(struct http1_text *t, bool *ret_is_broken);

#endif
