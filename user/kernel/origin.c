/* SPDX-License-Identifier: GPL-2.0-only */
/* The original destination of an accepted connection; see origin.h. */
#include "origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <bpf/bpf.h>

int origin_find(int flows_fd, const struct endpoint *client, struct nej_origin *ret)
{
	struct nej_flow_key key = {.port_be = htons(client->port)};
	struct nej_origin origin;

	memcpy(key.addr, client->addr.b, sizeof(key.addr));
	if (bpf_map_lookup_elem(flows_fd, &key, &origin) < 0)
		return -errno;
	*ret = origin;
	return 0;
}
