/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One side of a connection: a socket, plain or under TLS, or a stream of HTTP/2. Reading, sending with what does not fit
 * kept back, ending. Sockets are watched edge-triggered, once; EPOLLOUT joins at the first send that
 * did not fit. A short read means the queue is empty, so no second one is made unless the peer's FIN
 * is known to be behind it. Read pump.c next.
 */
#include "half.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../tls/session.h"
#include "record.h"
#include "stream.h"

void half_init(struct half *h, int fd)
{
	*h = (struct half){.io.fd = fd, .pipe = -1};
}

void half_init_stream(struct half *h, struct stream *s)
{
	half_init(h, HALF_STREAM_FD);
	h->stream = s;
	h->is_readable = true;
	stream_adopt(s, &h->io);
}

/* --- reading */

static ssize_t recv_stream(struct half *h, void *buf, size_t size_bytes)
{
	ssize_t n = stream_recv(h->stream, buf, size_bytes);

	if (n == 0)
		h->is_eof = true;
	if (n <= 0)
		h->is_readable = false;
	return n;
}

static ssize_t recv_tls(struct half *h, void *buf, size_t size_bytes)
{
	ssize_t n = session_recv(h->tls, h->io.fd, buf, size_bytes);

	if (n == -EAGAIN) {
		h->is_readable = false;
	} else if (!n) {
		h->is_eof = true;
		h->is_readable = false;
	} else if (n > 0 && session_is_drained(h->tls) && !h->is_hup) {
		h->is_readable = false;
	}
	return n;
}

ssize_t half_recv(struct half *h, void *buf, size_t size_bytes)
{
	ssize_t n;

	if (h->tls)
		return recv_tls(h, buf, size_bytes);
	if (h->stream)
		return recv_stream(h, buf, size_bytes);
	n = recv(h->io.fd, buf, size_bytes, 0);
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

bool half_is_cut(const struct half *h)
{
	return h->tls && session_is_cut(h->tls);
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

/* --- sending */

static int want_out(struct conn *c, struct half *h)
{
	/* a stream tells by itself */
	if (h->has_out || h->stream)
		return 0;
	h->has_out = true;
	if (!h->is_watched)
		return 0;
	return loop_mod(c->proxy->loop, &h->io, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

void half_drop_stash(struct proxy *p, struct half *from)
{
	if (!from->stash)
		return;
	p->held_bytes -= from->stash->len;
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
	half_drop_stash(c->proxy, from);
	c->proxy->held_bytes += s->len;
	from->stash = s;
	return 0;
}

/* As send(2), with the error in the result. */
static ssize_t write_some(struct half *to, const void *data, size_t len_bytes, int flags)
{
	ssize_t n;

	if (to->tls)
		return session_send(to->tls, to->io.fd, data, len_bytes, flags & MSG_MORE);
	if (to->stream)
		return stream_send(to->stream, data, len_bytes);
	n = send(to->io.fd, data, len_bytes, MSG_NOSIGNAL | flags);
	return n < 0 ? -errno : n;
}

int half_send(struct conn *c, struct half *from, struct half *to, const void *data,
	size_t len_bytes, int flags)
{
	ssize_t n = 0;
	int r;

	if (!from->stash) {
		n = write_some(to, data, len_bytes, flags);
		if (n < 0 && n != -EAGAIN)
			return (int)n;
		if (n < 0)
			n = 0;
		if ((size_t)n == len_bytes)
			return to->tls && session_is_clogged(to->tls) ? want_out(c, to) : 0;
	}
	r = stash_add(c, from, (const char *)data + n, len_bytes - (size_t)n);
	return r < 0 ? r : want_out(c, to);
}

void half_return_pipe(struct proxy *p, struct half *h)
{
	if (h->pipe < 0)
		return;
	pool_return(&p->pool, h->pipe, !h->in_pipe);
	h->pipe = -1;
}

static int flush_stash(struct conn *c, struct half *from, struct half *to)
{
	struct stash *s = from->stash;
	ssize_t n = write_some(to, s->data + s->off, s->len - s->off, 0);

	if (n < 0)
		return n == -EAGAIN ? want_out(c, to) : (int)n;
	s->off += (uint32_t)n;
	if (s->off < s->len)
		return want_out(c, to);
	half_drop_stash(c->proxy, from);
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

bool half_is_blocked(const struct half *from, const struct half *to)
{
	return half_has_pending(from) || (to->tls && session_is_clogged(to->tls));
}

int half_flush(struct conn *c, struct half *from, struct half *to)
{
	int r = to->tls ? session_flush(to->tls, to->io.fd) : 1;

	if (r <= 0)
		return r < 0 ? r : want_out(c, to);
	if (from->stash)
		return flush_stash(c, from, to);
	if (from->in_pipe)
		return flush_pipe(c, from, to);
	return 1;
}

int half_rearm(struct conn *c, struct half *h)
{
	uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET | (h->has_out ? EPOLLOUT : 0);

	if (h->stream) {
		stream_tell_again(h->stream);
		return 0;
	}
	return h->is_watched ? loop_mod(c->proxy->loop, &h->io, events) : 0;
}

/* --- the end */

void half_shut(struct half *h, bool is_cut)
{
	h->is_shut = true;
	if (h->stream) {
		if (!is_cut)
			stream_shut(h->stream);
		return;
	}
	if (h->tls && !is_cut)
		session_shutdown(h->tls, h->io.fd);
	shutdown(h->io.fd, SHUT_WR);
}

void half_end(struct proxy *p, struct half *h, bool is_reset)
{
	static const struct linger rst = {.l_onoff = 1};
	int fd = h->io.fd;

	half_drop_stash(p, h);
	half_return_pipe(p, h);
	h->in_pipe = 0;
	if (h->tls && !is_reset && fd >= 0 && !h->is_shut)
		session_shutdown(h->tls, fd);
	session_free(h->tls);
	h->tls = NULL;
	if (h->stream) {
		stream_close(h->stream, is_reset);
		h->stream = NULL;
		h->io.fd = -1;
		h->is_watched = false;
		return;
	}
	if (fd < 0)
		return;
	if (h->is_watched)
		loop_del(p->loop, &h->io, false);
	h->io.fd = -1;
	h->is_watched = false;
	if (is_reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(fd);
}
