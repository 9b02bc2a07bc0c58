/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The yardstick: the leanest relay we know, to one fixed destination, without any policy, name or
 * record. It accepts with the first bytes there, dials then, sends them with the handshake's end,
 * copies short messages with one recv and one send, and splices once a read fills its buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define BUFFER_BYTES 65536
#define PIPE_BYTES (1 << 20)
#define MAX_POOL 256
#define MAX_EVENTS 256

/* One direction of a tunnel starts at each end. */
struct end {
	int fd;
	bool is_ended, is_dead, is_waiting; /* EOF seen; closed; EPOLLOUT is awaited */
	int pipe[2];                        /* -1: none lent */
	size_t in_pipe;                     /* read here, not yet sent at the other end */
	uint8_t *rest;                      /* the same, in memory */
	size_t rest_at, rest_len;
	struct end *other;
};

struct tunnel {
	struct end client, server; /* the client's end is first: free() takes its address */
};

struct relay {
	int epoll, listener;
	int pool[MAX_POOL][2], n_pool;
	struct end *dead[2 * MAX_EVENTS];
	int n_dead;
	uint8_t buffer[BUFFER_BYTES];
};

static struct sockaddr_in listen_addr, to_addr;

static int watch(struct relay *r, struct end *e, int op, uint32_t events)
{
	struct epoll_event ev = {.events = events | EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = e};

	return epoll_ctl(r->epoll, op, e->fd, &ev);
}

