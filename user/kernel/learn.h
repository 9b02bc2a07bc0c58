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

#define LEARN_MAX_ADDRS 64

/* What goes over the socket, one message each way. Both ends are this binary. */
struct learn_message {
	uint32_t id;
	uint32_t ttl_s;
	uint32_t n_addrs;
	uint32_t name_len;
	char name[HOST_MAX_BYTES + 3]; /* no NUL; zeroes behind */
	struct addr addrs[LEARN_MAX_ADDRS];
};

struct learn_reply {
	uint32_t id;
	int32_t status;
};

/* Worker side, over a SOCK_SEQPACKET socket (borrowed). */
int learn_new(struct loop *loop, int fd, struct learn **ret);
void learn_free(struct learn *l);
/* Asks that the name's addresses be let straight out for ttl_s seconds; the DNS answer is sent only
 * when on_done says 0. */
int learn_addrs(struct learn *l, const struct host *name, const struct addr *addrs, size_t n_addrs,
	uint32_t ttl_s, struct learn_request *req);
/* Called once when the supervisor is gone. */
void learn_on_hangup(struct learn *l, void (*on_hangup)(void *arg), void *arg);
/* A message that is no reply: its bytes, and the descriptor that came along or -1, which is the
 * callee's from now on. */
void learn_on_word(struct learn *l,
	void (*on_word)(void *arg, const void *word, size_t len_bytes, int fd), void *arg);
void learn_cancel(struct learn *l, struct learn_request *req);

#endif
