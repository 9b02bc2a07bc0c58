/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One list a thread, by the time of the last answer; a request takes the youngest that fits. What is
 * older than IDLE_MS is closed by a timer that runs only while something waits. See spare.h.
 */
#include "spare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "half.h"
#include "http.h"

#define IDLE_MS 60000

bool origin_equal(const struct origin *a, const struct origin *b)
{
	return a->port == b->port && a->is_tls == b->is_tls && a->is_host_port == b->is_host_port &&
		a->route == b->route && a->identity == b->identity &&
		host_equal(&a->host, &b->host);
}

static void unlist(struct spare *s)
{
	struct spares *list = &s->proxy->spares;

	if (!s->is_listed)
		return;
	*(s->older ? &s->older->newer : &list->oldest) = s->newer;
	*(s->newer ? &s->newer->older : &list->newest) = s->older;
	s->older = s->newer = NULL;
	s->is_listed = false;
	list->n--;
}

static void close_one(struct spare *s)
{
	struct half *h = &s->half;

	unlist(s);
	if (s->conn) {
		http_drop_server(s->conn);
		return;
	}
	half_end(s->proxy, h, false);
	free(s);
}

bool spare_drop_oldest(struct proxy *p)
{
	if (!p->spares.oldest)
		return false;
	close_one(p->spares.oldest);
	return true;
}

void spare_done(struct proxy *p)
{
	while (spare_drop_oldest(p))
		continue;
	loop_timer_del(p->loop, &p->spares.timer);
}

static void on_sweep(struct loop_timer *timer)
{
	struct spares *list = CONTAINER_OF(timer, struct spares, timer);
	struct proxy *p = CONTAINER_OF(list, struct proxy, spares);
	uint64_t now = loop_now_ms(p->loop);

	while (list->oldest && now - list->oldest->since_ms >= IDLE_MS)
		close_one(list->oldest);
	if (list->oldest)
		(void)loop_timer_set(p->loop, timer, list->oldest->since_ms + IDLE_MS - now + 1);
}

static void enlist(struct spare *s)
{
	struct spares *list = &s->proxy->spares;

	s->since_ms = loop_now_ms(s->proxy->loop);
	s->older = list->newest;
	*(list->newest ? &list->newest->newer : &list->oldest) = s;
	list->newest = s;
	s->is_listed = true;
	list->timer.on_timeout = on_sweep;
	/* without memory for the timer they go when their servers close, or by number */
	if (!list->timer.heap_slot)
		(void)loop_timer_set(s->proxy->loop, &list->timer, IDLE_MS + 1);
	if (++list->n > NEJ_MAX_SPARES)
		spare_drop_oldest(s->proxy);
}

void spare_offer(struct conn *c, struct spare *s)
{
	s->proxy = c->proxy;
	s->conn = c;
	enlist(s);
}

void spare_withdraw(struct spare *s)
{
	if (s->proxy)
		unlist(s);
}

/* Its end, or bytes nobody asked for. */
static void on_unwanted(struct loop_io *io, uint32_t events)
{
	struct spare *s = CONTAINER_OF(io, struct spare, half.io);

	(void)events;
	close_one(s);
}

/* The connection changes hands. 0 or negative errno; then it is closed. */
static int move(struct proxy *p, struct half *from, struct half *to,
	void (*on_ready)(struct loop_io *io, uint32_t events))
{
	uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET | (from->has_out ? EPOLLOUT : 0);
	struct stash *rest = from->stash; /* for a slow client: stays with it */
	int r, fd = from->io.fd;

	*to = *from;
	to->stash = NULL;
	to->io.on_ready = on_ready;
	r = loop_move(p->loop, &from->io, &to->io, events);
	half_init(from, -1);
	from->stash = rest;
	if (r == 0)
		return 0;
	to->io.fd = fd;
	half_end(p, to, true);
	return r;
}

void spare_keep(struct spare *offered)
{
	struct proxy *p = offered->proxy;
	struct spare *s;

	if (!offered->is_listed)
		return;
	unlist(offered);
	s = malloc(sizeof(*s));
	if (!s)
		return;
	*s = *offered;
	s->conn = NULL;
	if (!offered->conn->server.is_watched ||
		move(p, &offered->conn->server, &s->half, on_unwanted) < 0)
		free(s);
	else
		enlist(s);
}

static struct spare *find(struct proxy *p, const struct origin *want)
{
	for (struct spare *s = p->spares.newest; s; s = s->older) {
		const struct half *h = s->conn ? &s->conn->server : &s->half;

		if (!h->is_eof && !h->is_hup && origin_equal(&s->origin, want))
			return s;
	}
	return NULL;
}

bool spare_take(struct conn *c, const struct origin *want)
{
	struct spare *s = find(c->proxy, want);
	struct half *from;
	int r;

	if (!s)
		return false;
	unlist(s);
	from = s->conn ? &s->conn->server : &s->half;
	r = move(c->proxy, from, &c->server, NULL);
	if (!s->conn)
		free(s);
	return r == 0 && http_watch_server(c) == 0;
}
