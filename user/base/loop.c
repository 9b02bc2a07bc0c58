/* SPDX-License-Identifier: GPL-2.0-only */
/* The event loop: one epoll descriptor, a heap of timers, hooks before each wait; see loop.h. */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define ROUND_EVENTS 128

struct loop {
	int epoll_fd;
	bool is_stopped;
	int value;
	uint64_t now_ms;
	struct loop_timer **heap; /* from 1 */
	size_t n_timers, heap_cap;
	struct loop_hook *hooks;
	/* the round's events: those behind `at` may be struck out by loop_del */
	struct epoll_event events[ROUND_EVENTS];
	int at, n_events;
};

int loop_new(struct loop **ret)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		int r = -errno;

		free(loop);
		return r;
	}
	loop->now_ms = clock_monotonic_ms();
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	free(loop->heap);
	free(loop);
}

static int control(struct loop *loop, int op, struct loop_io *io, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = io};

	return epoll_ctl(loop->epoll_fd, op, io->fd, &e) < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, struct loop_io *io, int fd, uint32_t events)
{
	int r;

	io->fd = fd;
	r = control(loop, EPOLL_CTL_ADD, io, events);
	if (r < 0)
		io->fd = -1;
	return r;
}

int loop_mod(struct loop *loop, struct loop_io *io, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, io, events);
}

void loop_del(struct loop *loop, struct loop_io *io, bool want_ctl)
{
	if (io->fd < 0)
		return;
	if (want_ctl)
		control(loop, EPOLL_CTL_DEL, io, 0);
	io->fd = -1;
	for (int i = loop->at; i < loop->n_events; i++)
		if (loop->events[i].data.ptr == io)
			loop->events[i].data.ptr = NULL;
}

int loop_move(struct loop *loop, struct loop_io *from, struct loop_io *to, uint32_t events)
{
	to->fd = from->fd;
	loop_del(loop, from, false);
	return control(loop, EPOLL_CTL_MOD, to, events);
}

/* --- timers: a binary heap, slot 1 is the next one due */

static void place(struct loop *loop, struct loop_timer *timer, size_t slot)
{
	loop->heap[slot] = timer;
	timer->heap_slot = (uint32_t)slot;
}

static void sift_up(struct loop *loop, struct loop_timer *timer, size_t slot)
{
	for (; slot > 1 && loop->heap[slot / 2]->due_ms > timer->due_ms; slot /= 2)
		place(loop, loop->heap[slot / 2], slot);
	place(loop, timer, slot);
}

static void sift_down(struct loop *loop, struct loop_timer *timer, size_t slot)
{
	for (;;) {
		size_t child = slot * 2;

		if (child > loop->n_timers)
			break;
		if (child < loop->n_timers &&
			loop->heap[child + 1]->due_ms < loop->heap[child]->due_ms)
			child++;
		if (loop->heap[child]->due_ms >= timer->due_ms)
			break;
		place(loop, loop->heap[child], slot);
		slot = child;
	}
	place(loop, timer, slot);
}

int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t in_ms)
{
	loop_timer_del(loop, timer);
	if (loop->n_timers + 2 > loop->heap_cap) {
		size_t cap = loop->heap_cap ? loop->heap_cap * 2 : 32;
		struct loop_timer **heap = realloc(loop->heap, cap * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		loop->heap = heap;
		loop->heap_cap = cap;
	}
	timer->due_ms = loop->now_ms + in_ms;
	sift_up(loop, timer, ++loop->n_timers);
	return 0;
}

void loop_timer_del(struct loop *loop, struct loop_timer *timer)
{
	size_t slot = timer->heap_slot;
	struct loop_timer *last;

	if (!slot)
		return;
	timer->heap_slot = 0;
	last = loop->heap[loop->n_timers--];
	if (last == timer)
		return;
	if (slot > 1 && loop->heap[slot / 2]->due_ms > last->due_ms)
		sift_up(loop, last, slot);
	else
		sift_down(loop, last, slot);
}

void loop_hook_add(struct loop *loop, struct loop_hook *hook)
{
	hook->next = loop->hooks;
	loop->hooks = hook;
}

void loop_hook_del(struct loop *loop, struct loop_hook *hook)
{
	struct loop_hook **at = &loop->hooks;

	while (*at && *at != hook)
		at = &(*at)->next;
	if (*at)
		*at = hook->next;
}

static void run_timers(struct loop *loop)
{
	while (loop->n_timers && loop->heap[1]->due_ms <= loop->now_ms && !loop->is_stopped) {
		struct loop_timer *timer = loop->heap[1];

		loop_timer_del(loop, timer);
		timer->on_timeout(timer);
	}
}

static int wait_ms(const struct loop *loop)
{
	uint64_t now, due;

	if (!loop->n_timers)
		return -1;
	now = clock_monotonic_ms();
	due = loop->heap[1]->due_ms;
	if (due <= now)
		return 0;
	return due - now > INT32_MAX ? INT32_MAX : (int)(due - now);
}

static int run_round(struct loop *loop)
{
	for (struct loop_hook *h = loop->hooks; h; h = h->next)
		h->on_round(h);
	if (loop->is_stopped)
		return 0;
	loop->n_events = epoll_wait(loop->epoll_fd, loop->events, ROUND_EVENTS, wait_ms(loop));
	loop->now_ms = clock_monotonic_ms();
	if (loop->n_events < 0) {
		loop->n_events = 0;
		if (errno != EINTR)
			return -errno;
	}
	for (loop->at = 0; loop->at < loop->n_events && !loop->is_stopped;) {
		struct epoll_event *e = &loop->events[loop->at++];
		struct loop_io *io = e->data.ptr;

		if (io)
			io->on_ready(io, e->events);
	}
	loop->at = loop->n_events = 0;
	run_timers(loop);
	return 0;
}

int loop_run(struct loop *loop)
{
	int r = 0;

	loop->now_ms = clock_monotonic_ms();
	while (!loop->is_stopped && r >= 0)
		r = run_round(loop);
	loop->is_stopped = false;
	return r < 0 ? r : loop->value;
}

void loop_stop(struct loop *loop, int value)
{
	loop->is_stopped = true;
	loop->value = value;
}

uint64_t loop_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}
