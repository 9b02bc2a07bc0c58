/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The proxy object and its listeners: accepting, also when descriptors run out. What becomes of an
 * accepted socket is conn.c's.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/meter.h"
#include "conn.h"
#include "keepalive.h"
#include "mux.h"
#include "spare.h"
#include "uplink.h"

#define ACCEPTS_A_ROUND 64 /* then others have their turn */
#define PAUSE_MS 100       /* when not even a spare descriptor helps */
#define DEFER_S 30         /* a connection without bytes is not accepted for as long */

/* A second descriptor of something at hand: the worker may open no files. */
static int open_spare(const struct proxy *p)
{
	return fcntl(p->o.flows_fd, F_DUPFD_CLOEXEC, 3);
}

int proxy_new(const struct proxy_options *options, struct proxy **ret)
{
	struct proxy *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *options;
	p->loop = options->loop;
	p->buf = malloc(PROXY_BUF_BYTES);
	buf_init(&p->out);
	pool_init(&p->pool);
	p->spare_fd = open_spare(p);
	if (!p->buf) {
		proxy_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

/* --- accepting */

static void on_pause_over(struct loop_timer *timer);
static void on_incoming(struct loop_io *io, uint32_t events);

static int watch(struct listener *l, int fd)
{
	l->io.on_ready = on_incoming;
	/* of several threads on one listener, one wakes */
	return loop_add(l->proxy->loop, &l->io, fd, EPOLLIN | EPOLLEXCLUSIVE);
}

static void pause_accepting(struct listener *l)
{
	int fd = l->io.fd;

	l->pause.on_timeout = on_pause_over;
	if (loop_timer_set(l->proxy->loop, &l->pause, PAUSE_MS) < 0)
		return;
	loop_del(l->proxy->loop, &l->io, true);
	l->io.fd = fd;
}

static void on_pause_over(struct loop_timer *timer)
{
	struct listener *l = CONTAINER_OF(timer, struct listener, pause);

	if (watch(l, l->io.fd) < 0)
		(void)loop_timer_set(l->proxy->loop, &l->pause, PAUSE_MS);
}

static int accept_one(int listen_fd, struct endpoint *ret_peer)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	int fd = accept4(listen_fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (endpoint_from_sockaddr((struct sockaddr *)&sa, ret_peer) < 0) {
		close(fd);
		return -ECONNABORTED;
	}
	return fd;
}

/* No descriptor is left: the spare one lets us take the connection and refuse it, so that the
 * client is told at once and the listener does not stay ready for ever. */
static int refuse_one(struct listener *l)
{
	struct proxy *p = l->proxy;
	struct endpoint peer;
	int fd;

	if (p->spare_fd < 0)
		return -EMFILE;
	close(p->spare_fd);
	fd = accept_one(l->io.fd, &peer);
	if (fd >= 0)
		conn_refuse(p, fd, &peer, -EMFILE);
	p->spare_fd = open_spare(p);
	return fd == -EAGAIN ? -EAGAIN : p->spare_fd < 0 ? -EMFILE : 0;
}

static bool is_exhausted(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

static void on_incoming(struct loop_io *io, uint32_t events)
{
	struct listener *l = CONTAINER_OF(io, struct listener, io);

	(void)events;
	for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
		struct endpoint peer;
		int fd = accept_one(l->io.fd, &peer);

		if (fd >= 0) {
			meter_count(l->proxy->o.meter, METER_CONNECTIONS, 1);
			conn_accept(l->proxy, fd, &peer, l->is_eager);
			continue;
		}
		if (fd == -EAGAIN)
			return;
		if (!is_exhausted(fd))
			continue; /* that connection's own error, accept(2) */
		if (spare_drop_oldest(l->proxy))
			continue; /* nobody waits for that one */
		fd = refuse_one(l);
		if (fd == -EAGAIN)
			return;
		if (fd < 0) {
			pause_accepting(l);
			return;
		}
	}
}

int proxy_add_listener(struct proxy *proxy, int fd, bool is_eager)
{
	struct listener *l = calloc(1, sizeof(*l));
	int one = 1, defer_s = DEFER_S, r;

	if (!l)
		return -ENOMEM;
	l->proxy = proxy;
	l->is_eager = is_eager;
	/* Accepted sockets inherit this. No keepalive: their peers are on this machine, where the
	 * kernel tells of every end. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!is_eager)
		setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer_s, sizeof(defer_s));
	r = watch(l, fd);
	if (r < 0) {
		free(l);
		return r;
	}
	l->next = proxy->listeners;
	proxy->listeners = l;
	return 0;
}

size_t proxy_open_count(const struct proxy *proxy)
{
	return __atomic_load_n(&proxy->n_conns, __ATOMIC_RELAXED);
}

void proxy_free(struct proxy *proxy)
{
	struct listener *l, *next;

	if (!proxy)
		return;
	while (proxy->conns)
		conn_close(proxy->conns, -ECONNRESET);
	uplink_done(proxy);
	mux_kit_free(proxy->mux_kit);
	assert(!proxy->held_bytes);
	for (l = proxy->listeners; l; l = next) {
		int fd = l->io.fd;

		next = l->next;
		loop_timer_del(proxy->loop, &l->pause);
		loop_del(proxy->loop, &l->io, true);
		close(fd);
		free(l);
	}
	spare_done(proxy);
	keepalive_stop(proxy);
	pool_done(&proxy->pool);
	buf_done(&proxy->out);
	free(proxy->buf);
	if (proxy->spare_fd >= 0)
		close(proxy->spare_fd);
	free(proxy);
}
