/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CONNECT over a socket to a forward proxy. The answer is peeked at and only its head is taken, so
 * that what the destination says first stays in the socket. Nothing of ours goes into the tunnel
 * before the answer is read. Read wire/tunnel.h for the messages.
 */
#include "upstream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../tls/session.h"
#include "../wire/hop.h"
#include "../wire/tunnel.h"

#define MAX_TARGETS 3 /* addresses asked for, one after the other */

struct upstream {
	struct loop_io io; /* fd -1: not asking */
	struct conn *conn;
	struct upstream_owner *owner;
	struct host proxy, host;
	uint16_t proxy_port, port;
	uint32_t index, generation; /* of the policy */
	bool is_by_name, is_tls;
	char *name, *username, *password;
	char *ca; /* PEM; NULL: the roots there are */
	size_t ca_len;
	struct session *tls; /* with the proxy */
	bool is_shaken;
	struct buf
		in; /* of the answer, read one byte at a time: under TLS nothing can be peeked at */
	struct addr targets[MAX_TARGETS];
	size_t n_targets, target; /* the one being asked for */
	struct buf out;           /* the request */
	size_t sent;              /* of out */
};

/* A gateway is where the ways end, or it might be its own forward proxy. */
static bool find(const struct proxy *p, uint32_t rule, struct policy_upstream *ret)
{
	return !p->o.is_gateway && policy_upstream(*p->o.policy, rule, ret);
}

static char *copy_text(const char *s, bool *ret_failed)
{
	char *copy = s ? strdup(s) : NULL;

	*ret_failed |= s && !copy;
	return copy;
}

int upstream_new(struct conn *c, uint32_t rule, const struct host *host, uint16_t port,
	struct upstream_owner *owner, struct upstream **ret)
{
	struct policy_upstream p;
	struct upstream *u;
	bool is_failed = false;

	*ret = NULL;
	if (!find(c->proxy, rule, &p))
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->io.fd = -1;
	u->conn = c;
	u->owner = owner;
	u->proxy = p.host;
	u->proxy_port = p.port;
	u->host = *host;
	u->port = port;
	u->index = p.index;
	u->generation = *c->proxy->o.generation;
	u->is_tls = p.is_tls;
	u->is_by_name = p.is_by_name && host->kind == HOST_NAME;
	u->name = copy_text(p.name, &is_failed);
	u->username = copy_text(p.username, &is_failed);
	u->password = copy_text(p.password, &is_failed);
	u->ca = copy_text(p.ca, &is_failed);
	u->ca_len = p.ca_len;
	buf_init(&u->out);
	buf_init(&u->in);
	if (is_failed) {
		upstream_free(u);
		return -ENOMEM;
	}
	*ret = u;
	return 0;
}

static void wipe_request(struct upstream *u)
{
	if (u->out.data)
		explicit_bzero(u->out.data, u->out.cap);
	buf_clear(&u->out);
	u->sent = 0;
}

void upstream_free(struct upstream *u)
{
	if (!u)
		return;
	if (u->io.fd >= 0) {
		int fd = u->io.fd;

		loop_del(u->conn->proxy->loop, &u->io, false);
		close(fd);
	}
	session_free(u->tls);
	wipe_request(u);
	buf_done(&u->out);
	buf_done(&u->in);
	if (u->password)
		explicit_bzero(u->password, strlen(u->password));
	free(u->name);
	free(u->username);
	free(u->password);
	free(u->ca);
	free(u);
}

const struct host *upstream_host(const struct upstream *u)
{
	return &u->proxy;
}

uint16_t upstream_port(const struct upstream *u)
{
	return u->proxy_port;
}

bool upstream_is_by_name(const struct upstream *u)
{
	return u->is_by_name;
}

bool upstream_is_asking(const struct upstream *u)
{
	return u && u->io.fd >= 0;
}

/* Families alternate as in dial.c, but IPv4 first: what the proxy has is not known here, and many
 * have no IPv6. */
void upstream_set_targets(struct upstream *u, const struct addr *addrs, size_t n)
{
	size_t next[2] = {0, 0};

	for (size_t turn = 0; u->n_targets < MAX_TARGETS && (next[0] < n || next[1] < n); turn++) {
		size_t *at = &next[turn % 2];

		while (*at < n && addr_is_v4(&addrs[*at]) != (turn % 2 == 0))
			++*at;
		if (*at < n)
			u->targets[u->n_targets++] = addrs[(*at)++];
	}
}

