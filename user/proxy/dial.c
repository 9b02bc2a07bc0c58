/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dialler. An attempt that loopback or a fast path completes inside connect(2) costs no epoll
 * call; others are watched here until they connect. Read conn.c next.
 */
#include "dial.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/meter.h"
#include "../tls/session.h"
#include "half.h"
#include "keepalive.h"
#include "reach.h"
#include "upstream.h"

#define MAX_ADDRS 16 /* of an answer, dialled; all of it is checked */
#define MAX_TRIALS 4 /* connecting at once */

struct trial {
	struct loop_io io; /* fd -1: free */
	struct dial *dial;
};

struct dial {
	struct conn *conn;
	struct resolve_request req;
	struct loop_timer timer; /* the next attempt, or the limit */
	void (*on_done)(struct conn *c, const struct refusal *why);
	uint64_t deadline_ms;
	struct addr addrs[MAX_ADDRS];
	size_t n_addrs, next;
	struct trial trials[MAX_TRIALS];
	struct upstream *up; /* NULL: straight to the host */
	struct upstream_owner asks;
	struct loop_io tls_io; /* the connected socket, during the TLS handshake */
	struct refusal why;    /* of the latest failure */
	struct host host;      /* of TLS: the certificate's */
	uint16_t port;         /* of addrs */
	uint16_t host_port;    /* of the host, when addrs are the forward proxy's */
	uint8_t alpn;
	bool is_tls;
	bool is_starting; /* inside dial_start: results are returned, not called back */
	bool is_connected, is_done, is_failed;
	bool is_at_proxy; /* addrs are the forward proxy's */
};

static struct loop *loop_of(const struct dial *d)
{
	return d->conn->proxy->loop;
}

static void drop_trial(struct dial *d, struct trial *t)
{
	int fd = t->io.fd;

	if (fd < 0)
		return;
	loop_del(loop_of(d), &t->io, false);
	close(fd);
}

static void dial_free(struct dial *d)
{
	struct proxy *p = d->conn->proxy;

	if (d->req.query)
		resolve_cancel(p->o.resolve, &d->req);
	loop_timer_del(p->loop, &d->timer);
	loop_del(p->loop, &d->tls_io, true);
	for (size_t i = 0; i < MAX_TRIALS; i++)
		drop_trial(d, &d->trials[i]);
	upstream_free(d->up);
	if (d->is_failed && !d->is_connected)
		meter_time(p->o.meter, METER_CONNECT_FAILED, d->conn->attempt.start_ns);
	d->conn->dial = NULL;
	free(d);
}

void dial_cancel(struct conn *c)
{
	if (c->dial)
		dial_free(c->dial);
}

/* --- order */

/* RFC 8305 section 4: families alternate, IPv6 first; the answer has IPv6 first. */
static void order_addrs(struct dial *d, const struct addr *addrs, size_t n)
{
	size_t v6 = 0, v4 = 0;

	while (v4 < n && !addr_is_v4(&addrs[v4]))
		v4++;
	for (size_t n_v6 = v4; d->n_addrs < MAX_ADDRS && (v6 < n_v6 || v4 < n);) {
		if (v6 < n_v6)
			d->addrs[d->n_addrs++] = addrs[v6++];
		if (v4 < n && d->n_addrs < MAX_ADDRS)
			d->addrs[d->n_addrs++] = addrs[v4++];
	}
}

/* --- attempts */

static void on_trial_ready(struct loop_io *io, uint32_t events);
static void proceed(struct dial *d);

static void fail(struct dial *d, enum nej_reason reason, int error)
{
	d->why.reason = reason;
	d->why.error = error;
	if (d->is_at_proxy)
		d->why.detail = upstream_note(d->up, "is not reached");
}

/* --- TLS */

static void fail_tls(struct dial *d, int error)
{
	struct half *h = &d->conn->server;
	struct proxy *p = d->conn->proxy;
	enum session_failure failure = h->tls ? session_failure(h->tls) : SESSION_FAILURE_NONE;
	const char *problem = h->tls ? session_problem(h->tls) : strerror(-error);

	fail(d, error == -ENOMEM ? NEJ_REASON_LIMIT : NEJ_REASON_UPSTREAM_REFUSED,
		failure == SESSION_FAILURE_ALPN ? -EPROTONOSUPPORT : 0);
	snprintf(p->note, sizeof(p->note), "%s%s",
		failure == SESSION_FAILURE_UNVERIFIED ? "the server's certificate does not hold: "
			: failure == SESSION_FAILURE_CLIENT_CERT ? ""
								 : "TLS with the server failed: ",
		problem);
	d->why.detail = p->note;
	d->is_failed = true;
	loop_del(loop_of(d), &d->tls_io, true);
	half_end(d->conn->proxy, h, false);
	half_init(h, -1);
}

