// SPDX-License-Identifier: GPL-2.0-only
/*
 * Just before the SYN of a redirected connection: files what it asked for under the client's
 * address and port, where the proxy looks after accept(). Called for five other operations of each
 * connection too, so the operation is looked at first.
 */
#include "flow.bpf.h"

SEC("sockops")
int nej_sockops(struct bpf_sock_ops *ctx)
{
	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		flow_file(ctx);
	return 1;
}
