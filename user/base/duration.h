/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations as people write them: `30s`, `10m`, `1h30m`. */
#ifndef NEJ_BASE_DURATION_H
#define NEJ_BASE_DURATION_H

#include <stdint.h>

/* Numbers with the units h, m and s, each at most once and the longest first. 0, -EINVAL, -ERANGE: it
 * is more than max_s. */
int duration_parse(const char *text, uint64_t max_s, uint64_t *ret_s);

#define DURATION_TEXT_BYTES 40
/* `1h30m`, `0s`. */
void duration_print(uint64_t seconds, char out[static DURATION_TEXT_BYTES]);

#endif
