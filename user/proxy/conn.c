/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection's life: accept, set-up, end. See conn.h for its parts. */
/*
 * Theory of operation.
 *
 *   accept ── origin found? ── no ──> reset
 *     │
 *     ├─ explicit:     setup, step = explicit_step: the request to the proxy itself
 *     └─ transparent:  setup, step = sniff_step: TLS, HTTP or other bytes
 *
 *   setup     client bytes are read and looked at (the view), nothing goes up. step decides:
 *             refuse ──> drain ──> closed
 *             dial   ──> setup stays, the client is only watched for its reset
 *   reached   the server is connected:
 *             bytes understood ──> tunnel, or HTTP
 *             CONNECT, SOCKS5  ──> answer, then step = sniff_step for the bytes inside
 *             server may speak first ──> its bytes go down while the client's are still sniffed
 *   tunnel    pump.c: this struct only, both halves edge-triggered, no timer
 *   http      http.c: request by request, each decided; a websocket becomes a tunnel
 *   drain     the refusal was sent and our FIN; what the client still sends is thrown away until
 *             its FIN, a bound or a second is reached, lest a RST destroys the refusal
 *
 * A handler that epoll or a timer calls is the only one that frees: everything below it returns
 * 0 (go on) or a negative number, and conn_end closes.
 */
#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../kernel/origin.h"
#include "dial.h"
#include "explicit.h"
#include "http.h"
#include "pump.h"
#include "quota.h"
#include "refuse.h"
#include "sniff.h"

#define DRAIN_MS 1000
#define DRAIN_BYTES (1 << 20)

/* --- watching */

int conn_watch(
	struct conn *c, struct half *half, void (*on_ready)(struct loop_io *io, uint32_t events))
{
	uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET;
	int r;

	half->io.on_ready = on_ready;
	half->is_watched |= half->stream != NULL; /* it tells without being asked */
	if (half->is_watched)
		return 0;
	if (half->has_out)
		events |= EPOLLOUT;
	r = loop_add(c->proxy->loop, &half->io, half->io.fd, events);
	half->is_watched = r == 0;
	return r;
}

void conn_set_timer(struct conn *c, uint64_t ms, void (*on_timeout)(struct loop_timer *timer))
{
	c->timer.on_timeout = on_timeout;
	/* without memory for the timer there is none: the limit is lost, not the connection */
	(void)loop_timer_set(c->proxy->loop, &c->timer, ms);
}

/* --- the end */

void conn_close(struct conn *c, int how)
{
	struct proxy *p = c->proxy;
	bool is_reset = how != CONN_CLOSE;

	record_end(c);
	dial_cancel(c);
	loop_timer_del(p->loop, &c->timer);
	setup_free(c);
	http_free(c);
	half_end(c->proxy, &c->client, is_reset);
	half_end(c->proxy, &c->server, is_reset);
	if (c->is_held)
		synth_release(p->o.synth, &c->dest);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	p->n_conns--;
	if (!c->is_uncounted)
		quota_give_connection(p->o.quota);
	free(c);
}

void conn_end(struct conn *c, int r)
{
	if (r < 0)
		conn_close(c, r);
}

/* --- after a refusal */

static void drain_on_timeout(struct loop_timer *timer)
{
	conn_close(CONTAINER_OF(timer, struct conn, timer), CONN_CLOSE);
}

static int drain(struct conn *c)
{
	ssize_t n;
	int r = half_flush(c, &c->server, &c->client);

	if (r < 0)
		return r;
	if (r == 1 && !c->client.is_shut) {
		half_shut(&c->client, false);
		conn_set_timer(c, DRAIN_MS, drain_on_timeout);
	}
	while (c->client.is_readable && c->drained <= DRAIN_BYTES) {
		n = half_recv(&c->client, c->proxy->buf, PROXY_BUF_BYTES);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return CONN_CLOSE;
		c->drained += (uint32_t)n;
	}
	/* Enough: who goes on sending stands before a shut window until the time is over. A close
	 * now would be a reset, and take the answer from who is about to read it. */
	if (c->client.is_readable)
		return 0;
	return c->client.is_eof && r == 1 ? CONN_CLOSE : 0;
}

static void drain_on_client(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_client(io);
	int r = half_note(&c->client, events);

	conn_end(c, r < 0 ? CONN_CLOSE : drain(c));
}

void conn_drop_server(struct conn *c)
{
	struct stash *rest = c->server.stash;

	half_drop_stash(c->proxy, &c->client);
	c->server.stash = NULL;
	half_end(c->proxy, &c->server, false);
	c->server = (struct half){.io.fd = -1, .pipe = -1, .stash = rest};
}

