/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two HTTP/2 connections, of the server's and the client's role, joined by a socket pair; or the
 * server's alone with a peer that writes frames by hand. No proxy around them.
 */
#ifndef NEJ_TEST_H2_H
#define NEJ_TEST_H2_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/proxy/half.h"
#include "../../../user/proxy/mux.h"
#include "../../../user/proxy/stream.h"

struct h2_frame {
	uint8_t type, flags;
	int32_t id;
	size_t len;
	uint8_t payload[70000];
};

#define MAX_OPEN 256

struct pair {
	struct proxy proxy;
	struct conn conns[2]; /* carriers: server's, client's */
	struct mux *server, *client;
	int fds[2]; /* of the socket pair; the second is the peer's */
	struct stream *accepted;
	struct stream *open[MAX_OPEN];
	struct loop_io ios[MAX_OPEN];
	size_t n_open;
	uint32_t up_events, down_events;
	int n_requests, n_misuses;
	char said[1 << 20]; /* to the raw peer */
	size_t said_len;
};

static inline void on_request(struct mux *m, struct stream *s)
{
	struct pair *p = m->owner;

	p->n_requests++;
	p->accepted = s;
}

static inline void on_misuse(struct mux *m, const char *detail)
{
	struct pair *p = m->owner;

	assert_non_null(detail);
	p->n_misuses++;
}

static inline void on_end(struct mux *m, int how)
{
	struct pair *p = m->owner;
	struct conn *c = m->carrier;

	assert_true(how < 0);
	if (m == p->server)
		p->server = NULL;
	else
		p->client = NULL;
	mux_free(m);
	loop_timer_del(p->proxy.loop, &c->timer);
	half_end(&p->proxy, c == &p->conns[0] ? &c->client : &c->server, false);
	half_drop_stash(&p->proxy, c == &p->conns[0] ? &c->server : &c->client);
}

static const struct mux_ops pair_ops = {on_request, on_misuse, on_end, NULL};

static inline struct mux *begin_mux(struct pair *p, bool is_server, int fd)
{
	struct conn *c = &p->conns[is_server ? 0 : 1];
	struct mux *m;

	c->proxy = &p->proxy;
	half_init(&c->client, is_server ? fd : -1);
	half_init(&c->server, is_server ? -1 : fd);
	assert_int_equal(mux_new(c, is_server, &pair_ops, &m), 0);
	m->owner = p;
	assert_int_equal(mux_start(m, NULL, 0), 0);
	return m;
}

static inline struct pair *pair_new(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p->fds), 0);
	assert_int_equal(loop_new(&p->proxy.loop), 0);
	p->proxy.buf = malloc(PROXY_BUF_BYTES);
	p->server = begin_mux(p, true, p->fds[0]);
	p->client = begin_mux(p, false, p->fds[1]);
	return p;
}

static inline void look(struct half *h)
{
	struct pollfd pfd = {.fd = h->io.fd, .events = POLLIN | POLLOUT};

	if (poll(&pfd, 1, 0) > 0)
		h->io.on_ready(&h->io, (uint32_t)pfd.revents);
}

static inline void raw_listen(struct pair *p)
{
	ssize_t n;

	while ((n = recv(p->fds[1], p->said + p->said_len, sizeof(p->said) - p->said_len, 0)) > 0)
		p->said_len += (size_t)n;
}

/* Until nothing moves any more. */
static inline void pair_run(struct pair *p)
{
	for (int i = 0; i < 20; i++) {
		mux_kit_run(p->proxy.mux_kit);
		if (p->server)
			look(&p->conns[0].client);
		mux_kit_run(p->proxy.mux_kit);
		if (p->client)
			look(&p->conns[1].server);
	}
	if (p->fds[1] >= 0 && !p->client && !p->conns[1].proxy)
		raw_listen(p);
}

static inline void forget(struct pair *p, struct stream *s)
{
	for (size_t i = 0; i < p->n_open; i++)
		if (p->open[i] == s)
			p->open[i] = NULL;
}

/* Streams of tests are closed once: by the test, or when the pair goes. */
static inline void pair_close(struct pair *p, struct stream *s, bool is_reset)
{
	forget(p, s);
	(stream_close)(s, is_reset);
}

static struct pair *pair_now;
#define stream_close(s, is_reset) pair_close(pair_now, s, is_reset)

static inline void on_up(struct loop_io *io, uint32_t events)
{
	(void)io;
	pair_now->up_events |= events;
}

static inline void on_down(struct loop_io *io, uint32_t events)
{
	(void)io;
	pair_now->down_events |= events;
}

static inline struct stream *adopt(
	struct pair *p, struct stream *s, void (*on_ready)(struct loop_io *, uint32_t))
{
	struct loop_io *io = &p->ios[p->n_open];