const char *upstream_note(const struct upstream *u, const char *what)
{
	char *note = u->conn->proxy->note;

	snprintf(note, sizeof(u->conn->proxy->note), "the forward proxy %.32s (%.64s:%u) %.96s",
		u->name, u->proxy.name, u->proxy_port, what);
	return note;
}

/* --- asking */

/* May free u: the owner goes on from here. */
static void tell(struct upstream *u, const struct refusal *why, bool is_next)
{
	struct upstream_told told = {.fd = u->io.fd, .tls = u->tls, .why = why, .is_next = is_next};

	loop_del(u->conn->proxy->loop, &u->io, !why);
	u->tls = NULL;
	wipe_request(u);
	if (why) {
		session_free(told.tls);
		close(told.fd);
		told.fd = -1;
		told.tls = NULL;
	}
	u->owner->on_told(u->owner, &told);
}

static void tell_failure(struct upstream *u, int error, const char *what)
{
	const struct refusal why = {
		.reason = NEJ_REASON_UPSTREAM_REFUSED,
		.rule = POLICY_NO_RULE,
		.error = error,
		.detail = upstream_note(u, what),
	};

	tell(u, &why, false);
}

static void tell_status(struct upstream *u, const struct tunnel_answer *answer)
{
	static const struct {
		uint16_t status;
		const char *text;
	} known[] = {
		{401, "it wants credentials"},
		{403, "its own rules forbid it"},
		{407, "it does not take our credentials"},
		{502, "it does not reach the destination"},
		{503, "it does not reach the destination"},
		{504, "it does not reach the destination in time"},
	};
	bool is_elsewhere = answer->status == 502 || answer->status == 503 || answer->status == 504;
	struct refusal why = {.reason = NEJ_REASON_UPSTREAM_REFUSED, .rule = POLICY_NO_RULE};
	const char *text = "it does not say why";
	char what[96];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].status == answer->status)
			text = known[i].text;
	if (answer->reason.len)
		snprintf(what, sizeof(what), "answered %u: %.*s", answer->status,
			(int)answer->reason.len, answer->reason.ptr);
	else
		snprintf(what, sizeof(what), "answered %u: %s", answer->status, text);
	why.detail = upstream_note(u, what);
	if (answer->status == 504)
		why.error = -ETIMEDOUT;
	u->target++;
	tell(u, &why, is_elsewhere && u->target < u->n_targets);
}

static void tell_answer(struct upstream *u, const struct tunnel_answer *answer)
{
	if (answer->status >= 300)
		tell_status(u, answer);
	else
		tell(u, NULL, false);
}

/* r: of tunnel_parse, or of reading. */
static void tell_nonsense(struct upstream *u, int r, bool is_ended)
{
	if (is_ended)
		tell_failure(u, 0, "closed the connection without an answer");
	else if (r == -EBADMSG || r == -E2BIG)
		tell_failure(u, 0, "does not answer in HTTP");
	else
		tell_failure(u, r, "broke the connection");
}

/* Edges come anew with every byte, so an unfinished head may stay where it is. */
static void look(struct upstream *u, uint32_t events)
{
	struct proxy *p = u->conn->proxy;
	struct tunnel_answer answer;
	ssize_t n = recv(u->io.fd, p->buf, PROXY_BUF_BYTES, MSG_PEEK);
	int r;

	if (n < 0 && errno == EAGAIN)
		return;
	r = n < 0 ? -errno : tunnel_parse(p->buf, (size_t)n, &p->head, &answer);
	if (r == 0 && n && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	if (r <= 0)
		tell_nonsense(u, r, r == 0);
	else if (answer.status < 300 &&
		recv(u->io.fd, p->buf, answer.head_bytes, 0) != (ssize_t)answer.head_bytes)
		tell_nonsense(u, -EIO, false);
	else
		tell_answer(u, &answer);
}

/* What is behind the answer stays in the session. */
static void look_inside(struct upstream *u)
{
	struct tunnel_answer answer;
	char byte;

	for (;;) {
		ssize_t n = session_recv(u->tls, u->io.fd, &byte, 1);
		int r = 0;

		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			tell_nonsense(u, (int)n, n == 0);
			return;
		}
		buf_add_char(&u->in, byte);
		if (u->in.is_failed)
			r = -ENOMEM;
		else if (byte == '\n' || u->in.len >= TUNNEL_MAX_ANSWER_BYTES)
			r = tunnel_parse(u->in.data, u->in.len, &u->conn->proxy->head, &answer);
		if (r < 0) {
			tell_nonsense(u, r, false);
			return;
		}
		if (r > 0) {
			tell_answer(u, &answer);
			return;
		}
	}
}

