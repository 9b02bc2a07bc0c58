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

#include "half.h"
#include "http.h"
#include "record.h"

#define MOVES_A_TURN 64 /* reads of one direction before the others have their turn */

static int count(struct conn *c, const struct half *from, size_t n)
{
	return from == &c->client ? record_bytes(c, n, 0) : record_bytes(c, 0, n);
}

/* How much to read: one byte at least, since only reading shows whether there is one too many. */
static size_t room(const struct conn *c, const struct half *from, size_t max_bytes)
{
	size_t n = record_room(c, from == &c->client, max_bytes);

	return n ? n : 1;
}

/* Fills the lent pipe. As half_recv. */
static ssize_t splice_in(struct conn *c, struct half *from)
{
	ssize_t n = splice(from->io.fd, NULL, c->proxy->pool.pipes[from->pipe].write_fd, NULL,
		room(c, from, POOL_PIPE_BYTES), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

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
	/* it is in no socket yet */
	if (count(c, from, (size_t)n) < 0)
		return record_cut(c);
	return n;
}

/* One read, and one write unless it went into the pipe. */
static ssize_t move_once(struct conn *c, struct half *from, struct half *to)
{
	char *buf = c->proxy->buf;
	ssize_t n;
	int r;

	if (from->is_bulk && from->pipe < 0 && !from->tls && !to->tls && !from->stream &&
		!to->stream)
		from->pipe = pool_lend(&c->proxy->pool);
	if (from->pipe >= 0)
		return splice_in(c, from);
	n = half_recv(from, buf, room(c, from, PROXY_BUF_BYTES));
	if (n <= 0)
		return n;
	from->is_bulk = n == PROXY_BUF_BYTES;
	if (count(c, from, (size_t)n) < 0)
		return record_cut(c);
	r = half_send(c, from, to, buf, (size_t)n, 0);
	return r < 0 ? r : n;
}

/* The end of all connections is on its way to this thread, behind what is ready now: not a byte more. */
static bool is_halted(const struct conn *c)
{
	return c->proxy->o.may_pass(c->proxy->o.arg) == NEJ_REASON_HALTED;
}

int pump_move(struct conn *c, struct half *from, struct half *to)
{
	ssize_t n;
	int r;

	if (is_halted(c))
		return half_rearm(c, from);
	for (int i = 0;; i++) {
		r = half_flush(c, from, to);
		if (r <= 0)
			return r;
		if (from->is_eof || !from->is_readable)
			break;
		if (i == MOVES_A_TURN) {
			half_return_pipe(c->proxy, from);
			return half_rearm(c, from);
		}
		n = move_once(c, from, to);
		if (n < 0 && n != -EAGAIN)
			return (int)n;
	}
	half_return_pipe(c->proxy, from);
	if (from->is_eof && !to->is_shut) {
		/* nothing more to read there either: the close that follows sends the FIN */
		if (to->tls || to->stream || !to->is_eof || half_has_pending(to))
			half_shut(to, half_is_cut(from));
		to->is_shut = true;
	}
	return 0;
}

static int tunnel_step(struct conn *c, struct half *h, struct half *other, uint32_t events)
{
	int r = half_note(h, events);

	if (r == 0 && events & EPOLLOUT && (half_is_blocked(other, h) || other->is_readable))
		r = pump_move(c, other, h);
	if (r == 0 && (h->is_readable || half_is_blocked(h, other)))
		r = pump_move(c, h, other);
	if (r < 0)
		return r;
	return c->client.is_eof && c->server.is_eof && !half_is_blocked(&c->client, &c->server) &&
			!half_is_blocked(&c->server, &c->client)
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
		if (count(c, &c->client, len_bytes) < 0)
			return record_cut(c);
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
