/* SPDX-License-Identifier: GPL-2.0-only */
/* Time: monotonic for durations, boot for deadlines that a suspend may not move, real for records. */
#ifndef NEJ_BASE_CLOCK_H
#define NEJ_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
uint64_t clock_boot_ns(void); /* monotonic, and goes on while the machine is suspended */
uint64_t clock_real_us(void); /* since the epoch, UTC */

/* CLOCK_MONOTONIC of a BPF event as CLOCK_REALTIME. */
uint64_t clock_real_us_of(uint64_t monotonic_ns);

/* `2026-11-30T22:36:57.123456Z` and a NUL. */
#define CLOCK_TEXT_BYTES 28
void clock_print(uint64_t real_us, char out[static CLOCK_TEXT_BYTES]);

#endif
