/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a host, with and without a port: what is taken is its own canonical form, so that a
 * second reading of a name can never come out otherwise.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../user/wire/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct host *h)
{
	assert(h->len && h->len == strlen(h->name) && h->len <= HOST_MAX_BYTES);
	for (size_t i = 0; i < h->len; i++) {
		char c = h->name[i];

		assert((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
			c == '_' || c == ':');
	}
}

/* The canonical text read again is the same host. */
static void check_again(const struct host *h)
{
	char text[HOST_MAX_BYTES + 3];
	struct host again;
	int n = snprintf(text, sizeof(text), strchr(h->name, ':') ? "[%s]" : "%s", h->name);

	assert(host_parse(text, (size_t)n, &again) == 0);
	assert(host_equal(h, &again) && addr_equal(&h->addr, &again.addr));
	assert(again.is_local == h->is_local);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host h, with_port;
	uint16_t port = 0;
	int r = host_parse((const char *)data, size, &h);

	assert(r == 0 || r == -EINVAL);
	if (!r) {
		check_text(&h);
		check_again(&h);
		assert(!host_parse_port((const char *)data, size, &with_port, &port));
		assert(!port && host_equal(&h, &with_port));
	}
	if (!host_parse_port((const char *)data, size, &with_port, &port)) {
		check_text(&with_port);
		check_again(&with_port);
		assert(r == 0 || port);
	}
	return 0;
}
