/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The relay. Small data: one recv into the thread's buffer, one send. Once a read fills that buffer
 * the direction is bulk and goes through a lent pipe until its queue is empty. Sockets are watched
 * edge-triggered, once; EPOLLOUT joins at the first send that did not fit. A short read means the
 * queue is empty, so no second one is made unless the peer's FIN is known to be behind it.
 */
#include "pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http.h"
#include "record.h"

#define MOVES_A_TURN 64 /* reads of one direction before the others have their turn */

ssize_t half_recv(struct half *h, void *buf, size_t size_bytes)
{
	ssize_t n = recv(h->io.fd, buf, size_bytes, 0);

	if (n < 0) {
		if (errno == EAGAIN)
			h->is_readable = h->is_bulk = false;
		return -errno;
	}
	if (!n) {
		h->is_eof = true;
		h->is_readable = false;
	} else if ((size_t)n < size_bytes && !h->is_hup) {
		h->is_readable = false;
	}
	return n;
}

int half_note(struct half *h, uint32_t events)
{
	if (h->is_eof)
		return events & EPOLLERR ? -ECONNRESET : 0;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		h->is_readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		h->is_hup = true;
	return 0;
}

static int want_out(struct conn *c, struct half *h)
{
	if (h->has_out)
		return 0;
	h->has_out = true;
	if (!h->is_watched)
		return 0;
	return loop_mod(c->proxy->loop, &h->io, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

void half_drop_stash(struct conn *c, struct half *from)
{
	if (!from->stash)
		return;
	c->proxy->held_bytes -= from->stash->len;
	free(from->stash);
	from->stash = NULL;
}

/* from->stash is NULL here, or gets `data` behind what it holds. */
static int stash_add(struct conn *c, struct half *from, const char *data, size_t len)
{
	struct stash *old = from->stash, *s;
	size_t have = old ? old->len - old->off : 0;

	if (c->proxy->held_bytes > NEJ_MAX_HELD_BYTES) {
		record_limit(c, "too much waits for slow readers");
		return -ENOBUFS;
	}
	s = malloc(sizeof(*s) + have + len);
	if (!s)
		return -ENOMEM;
	if (have)
		memcpy(s->data, old->data + old->off, have);
	memcpy(s->data + have, data, len);
	s->len = (uint32_t)(have + len);
	s->off = 0;
	half_drop_stash(c, from);
	c->proxy->held_bytes += s->len;
	from->stash = s;
	return 0;
}

int half_send(struct conn *c, struct half *from, struct half *to, const void *data,
	size_t len_bytes, int flags)
{
	ssize_t n = 0;
	int r;

	if (!from->stash) {
		n = send(to->io.fd, data, len_bytes, MSG_NOSIGNAL | flags);
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n < 0)
			n = 0;
		if ((size_t)n == len_bytes)
			return 0;
	}
	r = stash_add(c, from, (const char *)data + n, len_bytes - (size_t)n);
	return r < 0 ? r : want_out(c, to);
}

static void give_pipe_back(struct conn *c, struct half *h)
{
	if (h->pipe < 0)
		return;
	pool_return(&c->proxy->pool, h->pipe, !h->in_pipe);
	h->pipe = -1;
}

static int flush_stash(struct conn *c, struct half *from, struct half *to)
{
	struct stash *s = from->stash;
	ssize_t n = send(to->io.fd, s->data + s->off, s->len - s->off, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN ? want_out(c, to) : -errno;
	s->off += (uint32_t)n;
	if (s->off < s->len)
		return want_out(c, to);
	half_drop_stash(c, from);
	return 1;
}

static int flush_pipe(struct conn *c, struct half *from, struct half *to)
{
	int fd = c->proxy->pool.pipes[from->pipe].read_fd;

	while (from->in_pipe) {
		ssize_t n = splice(fd, NULL, to->io.fd, NULL, from->in_pipe,
			SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EAGAIN)
			return want_out(c, to);
		if (n <= 0)
			return n ? -errno : -EPIPE;
		from->in_pipe -= (uint32_t)n;
	}
	return 1;
}

int half_flush(struct conn *c, struct half *from, struct half *to)
{
	if (from->stash)
		return flush_stash(c, from, to);
	if (from->in_pipe)
		return flush_pipe(c, from, to);
	return 1;
}

static int count(struct conn *c, const struct half *from, size_t n)
{
	return from == &c->client ? record_bytes(c, n, 0) : record_bytes(c, 0, n);
}

/* Fills the lent pipe. As half_recv. */
static ssize_t splice_in(struct conn *c, struct half *from)
{
	ssize_t n = splice(from->io.fd, NULL, c->proxy->pool.pipes[from->pipe].write_fd, NULL,
		POOL_PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0) {
		if (errno == EAGAIN)
			from->is_readable = from->is_bulk = false;
		return -errno;
	}
	if (!n) {
		from->is_eof = true;
		from->is_readable = false;
	}
	from->in_pipe = (uint32_t)n;
	return n;
}

/* One read, and one write unless it went into the pipe. */
static ssize_t move_once(struct conn *c, struct half *from, struct half *to)
{
	char *buf = c->proxy->buf;
	ssize_t n;
	int r;

	if (from->is_bulk && from->pipe < 0)
		from->pipe = pool_lend(&c->proxy->pool);
	if (from->pipe >= 0)
		return splice_in(c, from);
	n = half_recv(from, buf, PROXY_BUF_BYTES);
	if (n <= 0)
		return n;
	from->is_bulk = n == PROXY_BUF_BYTES;
	r = half_send(c, from, to, buf, (size_t)n, 0);
	return r < 0 ? r : n;
}

int half_rearm(struct conn *c, struct half *h)
{
	uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET | (h->has_out ? EPOLLOUT : 0);

	return h->is_watched ? loop_mod(c->proxy->loop, &h->io, events) : 0;
}

int pump_move(struct conn *c, struct half *from, struct half *to)
{
	ssize_t n;
	int r;

	for (int i = 0;; i++) {
		r = half_flush(c, from, to);
		if (r <= 0)
			return r;
		if (from->is_eof || !from->is_readable)
			break;
		if (i == MOVES_A_TURN) {
			give_pipe_back(c, from);
			return half_rearm(c, from);
		}
		n = move_once(c, from, to);
		if (n < 0 && n != -EAGAIN)
			return (int)n;
		if (n > 0 && count(c, from, (size_t)n) < 0)
			return -EDQUOT;
	}
	give_pipe_back(c, from);
	if (from->is_eof && !to->is_shut) {
		to->is_shut = true;
		/* nothing more to read there either: the close that follows sends the FIN */
		if (!to->is_eof || half_has_pending(to))
			shutdown(to->io.fd, SHUT_WR);
	}
	return 0;
}

static int tunnel_step(struct conn *c, struct half *h, struct half *other, uint32_t events)
{
	int r = half_note(h, events);

	if (r == 0 && events & EPOLLOUT && (half_has_pending(other) || other->is_readable))
		r = pump_move(c, other, h);
	if (r == 0 && (h->is_readable || half_has_pending(h)))
		r = pump_move(c, h, other);
	if (r < 0)
		return r;
	return c->client.is_eof && c->server.is_eof && !half_has_pending(&c->client) &&
			!half_has_pending(&c->server)
		? CONN_CLOSE
		: 0;
}

static void tunnel_on_client(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_client(io);

	conn_end(c, tunnel_step(c, &c->client, &c->server, events));
}

static void tunnel_on_server(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_server(io);

	conn_end(c, tunnel_step(c, &c->server, &c->client, events));
}

int pump_start(struct conn *c, const char *first, size_t len_bytes)
{
	int r = 0;

	if (len_bytes) {
		r = count(c, &c->client, len_bytes);
		if (r < 0)
			return r;
		r = half_send(c, &c->client, &c->server, first, len_bytes, 0);
	}
	loop_timer_del(c->proxy->loop, &c->timer);
	setup_free(c);
	http_free(c);
	if (r == 0)
		r = conn_watch(c, &c->server, tunnel_on_server);
	if (r == 0)
		r = conn_watch(c, &c->client, tunnel_on_client);
	if (r == 0)
		r = tunnel_step(c, &c->client, &c->server, 0);
	if (r == 0 && c->server.is_readable)
		r = tunnel_step(c, &c->server, &c->client, 0);
	/* the client's FIN came while we were dialling */
	if (r == 0 && c->client.is_eof && !c->server.is_shut)
		r = pump_move(c, &c->client, &c->server);
	return r;
}
