/* SPDX-License-Identifier: GPL-2.0-only */
/* Pipes lent to bulk transfers; see pool.h. */
#include "pool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pool_init(struct pool *pool)
{
	memset(pool, 0, sizeof(*pool));
}

static void drop(struct pool *pool, int16_t slot)
{
	struct pool_pipe *pipe = &pool->pipes[slot];

	close(pipe->read_fd);
	close(pipe->write_fd);
	pipe->read_fd = pipe->write_fd = -1;
	pool->free_slots[pool->n_free++] = slot;
}

void pool_done(struct pool *pool)
{
	while (pool->n_idle)
		drop(pool, pool->idle[--pool->n_idle]);
	free(pool->pipes);
	pool_init(pool);
}

/* A slot without a pipe, or -1. */
static int16_t take_slot(struct pool *pool)
{
	struct pool_pipe *pipes;

	if (pool->n_free)
		return pool->free_slots[--pool->n_free];
	if (pool->n_pipes == POOL_MAX_PIPES)
		return -1;
	if (!(pool->n_pipes & (pool->n_pipes - 1))) {
		size_t cap = pool->n_pipes ? pool->n_pipes * 2 : 1;

		pipes = realloc(pool->pipes, cap * sizeof(*pipes));
		if (!pipes)
			return -1;
		pool->pipes = pipes;
	}
	return (int16_t)pool->n_pipes++;
}

int16_t pool_lend(struct pool *pool)
{
	int16_t slot;
	int fds[2];

	if (pool->n_idle)
		return pool->idle[--pool->n_idle];
	slot = take_slot(pool);
	if (slot < 0)
		return -1;
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0) {
		pool->free_slots[pool->n_free++] = slot;
		return -1;
	}
	/* a user's pipe budget may be used up: a small pipe works too */
	fcntl(fds[1], F_SETPIPE_SZ, POOL_PIPE_BYTES);
	pool->pipes[slot] = (struct pool_pipe){fds[0], fds[1]};
	return slot;
}

void pool_return(struct pool *pool, int16_t slot, int is_empty)
{
	if (is_empty && pool->n_idle < POOL_MAX_IDLE)
		pool->idle[pool->n_idle++] = slot;
	else
		drop(pool, slot);
}
