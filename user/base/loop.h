/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event loop over epoll: descriptors and one-shot timers, one loop a thread. Written by hand
 * because the relay needs edge-triggered descriptors at 24 bytes each (libuv: 160, level-triggered
 * and one more system call a close). Watch structs are embedded in their owner; deleting one
 * inside any callback is safe, also when its event of the same round is still to come.
 */
#ifndef NEJ_BASE_LOOP_H
#define NEJ_BASE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop;

struct loop_io {
	void (*on_ready)(struct loop_io *io, uint32_t events); /* EPOLLIN, EPOLLOUT, … */
	int fd; /* owned by the embedder; -1: not watched */
};

struct loop_timer {
	void (*on_timeout)(struct loop_timer *timer);
	uint64_t due_ms;    /* CLOCK_MONOTONIC */
	uint32_t heap_slot; /* 0: not armed */
};

/* Called once before each wait: work gathered during a round (send batches, wake a reader). */
struct loop_hook {
	void (*on_round)(struct loop_hook *hook);
	struct loop_hook *next;
};

int loop_new(struct loop **ret);
void loop_free(struct loop *loop);

/* 0 or negative errno. events as for epoll_ctl, EPOLLET where wanted. */
int loop_add(struct loop *loop, struct loop_io *io, int fd, uint32_t events);
int loop_mod(struct loop *loop, struct loop_io *io, uint32_t events);
/* Stops watching. Not the descriptor's close: close it after. want_ctl false skips epoll_ctl, for
 * a descriptor that is closed at once and has no duplicate. */
void loop_del(struct loop *loop, struct loop_io *io, bool want_ctl);

/* A watched descriptor changes hands: `to` is watched from now on, what is ready is told anew. */
int loop_move(struct loop *loop, struct loop_io *from, struct loop_io *to, uint32_t events);

/* (Re)arms; a running timer is moved. Fails only with -ENOMEM. */
int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t in_ms);
void loop_timer_del(struct loop *loop, struct loop_timer *timer);

void loop_hook_add(struct loop *loop, struct loop_hook *hook);
/* Not from inside a hook. */
void loop_hook_del(struct loop *loop, struct loop_hook *hook);

/* Runs until loop_stop; returns the value given there, or negative errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int value);

/* CLOCK_MONOTONIC at the start of this round, in ms: free of charge. */
uint64_t loop_now_ms(const struct loop *loop);

#endif
