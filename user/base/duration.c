/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations; see duration.h. */
#include "duration.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

static const struct unit {
	char letter;
	uint64_t seconds;
} units[] = {{'h', 3600}, {'m', 60}, {'s', 1}};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

int duration_parse(const char *text, uint64_t max_s, uint64_t *ret_s)
{
	const struct unit *unit = units, *end = units + N_UNITS;
	uint64_t sum = 0;

	if (!*text)
		return -EINVAL;
	while (*text) {
		uint64_t n = 0;
		const char *digits = text;

		for (; *text >= '0' && *text <= '9'; text++)
			if ((n = n * 10 + (uint64_t)(*text - '0')) > UINT32_MAX)
				return -ERANGE;
		while (unit < end && unit->letter != *text)
			unit++;
		if (text == digits || unit == end)
			return -EINVAL;
		sum += n * unit->seconds;
		unit++;
		text++;
	}
	if (sum > max_s)
		return -ERANGE;
	*ret_s = sum;
	return 0;
}

void duration_print(uint64_t seconds, char out[static DURATION_TEXT_BYTES])
{
	size_t at = 0;

	out[0] = 0;
	for (size_t i = 0; i < N_UNITS; i++) {
		uint64_t n = seconds / units[i].seconds;

		seconds %= units[i].seconds;
		if (n || (i == N_UNITS - 1 && !at))
			at += (size_t)snprintf(out + at, DURATION_TEXT_BYTES - at, "%llu%c",
				(unsigned long long)n, units[i].letter);
	}
}
