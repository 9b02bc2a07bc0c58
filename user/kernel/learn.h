/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses learnt for names with `transport: kernel`: the worker asks over the control socket, the
 * supervisor checks the policy again and writes allow4/allow6. Only the supervisor can.
 */
#ifndef NEJ_KERNEL_LEARN_H
#define NEJ_KERNEL_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"
#include "../base/loop.h"
#include "../wire/host.h"

struct learn;

struct learn_request {
	void (*on_done)(struct learn_request *req, int status); /* 0 or negative errno */
	uint32_t id;
	struct learn_request *next;
};

/* Worker side, over a SOCK_SEQPACKET socket (borrowed). */
int learn_new(struct loop *loop, int fd, struct learn **ret);
void learn_free(struct learn *l);
/* Asks that the name's addresses be let straight out for ttl_s seconds; the DNS answer is sent only
 * when on_done says 0. */
int learn_addrs(struct learn *l, const struct host *name, const struct addr *addrs, size_t n_addrs,
	uint32_t ttl_s, struct learn_request *req);
void learn_cancel(struct learn *l, struct learn_request *req);

#endif