static void shake(struct dial *d)
{
	struct half *h = &d->conn->server;
	int r = session_handshake(h->tls, h->io.fd);

	if (r < 0) {
		fail_tls(d, r);
	} else if (r > 0) {
		loop_del(loop_of(d), &d->tls_io, true);
		h->is_readable = true; /* what came behind the handshake is read without an event */
		d->is_done = true;
	}
}

static void on_tls_ready(struct loop_io *io, uint32_t events)
{
	struct dial *d = CONTAINER_OF(io, struct dial, tls_io);
	struct half *h = &d->conn->server;
	int r = events & EPOLLOUT ? session_flush(h->tls, h->io.fd) : 0;

	if (r < 0)
		fail_tls(d, r);
	else
		shake(d);
	proceed(d);
}

static void begin_tls(struct dial *d)
{
	struct half *h = &d->conn->server;
	const struct session_peer peer = {
		.host = &d->host, .port = d->host_port, .alpn = d->alpn, .below = h->tls};
	int r = session_new_client(d->conn->proxy->o.tls, &peer, &h->tls);

	d->tls_io.on_ready = on_tls_ready;
	if (r >= 0)
		r = loop_add(loop_of(d), &d->tls_io, h->io.fd,
			EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r < 0)
		fail_tls(d, r);
	else
		shake(d);
}

/* The half takes the socket over, unwatched: who comes next decides when to look at it. */
static void connected(struct dial *d, int fd, struct session *tls)
{
	d->conn->server.io.fd = fd;
	d->conn->server.tls = tls;
	d->conn->server.is_readable = tls != NULL; /* what it holds is told by no event */
	d->conn->server.is_kept = false;
	d->is_connected = true;
	d->is_at_proxy = false;
	meter_time(d->conn->proxy->o.meter, METER_CONNECT_DONE, d->conn->attempt.start_ns);
	upstream_mark(d->conn, d->up);
	keepalive_want(d->conn->proxy);
	if (d->is_tls)
		begin_tls(d);
	else
		d->is_done = true;
}

/* A socket to the host, or to the forward proxy: one is enough. */
static void arrived(struct dial *d, int fd)
{
	int r;

	if (!d->up) {
		connected(d, fd, NULL);
		return;
	}
	for (size_t i = 0; i < MAX_TRIALS; i++)
		drop_trial(d, &d->trials[i]);
	d->next = d->n_addrs;
	r = upstream_ask(d->up, fd);
	if (r < 0) {
		fail(d, NEJ_REASON_LIMIT, r);
		d->is_failed = true;
	}
}

static int open_socket(const struct addr *a)
{
	int one = 1;
	int fd = socket(
		addr_is_v4(a) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Begins with one address. 0 connected or on its way, negative errno. */
static int begin(struct dial *d, struct trial *t, const struct addr *a)
{
	struct endpoint to = {.addr = *a, .port = d->port};
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&to, &sa), peer_len = sizeof(sa);
	int fd = open_socket(a), r;

	if (fd < 0)
		return fd;
	r = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	if (r < 0 && r != -EINPROGRESS) {
		close(fd);
		return r;
	}
	if (r == 0 || getpeername(fd, (struct sockaddr *)&sa, &peer_len) == 0) {
		arrived(d, fd);
		return 0;
	}
	t->dial = d;
	t->io.on_ready = on_trial_ready;
	r = loop_add(loop_of(d), &t->io, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r < 0)
		close(fd);
	return r;
}

static struct trial *free_trial(struct dial *d)
{
	for (size_t i = 0; i < MAX_TRIALS; i++)
		if (d->trials[i].io.fd < 0)
			return &d->trials[i];
	return NULL;
}

static bool is_busy(const struct dial *d)
{
	if (upstream_is_asking(d->up) || d->req.query)
		return true;
	for (size_t i = 0; i < MAX_TRIALS; i++)
		if (d->trials[i].io.fd >= 0)
			return true;
	return false;
}

static enum nej_reason reason_of(int error)
{
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS)
		return NEJ_REASON_LIMIT;
	return NEJ_REASON_UPSTREAM_REFUSED;
}