static ssize_t send_some(struct upstream *u)
{
	const char *data = u->out.data + u->sent;
	size_t len = u->out.len - u->sent;
	ssize_t n;

	if (u->tls)
		return session_send(u->tls, u->io.fd, data, len, false);
	n = send(u->io.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static int send_request(struct upstream *u)
{
	while (u->sent < u->out.len) {
		ssize_t n = send_some(u);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		u->sent += (size_t)n;
	}
	return 0;
}

/* 1 TLS with the proxy is done; 0 not yet, or u is gone. */
static int shake(struct upstream *u)
{
	char what[96];
	int r = session_handshake(u->tls, u->io.fd);

	u->is_shaken = r > 0;
	if (r >= 0)
		return r;
	snprintf(what, sizeof(what), "%s%s",
		session_failure(u->tls) == SESSION_FAILURE_UNVERIFIED
			? "has a certificate that does not hold: "
			: "does not speak TLS with us: ",
		session_problem(u->tls));
	tell_failure(u, 0, what);
	return 0;
}

static void on_ready_tls(struct loop_io *io, uint32_t events)
{
	struct upstream *u = CONTAINER_OF(io, struct upstream, io);

	if (events & EPOLLOUT && session_flush(u->tls, io->fd) < 0)
		tell_nonsense(u, -EPIPE, false);
	else if (!u->is_shaken && shake(u) == 0)
		return;
	else if (send_request(u) < 0)
		tell_nonsense(u, -EPIPE, false);
	else
		look_inside(u);
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	struct upstream *u = CONTAINER_OF(io, struct upstream, io);

	/* it may have answered before it stopped reading */
	if (send_request(u) < 0)
		events |= EPOLLHUP;
	look(u, events);
}

static int begin_tls(struct upstream *u)
{
	const struct session_peer peer = {
		.host = &u->proxy,
		.port = u->proxy_port,
		.alpn = SESSION_ALPN_HTTP1,
		.ca_pem = u->ca,
		.ca_pem_len = u->ca_len,
	};

	u->is_shaken = false;
	buf_clear(&u->in);
	if (!u->conn->proxy->o.tls)
		return -EPROTONOSUPPORT;
	return session_new_client(u->conn->proxy->o.tls, &peer, &u->tls);
}

int upstream_ask(struct upstream *u, int fd)
{
	struct tunnel_request request = {
		.to = &u->host,
		.port = u->port,
		.username = u->username,
		.password = u->password,
	};
	struct host to;
	int r;

	if (!u->is_by_name) {
		host_from_addr(&u->targets[u->target], &to);
		request.to = &to;
		if (u->host.kind == HOST_NAME)
			request.name = &u->host;
	}
	wipe_request(u);
	tunnel_print(&request, &u->out);
	u->io.on_ready = u->is_tls ? on_ready_tls : on_ready;
	r = u->out.is_failed ? -ENOMEM : u->is_tls ? begin_tls(u) : 0;
	if (r >= 0)
		r = loop_add(u->conn->proxy->loop, &u->io, fd,
			EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r < 0) {
		session_free(u->tls);
		u->tls = NULL;
		u->io.fd = -1;
		close(fd);
	}
	return r;
}

/* --- which way a server's half goes */

void upstream_mark(struct conn *c, const struct upstream *u)
{
	c->via = u ? u->index : CONN_STRAIGHT;
	c->via_generation = u ? u->generation : 0;
}

bool upstream_is_way_of(const struct conn *c, uint32_t rule)
{
	struct policy_upstream p;

	if (!find(c->proxy, rule, &p))
		return c->via == CONN_STRAIGHT;
	return c->via == p.index && c->via_generation == *c->proxy->o.generation;
}

uint64_t upstream_route_of(const struct conn *c, uint32_t rule)
{
	struct policy_upstream p;

	if (!policy_upstream(*c->proxy->o.policy, rule, &p))
		return 0;
	return (uint64_t)*c->proxy->o.generation << 32 | (p.index + 1u);
}

uint64_t upstream_route(const struct conn *c)
{
	return c->via == CONN_STRAIGHT ? 0 : (uint64_t)c->via_generation << 32 | (c->via + 1u);
}

void upstream_set_route(struct conn *c, uint64_t route)
{
	c->via = route ? (__typeof__(c->via))((uint32_t)route - 1) : CONN_STRAIGHT;
	c->via_generation = (uint32_t)(route >> 32);
}
