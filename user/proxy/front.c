/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests: connections whose first head is not complete. They cost little, live ten seconds at most,
 * and when there are too many the oldest gives way, so that silent ones keep nobody out. See front.h.
 */
#include "front.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"
#include "../tls/session.h"

#define ACCEPTS_A_ROUND 64
#define PAUSE_MS 100 /* when descriptors run out */
#define READ_BYTES 16384

struct door {
	struct loop_io io;
	struct loop_timer pause;
	struct front *front;
	struct door *next;
};

struct guest {
	struct loop_io io;
	struct loop_timer timer;
	struct front *front;
	struct guest *next, **prev; /* the oldest first */
	struct session *tls;
	bool is_shaken; /* or plain */
	struct buf head;
};

struct front {
	struct front_options o;
	struct door *doors;
	struct guest *guests, **last;
	size_t n_guests;
	struct http1_head head; /* scratch */
	char buf[READ_BYTES];   /* scratch */
};

int front_new(const struct front_options *options, struct front **ret)
{
	struct front *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->o = *options;
	f->last = &f->guests;
	*ret = f;
	return 0;
}

/* --- guests */

void front_set_tls(struct front *front, struct session_io *tls)
{
	front->o.tls = tls;
}

/* Forgets the guest; its socket and session are the caller's. */
static int guest_leave(struct guest *g)
{
	struct front *f = g->front;
	int fd = g->io.fd;

	loop_del(f->o.loop, &g->io, true);
	loop_timer_del(f->o.loop, &g->timer);
	*g->prev = g->next;
	if (g->next)
		g->next->prev = g->prev;
	else
		f->last = g->prev;
	f->n_guests--;
	if (g->head.data)
		explicit_bzero(g->head.data, g->head.cap); /* credentials */
	buf_done(&g->head);
	free(g);
	return fd;
}

static void guest_drop(struct guest *g)
{
	static const struct linger rst = {.l_onoff = 1};
	struct session *tls = g->tls;
	int fd = guest_leave(g);

	session_free(tls);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(fd);
}

/* A whole head, or what will never be one: in both cases somebody answers. */
static void guest_enter(struct guest *g, size_t head_len)
{
	struct front *f = g->front;
	struct session *tls = g->tls;
	struct buf head = g->head;
	bool is_head = head_len && http1_parse_request(head.data, head_len, &f->head) == 0;
	struct proxy *proxy = f->o.find(f->o.arg, is_head ? &f->head : NULL);

	buf_init(&g->head);
	proxy_adopt(proxy, guest_leave(g), tls, head.data, head.len);
	explicit_bzero(head.data, head.cap);
	buf_done(&head);
}

static ssize_t guest_recv(struct guest *g)
{
	struct front *f = g->front;
	ssize_t n;

	if (g->tls)
		return session_recv(g->tls, g->io.fd, f->buf, sizeof(f->buf));
	n = recv(g->io.fd, f->buf, sizeof(f->buf), 0);
	return n < 0 ? -errno : n;
}

/* 1: the guest is gone or waits; 0: there may be more to read. */
static int guest_read(struct guest *g)
{
	struct front *f = g->front;
	ssize_t n = guest_recv(g);
	size_t head_len;

	if (n == -EAGAIN)
		return 1;
	if (n <= 0) {
		guest_drop(g);
		return 1;
	}
	/* other than a method's first letter: TLS on a plain port, SOCKS, noise */
	if (!g->head.len && (f->buf[0] < 'A' || f->buf[0] > 'Z')) {
		guest_drop(g);
		return 1;
	}
	buf_add(&g->head, f->buf, (size_t)n);
	explicit_bzero(f->buf, (size_t)n);
	if (g->head.is_failed) {
		guest_drop(g);
		return 1;
	}
	head_len = http1_head_end(g->head.data, g->head.len);
	if (!head_len && g->head.len < NEJ_MAX_HEAD_BYTES)
		return 0;
	guest_enter(g, head_len);
	return 1;
}

/* False: it waits for the handshake, or is gone. */
static bool guest_shake(struct guest *g, uint32_t events)
{
	int r = events & EPOLLOUT ? session_flush(g->tls, g->io.fd) : 0;

	if (r >= 0)
		r = session_handshake(g->tls, g->io.fd);
	if (r < 0)
		guest_drop(g);
	else
		g->is_shaken = r > 0;
	return r > 0;
}

