/* SPDX-License-Identifier: GPL-2.0-only */
/* Base64 with padding, RFC 4648 section 4. Pure; the decoder takes nothing but the one spelling. */
#ifndef NEJ_WIRE_BASE64_H
#define NEJ_WIRE_BASE64_H

#include <stddef.h>

#include "../base/buf.h"

void base64_encode(const void *data, size_t len_bytes, struct buf *out);

/* out holds len_bytes / 4 * 3 bytes. 0 or -EINVAL: another alphabet, missing padding, bits set that
 * no encoder sets. out is scratch on failure. */
int base64_decode(const char *text, size_t len_bytes, void *out, size_t *ret_len);

#endif
