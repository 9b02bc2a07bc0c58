/* SPDX-License-Identifier: GPL-2.0-only */
/* Strict number parsing; see num.h. */
#include "num.h"

#include <errno.h>

int num_parse_u64(const char *s, size_t len_bytes, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!len_bytes)
		return -EINVAL;
	for (size_t i = 0; i < len_bytes; i++) {
		uint64_t digit;

		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		digit = (uint64_t)(s[i] - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int num_parse_port(const char *s, size_t len_bytes, uint16_t *ret_port)
{
	uint64_t v;
	int r;

	/* A leading zero is refused: other parsers may read the number as octal. */
	if (len_bytes > 5 || (len_bytes && s[0] == '0'))
		return -EINVAL;
	r = num_parse_u64(s, len_bytes, 65535, &v);
	if (r < 0)
		return r;
	*ret_port = (uint16_t)v;
	return 0;
}
