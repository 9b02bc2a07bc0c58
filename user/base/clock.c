/* SPDX-License-Identifier: GPL-2.0-only */
/* Time; see clock.h. */
#include "clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000000;
}

uint64_t clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_real_us(void)
{
	return read_ns(CLOCK_REALTIME) / 1000;
}

uint64_t clock_real_us_of(uint64_t monotonic_ns)
{
	return clock_real_us() - (clock_monotonic_ns() - monotonic_ns) / 1000;
}

static void print_digits(char *out, unsigned int v, int n)
{
	while (n--) {
		out[n] = (char)('0' + v % 10);
		v /= 10;
	}
}

void clock_print(uint64_t real_us, char out[static CLOCK_TEXT_BYTES])
{
	/* gmtime_r costs more than the rest of a record: the broken-down second is kept. */
	static _Thread_local time_t last = -1;
	static _Thread_local char text[CLOCK_TEXT_BYTES];
	time_t s = (time_t)(real_us / 1000000);

	if (s != last) {
		struct tm tm;

		gmtime_r(&s, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.000000Z", &tm);
		last = s;
	}
	__builtin_memcpy(out, text, CLOCK_TEXT_BYTES);
	print_digits(out + 20, (unsigned int)(real_us % 1000000), 6);
}
