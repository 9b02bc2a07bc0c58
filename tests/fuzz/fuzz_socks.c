/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as SOCKS5 messages: a prefix asks for more or says what the whole says. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/socks5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(int which, const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum socks5_method method = 0;
	struct host host = {0};
	uint16_t port = 0;
	int r;

	memcpy(copy, data, len);
	if (which == 0)
		r = socks5_parse_greeting(copy, len, &method);
	else if (which == 1)
		r = socks5_parse_password(copy, len);
	else
		r = socks5_parse_request(copy, len, &host, &port);
	assert(r <= (int)len);
	if (which == 2 && r > 0)
		assert(port && host.len && host.len == strlen(host.name));
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int which, whole;

	if (!size)
		return 0;
	which = data[0] % 3;
	whole = parse(which, data + 1, size - 1);
	for (size_t n = 0; n < size - 1 && n < 300; n++) {
		int part = parse(which, data + 1, n);

		assert(part == 0 || part == whole);
	}
	return 0;
}
