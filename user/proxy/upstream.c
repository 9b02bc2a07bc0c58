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
	buf_init(&u->out);
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
	wipe_request(u);
	buf_done(&u->out);
	if (u->password)
		explicit_bzero(u->password, strlen(u->password));
	free(u->name);
	free(u->username);
	free(u->password);
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
	int fd = u->io.fd;

	loop_del(u->conn->proxy->loop, &u->io, !why);
	u->io.fd = -1;
	wipe_request(u);
	if (why)
		close(fd);
	u->owner->on_told(u->owner, why ? -1 : fd, why, is_next);
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

/* Edges come anew with every byte, so an unfinished head may stay where it is. */
static void look(struct upstream *u, uint32_t events)
{
	struct proxy *p = u->conn->proxy;
	struct tunnel_answer answer;
	ssize_t n = recv(u->io.fd, p->buf, PROXY_BUF_BYTES, MSG_PEEK);
	int r;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		tell_failure(u, -errno, "broke the connection");
		return;
	}
	r = tunnel_parse(p->buf, (size_t)n, &p->head, &answer);
	if (r == 0 && n && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	if (r == 0)
		tell_failure(u, 0, "closed the connection without an answer");
	else if (r < 0)
		tell_failure(u, 0, "does not answer in HTTP");
	else if (answer.status >= 300)
		tell_status(u, &answer);
	else if (recv(u->io.fd, p->buf, answer.head_bytes, 0) != (ssize_t)answer.head_bytes)
		tell_failure(u, -EIO, "broke the connection");
	else
		tell(u, NULL, false);
}

static int send_request(struct upstream *u)
{
	while (u->sent < u->out.len) {
		ssize_t n = send(u->io.fd, u->out.data + u->sent, u->out.len - u->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		u->sent += (size_t)n;
	}
	return 0;
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	struct upstream *u = CONTAINER_OF(io, struct upstream, io);

	/* it may have answered before it stopped reading */
	if (send_request(u) < 0)
		events |= EPOLLHUP;
	look(u, events);
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
	u->io.on_ready = on_ready;
	/* never credentials in clear to a port that is meant for TLS */
	r = u->is_tls              ? -EPROTONOSUPPORT
		: u->out.is_failed ? -ENOMEM
				   : loop_add(u->conn->proxy->loop, &u->io, fd,
					     EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r < 0) {
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