static void guest_on_ready(struct loop_io *io, uint32_t events)
{
	struct guest *g = CONTAINER_OF(io, struct guest, io);

	if (!g->is_shaken && !guest_shake(g, events))
		return;
	while (guest_read(g) == 0)
		;
}

static void guest_on_timeout(struct loop_timer *timer)
{
	guest_drop(CONTAINER_OF(timer, struct guest, timer));
}

static void drop_oldest(struct front *f)
{
	if (f->guests)
		guest_drop(f->guests);
}

static void guest_new(struct front *f, int fd)
{
	struct guest *g;

	if (f->n_guests >= FRONT_MAX_GUESTS)
		drop_oldest(f);
	g = calloc(1, sizeof(*g));
	if (!g) {
		close(fd);
		return;
	}
	g->front = f;
	g->is_shaken = !f->o.tls;
	if (f->o.tls && session_new_fixed(f->o.tls, SESSION_ALPN_HTTP1, &g->tls) < 0) {
		free(g);
		close(fd);
		return;
	}
	buf_init(&g->head);
	g->io.on_ready = guest_on_ready;
	g->timer.on_timeout = guest_on_timeout;
	g->prev = f->last;
	*f->last = g;
	f->last = &g->next;
	f->n_guests++;
	if (loop_add(f->o.loop, &g->io, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0) {
		g->io.fd = fd;
		guest_drop(g);
	} else if (loop_timer_set(f->o.loop, &g->timer, FRONT_LIMIT_MS) < 0) {
		guest_drop(g);
	}
}

/* --- doors */

static void door_on_ready(struct loop_io *io, uint32_t events);

static void door_on_pause_over(struct loop_timer *timer)
{
	struct door *d = CONTAINER_OF(timer, struct door, pause);

	if (loop_add(d->front->o.loop, &d->io, d->io.fd, EPOLLIN) < 0)
		(void)loop_timer_set(d->front->o.loop, &d->pause, PAUSE_MS);
}

/* Out of descriptors: the oldest guest gives one back, and the others have their time. */
static void door_pause(struct door *d)
{
	struct loop *loop = d->front->o.loop;
	int fd = d->io.fd;

	drop_oldest(d->front);
	if (loop_timer_set(loop, &d->pause, PAUSE_MS) < 0)
		return;
	loop_del(loop, &d->io, true);
	d->io.fd = fd;
}

static void door_on_ready(struct loop_io *io, uint32_t events)
{
	struct door *d = CONTAINER_OF(io, struct door, io);

	(void)events;
	for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			guest_new(d->front, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			errno == ENOMEM) {
			door_pause(d);
			return;
		} else if (errno == EAGAIN || errno == EINVAL) {
			return; /* EINVAL: shut down from outside */
		}
	}
}

int front_add_listener(struct front *front, int fd)
{
	struct door *d = calloc(1, sizeof(*d));
	int one = 1, limit_s = FRONT_LIMIT_MS / 1000, r;

	if (!d)
		return -ENOMEM;
	d->front = front;
	d->io.on_ready = door_on_ready;
	d->pause.on_timeout = door_on_pause_over;
	/* accepted sockets inherit these; a connection without bytes is not accepted for as long */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &limit_s, sizeof(limit_s));
	r = loop_add(front->o.loop, &d->io, fd, EPOLLIN);
	if (r < 0) {
		free(d);
		return r;
	}
	d->next = front->doors;
	front->doors = d;
	return 0;
}

void front_close(struct front *front)
{
	struct door *d, *next;

	for (d = front->doors; d; d = next) {
		int fd = d->io.fd;

		next = d->next;
		loop_timer_del(front->o.loop, &d->pause);
		loop_del(front->o.loop, &d->io, true);
		close(fd);
		free(d);
	}
	front->doors = NULL;
}

size_t front_count(const struct front *front)
{
	return front->n_guests;
}

void front_free(struct front *front)
{
	if (!front)
		return;
	front_close(front);
	while (front->guests)
		guest_drop(front->guests);
	free(front);
}
