/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server of one page; see exporter.h. Clients are few and slow ones are let go: the oldest gives way
 * to a new one, and each has two seconds for its request and the answer.
 */
#include "exporter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/loop.h"

#define MAX_CLIENTS 16
#define MAX_HEAD_BYTES 8192
#define LIMIT_MS 2000
#define FRESH_MS 1000

struct client {
	struct loop_io io; /* fd -1: free */
	struct loop_timer limit;
	struct exporter *exporter;
	struct buf in, out; /* out: not yet begun when empty */
	size_t sent;
	uint64_t since_ms;
};

struct exporter {
	struct loop *loop;
	struct loop_io listener, signals;
	struct client clients[MAX_CLIENTS];
	void (*fill)(void *arg, struct buf *page);
	void *arg;
	struct buf page;
	uint64_t page_ms; /* when it was filled; 0: never */
};

/* --- clients */

static void drop(struct client *c)
{
	int fd = c->io.fd;

	if (fd < 0)
		return;
	loop_timer_del(c->exporter->loop, &c->limit);
	loop_del(c->exporter->loop, &c->io, false);
	c->io.fd = -1;
	close(fd);
	buf_done(&c->in);
	buf_done(&c->out);
}

static void on_limit(struct loop_timer *timer)
{
	drop(CONTAINER_OF(timer, struct client, limit));
}

static void send_more(struct client *c)
{
	ssize_t n = send(c->io.fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->sent += (size_t)n;
	if (n < 0 || c->sent == c->out.len)
		drop(c);
}

static void answer(struct client *c, const char *status, const char *type, const struct buf *body)
{
	buf_printf(&c->out,
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
		"%s\r\n",
		status, type, body->len, *status == '4' ? "Allow: GET\r\n" : "");
	buf_add(&c->out, body->data, body->len);
	if (c->out.is_failed || loop_mod(c->exporter->loop, &c->io, EPOLLOUT) < 0)
		drop(c);
	else
		send_more(c);
}

static void answer_page(struct client *c)
{
	struct exporter *e = c->exporter;
	uint64_t now = loop_now_ms(e->loop);

	if (!e->page_ms || now - e->page_ms >= FRESH_MS) {
		buf_clear(&e->page);
		e->page.is_failed = false;
		e->fill(e->arg, &e->page);
		e->page_ms = now ? now : 1;
	}
	if (e->page.is_failed)
		drop(c);
	else
		answer(c, "200 OK", "text/plain; version=0.0.4; charset=utf-8", &e->page);
}

static void refuse(struct client *c, const char *status)
{
	struct buf body;

	buf_init(&body);
	buf_printf(&body, "%s: there is GET /metrics\n", status);
	answer(c, status, "text/plain; charset=utf-8", &body);
	buf_done(&body);
}

/* The request line alone matters; a query is what some scrapers add. */
static void decide(struct client *c)
{
	static const char get[] = "GET ", page[] = "/metrics", version[] = " HTTP/1.";
	const char *line = c->in.data, *end = strstr(line, "\r\n"), *path = line + sizeof(get) - 1;
	size_t len;

	if (strncmp(line, get, sizeof(get) - 1) != 0) {
		refuse(c, "405 Method Not Allowed");
		return;
	}
	len = strcspn(path, " \r\n");
	if (path + len > end || strncmp(path + len, version, sizeof(version) - 1) != 0)
		refuse(c, "400 Bad Request");
	else if (strncmp(path, page, sizeof(page) - 1) == 0 && strchr(" ?", path[sizeof(page) - 1]))
		answer_page(c);
	else
		refuse(c, "404 Not Found");
}

static void read_head(struct client *c)
{
	char bytes[2048];
	ssize_t n = recv(c->io.fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_add(&c->in, bytes, (size_t)n);
	if (n <= 0 || c->in.is_failed || memchr(c->in.data, 0, c->in.len))
		drop(c);
	else if (strstr(c->in.data, "\r\n\r\n"))
		decide(c);
	else if (c->in.len > MAX_HEAD_BYTES)
		refuse(c, "431 Request Header Fields Too Large");
}

static void on_client(struct loop_io *io, uint32_t events)
{
	struct client *c = CONTAINER_OF(io, struct client, io);

	(void)events;
	if (c->out.len)
		send_more(c);
	else
		read_head(c);
}

/* --- itself */

static struct client *free_client(struct exporter *e)
{
	struct client *oldest = &e->clients[0];

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (e->clients[i].io.fd < 0)
			return &e->clients[i];
		if (e->clients[i].since_ms < oldest->since_ms)
			oldest = &e->clients[i];
	}
	drop(oldest);
	return oldest;
}

static void on_listener(struct loop_io *io, uint32_t events)
{
	struct exporter *e = CONTAINER_OF(io, struct exporter, listener);
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	(void)events;
	if (fd < 0)
		return;
	c = free_client(e);
	*c = (struct client){.io = {on_client, -1},
		.limit.on_timeout = on_limit,
		.exporter = e,
		.since_ms = loop_now_ms(e->loop)};
	if (loop_add(e->loop, &c->io, fd, EPOLLIN) < 0) {
		close(fd);
		c->io.fd = -1;
		return;
	}
	loop_timer_set(e->loop, &c->limit, LIMIT_MS);
}

static void on_signal(struct loop_io *io, uint32_t events)
{
	(void)events;
	loop_stop(CONTAINER_OF(io, struct exporter, signals)->loop, 0);
}

static int listen_at(const struct endpoint *at)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(at, &sa);
	_cleanup_close_ int fd =
		socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
		bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, 64) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int catch_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int exporter_run(const struct endpoint *at, void (*fill)(void *arg, struct buf *page), void *arg)
{
	static struct exporter e;
	_cleanup_close_ int listener = listen_at(at), signals = catch_signals();
	int r = listener < 0 ? listener : signals < 0 ? signals : loop_new(&e.loop);

	if (r < 0)
		return r;
	e.fill = fill;
	e.arg = arg;
	buf_init(&e.page);
	e.listener.on_ready = on_listener;
	e.signals.on_ready = on_signal;
	for (size_t i = 0; i < MAX_CLIENTS; i++)
		e.clients[i] = (struct client){.io = {on_client, -1}, .exporter = &e};
	r = loop_add(e.loop, &e.listener, listener, EPOLLIN);
	if (r >= 0)
		r = loop_add(e.loop, &e.signals, signals, EPOLLIN);
	if (r >= 0)
		r = loop_run(e.loop);
	for (size_t i = 0; i < MAX_CLIENTS; i++)
		drop(&e.clients[i]);
	buf_done(&e.page);
	loop_free(e.loop);
	return r;
}