/* Begins with the next addresses until one is on its way. */
static void begin_next(struct dial *d)
{
	while (d->next < d->n_addrs && !d->is_connected && !d->is_failed) {
		struct trial *t = free_trial(d);
		int r;

		if (!t)
			return;
		r = begin(d, t, &d->addrs[d->next++]);
		if (r == 0)
			return;
		fail(d, reason_of(r), r);
	}
}

static void set_timer(struct dial *d)
{
	uint64_t now = loop_now_ms(loop_of(d));
	uint64_t left = d->deadline_ms > now ? d->deadline_ms - now : 0;

	if (!d->is_connected && d->next < d->n_addrs && left > DIAL_STAGGER_MS)
		left = DIAL_STAGGER_MS;
	if (loop_timer_set(loop_of(d), &d->timer, left) < 0) {
		fail(d, NEJ_REASON_LIMIT, -ENOMEM);
		d->is_failed = true;
	}
}

/* After anything happened: connected, all failed, or on with it. May free d. */
static void proceed(struct dial *d)
{
	void (*on_done)(struct conn *, const struct refusal *) = d->on_done;
	struct conn *c = d->conn;
	struct refusal why;

	if (!d->is_connected && !d->is_failed && !is_busy(d))
		begin_next(d);
	if (!d->is_connected && !d->is_failed && !is_busy(d))
		d->is_failed = true;
	if (!d->is_done && !d->is_failed)
		set_timer(d);
	if (d->is_starting || (!d->is_done && !d->is_failed))
		return;
	why = d->why;
	if (d->is_done) {
		dial_free(d);
		on_done(c, NULL);
	} else {
		dial_free(d);
		on_done(c, &why);
	}
}

static void on_trial_ready(struct loop_io *io, uint32_t events)
{
	struct trial *t = (struct trial *)(void *)io;
	struct dial *d = t->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		drop_trial(d, t);
		fail(d, reason_of(-error), -error);
		begin_next(d); /* RFC 8305 section 5: a failure does not wait for the timer */
	} else if (events & EPOLLOUT) {
		int fd = io->fd;

		loop_del(loop_of(d), io, true);
		arrived(d, fd);
	} else {
		return;
	}
	proceed(d);
}

/* The forward proxy has answered. */
static void on_told(struct upstream_owner *owner, const struct upstream_told *told)
{
	struct dial *d = CONTAINER_OF(owner, struct dial, asks);

	if (!told->why) {
		connected(d, told->fd, told->tls);
	} else if (told->is_next) {
		d->next = 0;
	} else {
		d->why = *told->why;
		d->is_failed = true;
	}
	proceed(d);
}

static void on_timeout(struct loop_timer *timer)
{
	struct dial *d = CONTAINER_OF(timer, struct dial, timer);

	if (loop_now_ms(loop_of(d)) >= d->deadline_ms) {
		if (d->is_connected)
			fail_tls(d, -ETIMEDOUT);
		fail(d, NEJ_REASON_UPSTREAM_REFUSED, -ETIMEDOUT);
		if (upstream_is_asking(d->up))
			d->why.detail = upstream_note(d->up, "does not answer in time");
		d->is_failed = true;
	} else if (!d->is_connected) {
		begin_next(d);
	}
	proceed(d);
}

/* --- addresses */

static int resolve(struct dial *d, const struct host *name,
	void (*on_addrs)(struct resolve_request *, int, const struct resolve_answer *))
{
	int r;

	d->req.on_answer = on_addrs;
	r = resolve_addrs(d->conn->proxy->o.resolve, name, &d->req);
	if (r < 0)
		fail(d, NEJ_REASON_RESOLVE_FAILED, r);
	return r;
}

/* The forward proxy's are the operator's affair: inside and loopback ones are fine. */
static void on_proxy_answer(
	struct resolve_request *req, int status, const struct resolve_answer *answer)
{
	struct dial *d = CONTAINER_OF(req, struct dial, req);

