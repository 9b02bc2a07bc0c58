/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a ClientHello: no verdict but the documented ones, and a prefix never says more than
 * the whole (a name found early must be the name found late).
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../user/wire/clienthello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clienthello whole = {0}, part = {0};
	int r = clienthello_parse(data, size, &whole);
	size_t cut = size ? data[size - 1] * size / 256 : 0;
	int early = clienthello_parse(data, cut, &part);

	assert(r == 0 || r == -EAGAIN || r == -EPROTO || r == -EINVAL || r == -EMSGSIZE);
	if (r == 0 && whole.has_sni)
		assert(whole.host.len && whole.host.len == strlen(whole.host.name));
	if (early == 0) {
		assert(r == 0 || r == -EMSGSIZE);
		assert(r < 0 || part.has_sni == whole.has_sni);
		assert(r < 0 || !part.has_sni || host_equal(&part.host, &whole.host));
	} else if (early != -EAGAIN) {
		assert(r == early || r == -EMSGSIZE);
	}
	return 0;
}