int conn_finish(struct conn *c, bool is_settled)
{
	int r;

	record_end(c);
	dial_cancel(c);
	setup_free(c);
	http_free(c);
	conn_drop_server(c);
	/* A stream that is reset says that the rest is not wanted, but clients that are sending (curl
	 * 7.88) take the reset for the answer: they too have a moment to read it. */
	if (!c->server.stash && (is_settled || c->client.is_eof))
		return CONN_CLOSE;
	/* a slow reader has its time for what was not sent yet; the short limit begins behind it */
	conn_set_timer(c, HTTP_IDLE_LIMIT_MS, drain_on_timeout);
	r = conn_watch(c, &c->client, drain_on_client);
	return r < 0 ? r : drain(c);
}

/* --- set-up */

struct setup *setup_new(struct conn *c)
{
	struct setup *s = calloc(1, sizeof(*s));

	if (s) {
		buf_init(&s->head);
		s->rule = POLICY_NO_RULE;
	}
	c->setup = s;
	return s;
}

void setup_free(struct conn *c)
{
	if (!c->setup)
		return;
	c->proxy->held_bytes -= c->setup->held;
	buf_done(&c->setup->head);
	free(c->setup);
	c->setup = NULL;
}

void setup_take(struct setup *s, size_t n)
{
	s->view += n;
	s->view_len -= n;
}

/* The view moves into memory of its own, at the front. */
static int keep_view(struct setup *s)
{
	if (s->head.data && s->view >= s->head.data && s->view <= s->head.data + s->head.len) {
		buf_drop_front(&s->head, (size_t)(s->view - s->head.data));
	} else {
		buf_clear(&s->head);
		if (s->view_len)
			buf_add(&s->head, s->view, s->view_len);
	}
	s->view = s->head.data;
	s->view_len = s->head.len;
	return s->head.is_failed ? -ENOMEM : 0;
}

static void setup_on_timeout(struct loop_timer *timer)
{
	struct conn *c = CONTAINER_OF(timer, struct conn, timer);

	conn_end(c, sniff_gave_up(c, true));
}

static void setup_on_client(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_client(io);
	int r = half_note(&c->client, events);

	/* a server that may speak first has more than the client took */
	if (r == 0 && events & EPOLLOUT && c->server.io.fd >= 0)
		r = pump_move(c, &c->server, &c->client);
	if (r == 0 && c->setup->is_dialling)
		r = events & (EPOLLERR | EPOLLHUP) ? CONN_RESET : 0;
	else if (r == 0)
		r = setup_read(c);
	conn_end(c, r);
}

int setup_wait(struct conn *c)
{
	struct setup *s = c->setup;
	int r = keep_view(s);

	c->proxy->held_bytes += s->head.cap - s->held;
	s->held = s->head.cap;
	if (c->proxy->held_bytes > NEJ_MAX_HELD_BYTES) {
		record_limit(c, "too much waits in unfinished first messages");
		return CONN_RESET;
	}
	if (r == 0)
		r = conn_watch(c, &c->client, setup_on_client);
	if (r < 0)
		return r;
	if (s->is_dialling || s->is_raw_ok)
		loop_timer_del(c->proxy->loop, &c->timer);
	else if (!c->timer.heap_slot)
		conn_set_timer(c, sniff_limit_ms(s), setup_on_timeout);
	return 0;
}

/* One read behind the view. As half_recv. */
static ssize_t read_more(struct conn *c)
{
	struct setup *s = c->setup;
	ssize_t n;

	if (!s->view_len) {
		n = half_recv(&c->client, c->proxy->buf, PROXY_BUF_BYTES);
		if (n > 0) {
			s->view = c->proxy->buf;
			s->view_len = (size_t)n;
		}
		return n;
	}
	if (keep_view(s) < 0)
		return -ENOMEM;
	n = half_recv(&c->client, c->proxy->buf, PROXY_BUF_BYTES);
	if (n > 0) {
		buf_add(&s->head, c->proxy->buf, (size_t)n);
		s->view = s->head.data;
		s->view_len = s->head.len;
	}
	return n;
}

int setup_read(struct conn *c)
{
	while (c->setup && !c->setup->is_dialling && !c->setup->is_shaking) {
		ssize_t n;
		int r;

		if (!c->client.is_readable)
			return setup_wait(c);
		n = read_more(c);
		if (n == -EAGAIN)
			continue;
		if (n < 0)
			return (int)n;
		if (n == 0)
			return sniff_gave_up(c, false);
		r = c->setup->step(c);
		if (r < 0)
			return r;
	}
	return 0;
}

int setup_resume(struct conn *c)
{
	int r = c->setup->step(c);

	return r == 0 && c->setup ? setup_read(c) : r;
}

/* --- the beginning */

static bool is_to_proxy(const struct proxy *p, const struct addr *dest, uint16_t port)
{
	static const struct addr any4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}, any6;

	if (port == p->o.explicit4.port && addr_equal(dest, &p->o.explicit4.addr))
		return true;
	if (port == p->o.explicit6.port && addr_equal(dest, &p->o.explicit6.addr))
		return true;
	/* connect(2) to the unspecified address reaches loopback */
	return (port == p->o.explicit4.port && addr_equal(dest, &any4)) ||
		(port == p->o.explicit6.port && addr_equal(dest, &any6));
}

