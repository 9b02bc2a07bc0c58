/* SPDX-License-Identifier: GPL-2.0-only */
/* Names in the writer's script to A-labels. Only for what people write (policy, lists, explain):
 * on the wire a byte over 0x7f is a malformed host. */
#ifndef NEJ_POLICY_IDN_H
#define NEJ_POLICY_IDN_H

#include <stddef.h>

#define IDN_MAX_BYTES 256

/* UTF-8 in, ASCII out (NUL-terminated), by UTS 46 without transitional mapping. 0, -EINVAL, and
 * -ENOMEM. */
int idn_to_ascii(const char *s, size_t len_bytes, char out[static IDN_MAX_BYTES]);

#endif
