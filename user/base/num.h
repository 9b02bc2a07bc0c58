/* SPDX-License-Identifier: GPL-2.0-only */
/* Strict number parsing: the whole text is the number, nothing else. */
#ifndef NEJ_BASE_NUM_H
#define NEJ_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only (no sign, space or prefix), at most max. 0, -EINVAL or -ERANGE. */
int num_parse_u64(const char *s, size_t len_bytes, uint64_t max, uint64_t *ret);
int num_parse_port(const char *s, size_t len_bytes, uint16_t *ret_port); /* 1..65535 */

#endif