static void set_destination(struct conn *c)
{
	struct proxy *p = c->proxy;
	struct setup *s = c->setup;

	s->port = c->dest_port;
	s->step = sniff_step;
	if (synth_covers(p->o.synth, &c->dest) && synth_hold(p->o.synth, &c->dest, &s->host) == 0) {
		c->is_held = s->is_fixed = true;
		return;
	}
	host_from_addr(&c->dest, &s->host);
	s->is_host_port = addr_classify(&c->dest, NULL) == NEJ_RANGE_LOOPBACK;
}

/* What the client asked for, from the kernel's record of its connect(). */
static int find_origin(struct conn *c, const struct endpoint *peer)
{
	struct nej_origin origin;
	int r = origin_find(c->proxy->o.flows_fd, peer, &origin);

	if (r < 0)
		return r;
	memcpy(c->dest.b, origin.dest.addr, sizeof(c->dest.b));
	c->dest_port = ntohs(origin.dest.port_be);
	c->process = origin.process;
	return 0;
}

static int begin(struct conn *c, const struct endpoint *peer, bool is_eager)
{
	struct setup *s = setup_new(c);
	int r;

	if (!s)
		return -ENOMEM;
	record_start(c);
	r = find_origin(c, peer);
	if (r < 0) {
		const struct refusal why = {.reason = NEJ_REASON_INTERNAL,
			.rule = POLICY_NO_RULE,
			.error = r,
			.detail = "the kernel has no record of this connection"};
		const struct ask ask = {.layer = AUDIT_LAYER_PROXY};

		return refuse_connection(c, &ask, &why);
	}
	if (is_to_proxy(c->proxy, &c->dest, c->dest_port)) {
		c->is_explicit = true;
		s->kind = SETUP_EXPLICIT;
		s->step = explicit_step;
	} else {
		c->has_dest = true;
		set_destination(c);
	}
	/* with a deferred listener the first bytes are there */
	c->client.is_readable = true;
	s->is_eager = is_eager;
	if (is_eager || s->is_host_port) {
		r = sniff_early(c);
		if (r < 0)
			return r;
	}
	return setup_read(c);
}

/* The first bytes are there (the listener is deferred): a client of the explicit proxy gets a response it
 * can read. False: it gets a RST. */
static bool tell_limit(struct proxy *p, int fd, const struct ask *ask, const struct refusal *why)
{
	const struct refuse_shape shape = {.is_close = true};
	ssize_t n = recv(fd, p->buf, PROXY_BUF_BYTES, MSG_DONTWAIT);

	if (n <= 0 || p->buf[0] < 'A' || p->buf[0] > 'Z')
		return false;
	buf_clear(&p->out);
	refuse_print(*p->o.policy, ask, why, &shape, &p->out);
	return !p->out.is_failed &&
		send(fd, p->out.data, p->out.len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

struct refusal conn_refusal(int error)
{
	struct refusal why = {.reason = NEJ_REASON_LIMIT, .rule = POLICY_NO_RULE};

	switch (error) {
	case -EDQUOT:
		why.limit = QUOTA_CONNECTIONS;
		why.detail =
			"connections in limits of the sandbox is reached: others must end first";
		break;
	case -ENOMEM:
		why.detail = "nej is out of memory";
		break;
	case -EMFILE:
		why.detail = "nej is out of descriptors";
		break;
	default:
		why.detail = "too many connections are open";
		break;
	}
	return why;
}

void conn_refuse(struct proxy *p, int fd, const struct endpoint *peer, int error)
{
	const struct refusal why = conn_refusal(error);
	static const struct linger rst = {.l_onoff = 1};
	struct conn c = {.proxy = p};
	struct ask ask = {.layer = AUDIT_LAYER_PROXY};
	bool is_told = false;

	record_start(&c);
	if (find_origin(&c, peer) == 0 && is_to_proxy(p, &c.dest, c.dest_port)) {
		is_told = tell_limit(p, fd, &ask, &why);
	} else {
		c.has_dest = true;
		ask.port = c.dest_port;
	}
	record_refused(&c, &ask, &why, is_told ? refuse_status(&why) : 0);
	if (!is_told)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(fd);
}

struct conn *conn_new(struct proxy *p, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->proxy = p;
	c->via = CONN_STRAIGHT;
	half_init(&c->client, fd);
	half_init(&c->server, -1);
	c->next = p->conns;
	c->prev = &p->conns;
	if (c->next)
		c->next->prev = &c->next;
	p->conns = c;
	p->n_conns++;
	return c;
}

void conn_accept(struct proxy *p, int fd, const struct endpoint *peer, bool is_eager)
{
	int r = quota_take_connection(p->o.quota, *p->o.policy);
	struct conn *c;

	if (r < 0) {
		conn_refuse(p, fd, peer, r);
		return;
	}
	c = conn_new(p, fd);
	if (!c) {
		quota_give_connection(p->o.quota);
		conn_refuse(p, fd, peer, -ENOMEM);
		return;
	}
	conn_end(c, begin(c, peer, is_eager));
}