static bool pipe_lend(struct relay *r, struct end *e)
{
	if (r->n_pool) {
		r->n_pool--;
		memcpy(e->pipe, r->pool[r->n_pool], sizeof(e->pipe));
		return true;
	}
	if (pipe2(e->pipe, O_NONBLOCK | O_CLOEXEC))
		return false;
	fcntl(e->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

static void pipe_return(struct relay *r, struct end *e)
{
	if (r->n_pool < MAX_POOL && !e->in_pipe) {
		memcpy(r->pool[r->n_pool++], e->pipe, sizeof(e->pipe));
	} else {
		close(e->pipe[0]);
		close(e->pipe[1]);
	}
	e->pipe[0] = e->pipe[1] = -1;
	e->in_pipe = 0;
}

static bool keep_rest(struct relay *r, struct end *e, const uint8_t *bytes, size_t len)
{
	e->rest = malloc(len);
	if (!e->rest)
		return false;
	memcpy(e->rest, bytes, len);
	e->rest_at = 0;
	e->rest_len = len;
	e->other->is_waiting = true;
	(void)r;
	return true;
}

/* Sends what is left over; false when the tunnel is broken. */
static bool flush(struct relay *r, struct end *e)
{
	struct end *to = e->other;

	while (e->rest_len || e->in_pipe) {
		ssize_t sent = e->rest_len
			? send(to->fd, e->rest + e->rest_at, e->rest_len, MSG_NOSIGNAL)
			: splice(e->pipe[0], NULL, to->fd, NULL, e->in_pipe,
				  SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (sent < 0 && errno == EAGAIN) {
			if (!to->is_waiting)
				watch(r, to, EPOLL_CTL_MOD, EPOLLOUT);
			to->is_waiting = true;
			return true;
		}
		if (sent <= 0)
			return false;
		if (!e->rest_len) {
			e->in_pipe -= (size_t)sent;
			continue;
		}
		e->rest_at += (size_t)sent;
		e->rest_len -= (size_t)sent;
		if (!e->rest_len) {
			free(e->rest);
			e->rest = NULL;
		}
	}
	return true;
}

static void end_of_input(struct end *e)
{
	e->is_ended = true;
	if (!e->other->is_ended)
		shutdown(e->other->fd, SHUT_WR);
}

/* Copies until nothing is left (1 go on with splice, 0 stop, -1 broken). */
static int copy_once(struct relay *r, struct end *e, bool is_to_eof)
{
	ssize_t got = recv(e->fd, r->buffer, BUFFER_BYTES, 0), sent;

	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	if (!got) {
		end_of_input(e);
		return 0;
	}
	sent = send(e->other->fd, r->buffer, (size_t)got, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN)
		return -1;
	if (sent < 0)
		sent = 0;
	if (sent < got) {
		if (!keep_rest(r, e, r->buffer + sent, (size_t)(got - sent)))
			return -1;
		watch(r, e->other, EPOLL_CTL_MOD, EPOLLOUT);
		return 0;
	}
	if (got == BUFFER_BYTES)
		return 1;
	/* A short read: the queue is empty, the next edge tells of more. */
	return is_to_eof ? copy_once(r, e, true) : 0;
}

static int splice_once(struct relay *r, struct end *e)
{
	ssize_t got;

	if (e->pipe[0] < 0 && !pipe_lend(r, e))
		return -1;
	got = splice(e->fd, NULL, e->pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (got > 0) {
		e->in_pipe = (size_t)got;
		return 1;
	}
	pipe_return(r, e);
	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	end_of_input(e);
	return 0;
}

static bool pump(struct relay *r, struct end *e, bool is_to_eof)
{
	bool is_bulk = e->pipe[0] >= 0;

	for (;;) {
		int more;

		if (!flush(r, e))
			return false;
		if (e->rest_len || e->in_pipe || e->is_ended)
			return true;
		more = is_bulk ? splice_once(r, e) : copy_once(r, e, is_to_eof);
		if (more <= 0)
			return !more;
		is_bulk = true;
	}
}

static void tunnel_close(struct relay *r, struct end *e)
{
	struct end *both[2] = {e, e->other};

	for (int i = 0; i < 2; i++) {
		both[i]->is_dead = true;
		close(both[i]->fd);
		free(both[i]->rest);
		if (both[i]->pipe[0] >= 0)
			pipe_return(r, both[i]);
	}
	r->dead[r->n_dead++] = e < e->other ? e : e->other;
}

static bool tunnel_dial(struct relay *r, struct tunnel *t)
{
	ssize_t got = recv(t->client.fd, r->buffer, BUFFER_BYTES, 0), sent;

	if (got <= 0)
		return false;
	t->server.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->server.fd < 0)
		return false;
	nodelay(t->client.fd);
	nodelay(t->server.fd);
	if (connect(t->server.fd, (struct sockaddr *)&to_addr, sizeof(to_addr)) &&
		errno != EINPROGRESS)
		return false;
	sent = send(t->server.fd, r->buffer, (size_t)got, MSG_NOSIGNAL);
	if (sent < 0)
		sent = 0;
	if (sent < got && !keep_rest(r, &t->client, r->buffer + sent, (size_t)(got - sent)))
		return false;
	return !watch(r, &t->client, EPOLL_CTL_ADD, 0) &&
		!watch(r, &t->server, EPOLL_CTL_ADD, t->server.is_waiting ? EPOLLOUT : 0);
}

static void tunnel_accept(struct relay *r)
{
	for (int i = 0; i < 16; i++) {
		int fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct tunnel *t = fd < 0 ? NULL : calloc(1, sizeof(*t));

		if (!t)
			return;
		t->client = (struct end){.fd = fd, .pipe = {-1, -1}, .other = &t->server};
		t->server = (struct end){.fd = -1, .pipe = {-1, -1}, .other = &t->client};
		if (tunnel_dial(r, t))
			continue;
		close(t->client.fd);
		if (t->server.fd >= 0)
			close(t->server.fd);
		free(t->client.rest);
		free(t);
	}
}

static bool is_done(const struct end *e)
{
	return e->is_ended && !e->rest_len && !e->in_pipe;
}

static void end_step(struct relay *r, struct end *e, uint32_t events)
{
	bool is_whole = !(events & EPOLLERR);

	if (e->is_dead)
		return;
	if (is_whole && (events & EPOLLOUT)) {
		if (e->is_waiting)
			watch(r, e, EPOLL_CTL_MOD, 0);
		e->is_waiting = false;
		is_whole = pump(r, e->other, true);
	}
	if (is_whole && (events & (EPOLLIN | EPOLLRDHUP)))
		is_whole = pump(r, e, events & EPOLLRDHUP);
	if (!is_whole || (is_done(e) && is_done(e->other)))
		tunnel_close(r, e);
}

static void *relay_thread(void *arg)
{
	struct relay *r = calloc(1, sizeof(*r));
	struct epoll_event evs[MAX_EVENTS], ev = {.events = EPOLLIN, .data.ptr = NULL};
	int one = 1;

	if (!r)
		die("out of memory");
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->listener = tcp_listen(&listen_addr);
	setsockopt(r->listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one));
	epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->listener, &ev);
	for (;;) {
		int count = epoll_wait(r->epoll, evs, MAX_EVENTS, -1);

		for (int i = 0; i < count; i++) {
			if (evs[i].data.ptr)
				end_step(r, evs[i].data.ptr, evs[i].events);
			else
				tunnel_accept(r);
		}
		while (r->n_dead)
			free(r->dead[--r->n_dead]);
	}
	return arg;
}

int relay_main(const struct args *args, const char *mode)
{
	(void)mode;
	listen_addr = args_addr(args, "listen");
	to_addr = args_addr(args, "to");
	run_threads((int)args_number(args, "threads", 2), relay_thread, NULL);
	return 0;
}
