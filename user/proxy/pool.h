/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pipes for splice(2), lent only while bytes are in flight: an idle tunnel holds none. A pipe comes
 * back empty or is given up.
 */
#ifndef NEJ_PROXY_POOL_H
#define NEJ_PROXY_POOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_PIPE_BYTES (1 << 20)
#define POOL_MAX_PIPES 1024 /* lent at once; beyond it the relay copies */
#define POOL_MAX_IDLE 8

struct pool_pipe {
	int read_fd, write_fd; /* -1: the slot is free */
};

struct pool {
	struct pool_pipe *pipes;
	size_t n_pipes; /* slots ever used */
	int16_t idle[POOL_MAX_IDLE];
	size_t n_idle;
	int16_t free_slots[POOL_MAX_PIPES];
	size_t n_free;
};

void pool_init(struct pool *pool);
void pool_done(struct pool *pool);
/* A slot, or -1: none is to be had, the caller copies instead. */
int16_t pool_lend(struct pool *pool);
/* is_empty false: bytes are left in it, so it is closed. */
void pool_return(struct pool *pool, int16_t slot, int is_empty);

#endif