	req->query = NULL;
	if (status < 0 || !answer->n_addrs) {
		fail(d, NEJ_REASON_RESOLVE_FAILED, status < 0 ? status : -ENODATA);
		d->is_failed = true;
	} else {
		order_addrs(d, answer->addrs, answer->n_addrs);
	}
	if (!d->is_starting)
		proceed(d);
}

/* Fills d->addrs with those of the forward proxy. As resolve. */
static int find_proxy(struct dial *d)
{
	const struct host *host = upstream_host(d->up);

	d->is_at_proxy = true;
	d->port = upstream_port(d->up);
	if (host->kind == HOST_ADDR) {
		d->addrs[0] = host->addr;
		d->n_addrs = 1;
		return 0;
	}
	return resolve(d, host, on_proxy_answer);
}

/* The host's addresses are checked: they are dialled, or asked for. */
static int settle(struct dial *d, const struct addr *addrs, size_t n)
{
	if (!d->up) {
		order_addrs(d, addrs, n);
		return 0;
	}
	upstream_set_targets(d->up, addrs, n);
	return find_proxy(d);
}

static void on_answer(struct resolve_request *req, int status, const struct resolve_answer *answer)
{
	struct dial *d = CONTAINER_OF(req, struct dial, req);
	bool was_starting = d->is_starting;

	req->query = NULL;
	d->is_starting = true; /* one lookup may lead to the next */
	if (status < 0 || !answer->n_addrs) {
		fail(d, NEJ_REASON_RESOLVE_FAILED, status < 0 ? status : -ENODATA);
		d->is_failed = true;
	} else if (!reach_aliases(d->conn, answer, &d->why) ||
		!reach_addrs(d->conn, answer->addrs, answer->n_addrs, &d->why) ||
		settle(d, answer->addrs, answer->n_addrs) < 0) {
		d->is_failed = true;
	}
	d->is_starting = was_starting;
	if (!d->is_starting)
		proceed(d);
}

/* Fills d->addrs. Negative: failed; else resolved, or being resolved. */
static int find_addrs(struct dial *d, const struct dial_target *target)
{
	static const struct addr loopbacks[] = {
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	};

	if (target->is_host_port) {
		memcpy(d->addrs, loopbacks, sizeof(loopbacks));
		d->n_addrs = ARRAY_SIZE(loopbacks);
		return 0;
	}
	if (target->host->kind == HOST_ADDR)
		return reach_addrs(d->conn, &target->host->addr, 1, &d->why)
			? settle(d, &target->host->addr, 1)
			: -EACCES;
	if (d->up && upstream_is_by_name(d->up))
		return find_proxy(d);
	return resolve(d, target->host, on_answer);
}

static struct dial *dial_new(struct conn *c, const struct dial_target *target)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->conn = c;
	d->port = d->host_port = target->port;
	d->is_tls = target->is_tls;
	d->alpn = (uint8_t)target->alpn;
	if (d->is_tls)
		d->host = *target->host;
	d->tls_io.fd = -1;
	d->why.rule = POLICY_NO_RULE;
	d->timer.on_timeout = on_timeout;
	d->asks.on_told = on_told;
	d->deadline_ms = loop_now_ms(c->proxy->loop) + DIAL_LIMIT_MS;
	d->is_starting = true;
	for (size_t i = 0; i < MAX_TRIALS; i++)
		d->trials[i].io.fd = -1;
	c->dial = d;
	return d;
}

int dial_start(struct conn *c, const struct dial_target *target,
	void (*on_done)(struct conn *c, const struct refusal *why), struct refusal *ret_why)
{
	struct dial *d = dial_new(c, target);
	int r;

	*ret_why = (struct refusal){.reason = NEJ_REASON_LIMIT, .rule = POLICY_NO_RULE};
	if (!d)
		return -ENOMEM;
	d->on_done = on_done;
	if (!target->is_host_port &&
		upstream_new(c, target->rule, target->host, target->port, &d->asks, &d->up) < 0) {
		dial_free(d);
		return -ENOMEM;
	}
	if (find_addrs(d, target) < 0)
		d->is_failed = true;
	if (d->n_addrs)
		proceed(d);
	if (!d->is_done && !d->is_failed) {
		/* being resolved: the limit runs from here */
		if (!d->n_addrs)
			set_timer(d);
		d->is_starting = false;
		return 0;
	}
	*ret_why = d->why;
	r = d->is_done ? 1 : -EHOSTUNREACH;
	dial_free(d);
	return r;
}