	assert_true(p->n_open < MAX_OPEN);
	p->open[p->n_open++] = s;
	io->on_ready = on_ready;
	stream_adopt(s, io);
	return s;
}

static inline struct stream *pair_open(struct pair *p)
{
	struct stream *s;

	assert_int_equal(stream_open(p->client, &s), 0);
	return adopt(p, s, on_up);
}

static inline void put(struct stream *s, const char *text)
{
	assert_int_equal(stream_send(s, text, strlen(text)), strlen(text));
}

static inline struct stream *pair_request(struct pair *p, const char *text)
{
	struct stream *s = pair_open(p);

	put(s, text);
	pair_run(p);
	return s;
}

static inline struct stream *pair_accept(struct pair *p)
{
	struct stream *s = p->accepted;

	assert_non_null(s);
	assert_null(s->fault);
	p->accepted = NULL;
	return adopt(p, s, on_down);
}

/* What can be read now. */
static inline const char *stream_text(struct stream *s)
{
	static char text[100000];
	size_t at = 0;
	ssize_t n;

	while ((n = stream_recv(s, text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = 0;
	return text;
}

static inline bool is_at_end(struct stream *s)
{
	char byte;

	return stream_recv(s, &byte, 1) == 0;
}

/* --- a peer of raw bytes */

static inline void pair_drop_client(struct pair *p)
{
	struct conn *c = &p->conns[1];

	/* its descriptor is ours now */
	mux_free(p->client);
	p->client = NULL;
	loop_timer_del(p->proxy.loop, &c->timer);
	loop_del(p->proxy.loop, &c->server.io, true);
	c->proxy = NULL;
}

static inline void raw_put(struct pair *p, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(p->fds[1], at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			pair_run(p);
			if (p->server)
				continue;
		}
		if (n < 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

static inline void raw_frame(
	struct pair *p, uint8_t type, uint8_t flags, int32_t id, const void *payload, size_t len)
{
	const uint8_t head[9] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type,
		flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};

	raw_put(p, head, sizeof(head));
	raw_put(p, payload, len);
}

static inline void raw_begin(struct pair *p)
{
	pair_now = p;
	pair_drop_client(p);
	raw_put(p, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	raw_frame(p, 4, 0, 0, "", 0);
	pair_run(p);
}

/* HEADERS of `name=value|name=value`, each a literal that is not indexed. */
static inline void raw_head(struct pair *p, int32_t id, bool is_end, const char *fields)
{
	uint8_t block[4096];
	size_t n = 0;

	while (*fields) {
		const char *equal = strchr(fields + 1, '='), *end = strchr(fields, '|');

		end = end ? end : fields + strlen(fields);
		block[n++] = 0;
		block[n++] = (uint8_t)(equal - fields);
		memcpy(block + n, fields, (size_t)(equal - fields));
		n += (size_t)(equal - fields);
		block[n++] = (uint8_t)(end - equal - 1);
		memcpy(block + n, equal + 1, (size_t)(end - equal - 1));
		n += (size_t)(end - equal - 1);
		fields = *end ? end + 1 : end;
	}
	raw_frame(p, 1, 4 | (is_end ? 1 : 0), id, block, n);
}

/* The first frame of this type on this stream that we sent, if any. */
static inline bool raw_find(struct pair *p, uint8_t type, int32_t id, struct h2_frame *ret)
{
	const uint8_t *at = (uint8_t *)p->said, *end = at + p->said_len;

	while (end - at >= 9) {
		size_t len = (size_t)(at[0] << 16 | at[1] << 8 | at[2]);
		int32_t of = at[5] << 24 | at[6] << 16 | at[7] << 8 | at[8];

		if ((size_t)(end - at) < 9 + len)
			return false;
		if (at[3] == type && of == id) {
			*ret = (struct h2_frame){
				.type = type, .flags = at[4], .id = of, .len = len};
			memcpy(ret->payload, at + 9, len < sizeof(ret->payload) ? len : 0);
			return true;
		}
		at += 9 + len;
	}
	return false;
}

static inline void pair_free(struct pair *p)
{
	for (size_t i = 0; i < p->n_open; i++)
		if (p->open[i])
			(stream_close)(p->open[i], true);
	if (p->server)
		on_end(p->server, CONN_CLOSE);
	if (p->client)
		on_end(p->client, CONN_CLOSE);
	if (!p->conns[1].proxy)
		close(p->fds[1]);
	mux_kit_free(p->proxy.mux_kit);
	assert_int_equal(p->proxy.held_bytes, 0);
	buf_done(&p->proxy.out);
	free(p->proxy.buf);
	loop_free(p->proxy.loop);
	free(p);
}

static inline int setup(void **state)
{
	*state = pair_now = pair_new();
	return 0;
}

static inline int teardown(void **state)
{
	pair_free(*state);
	return 0;
}

#endif
