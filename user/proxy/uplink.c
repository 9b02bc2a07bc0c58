/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections of HTTP/2 to origins; see uplink.h. */
/*
 * Theory of operation. One entry an origin (more while one connection is full):
 *
 *   dialling   the first request dials, those that come meanwhile wait
 *   over       the dial ended: a timer without delay lets who waited go on, since they must not run
 *              inside another's callback. Failed: they are refused alike. Else they ask once more.
 *   open       the carrier holds the connection; streams join while it has room. Ends with it.
 *   plain      the origin speaks HTTP/1: nobody waits for each other; forgotten when there are many
 *
 * An entry with neither carrier, dialler nor waiting requests is plain, or goes.
 */
#include "uplink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../tls/session.h"
#include "half.h"
#include "http.h"
#include "mux.h"
#include "stream.h"

#define MAX_UPLINKS 1024 /* entries of a thread */

struct uplink {
	struct uplink *next, **prev; /* proxy->uplinks, the youngest first */
	struct proxy *proxy;
	struct origin origin;
	struct conn *carrier;
	struct uplink_seat *dialler, *waiting, *telling;
	struct loop_timer over;
	struct refusal why; /* the dial failed so, while has_failed */
	char detail[sizeof(((struct proxy *)0)->note)];
	bool is_plain, has_failed, is_busy;
};

/* --- entries */

static void uplink_free(struct uplink *u)
{
	*u->prev = u->next;
	if (u->next)
		u->next->prev = u->prev;
	u->proxy->n_uplinks--;
	loop_timer_del(u->proxy->loop, &u->over);
	free(u);
}

static void free_if_unused(struct uplink *u)
{
	if (!u->carrier && !u->dialler && !u->waiting && !u->is_plain && !u->is_busy)
		uplink_free(u);
}

/* Plain ones are only remembered. */
static void make_room(struct proxy *p)
{
	struct uplink *u, *next;

	for (u = p->uplinks; u && p->n_uplinks >= MAX_UPLINKS; u = next) {
		next = u->next;
		u->is_plain = false;
		free_if_unused(u);
	}
}

static void on_over(struct loop_timer *timer);

static struct uplink *uplink_new(struct proxy *p, const struct origin *origin)
{
	struct uplink *u;

	make_room(p);
	u = p->n_uplinks < MAX_UPLINKS ? calloc(1, sizeof(*u)) : NULL;
	if (!u)
		return NULL;
	u->proxy = p;
	u->origin = *origin;
	u->over.on_timeout = on_over;
	u->next = p->uplinks;
	u->prev = &p->uplinks;
	if (u->next)
		u->next->prev = &u->next;
	p->uplinks = u;
	p->n_uplinks++;
	return u;
}

static void sit(struct uplink *u, struct uplink_seat *seat)
{
	seat->uplink = u;
	seat->next = u->waiting;
	seat->prev = &u->waiting;
	if (seat->next)
		seat->next->prev = &seat->next;
	u->waiting = seat;
}

static void stand(struct uplink_seat *seat)
{
	*seat->prev = seat->next;
	if (seat->next)
		seat->next->prev = seat->prev;
	*seat = (struct uplink_seat){0};
}

/* --- the connection */

static void on_request(struct mux *m, struct stream *s)
{
	(void)m;
	stream_close(s, true);
}

/* What an origin does wrong shows in the answers of the requests that meet it. */
static void on_misuse(struct mux *m, const char *detail)
{
	(void)m;
	(void)detail;
}

static void on_end(struct mux *m, int how)
{
	conn_close(m->carrier, how);
}

static void on_free(struct mux *m)
{
	struct uplink *u = m->owner;

	if (!u)
		return;
	u->carrier = NULL;
	free_if_unused(u);
}

/* c's server becomes a carrier of its own. */
static int open_carrier(struct uplink *u, struct conn *c)
{
	static const struct mux_ops ops = {on_request, on_misuse, on_end, on_free};
	struct conn *carrier = conn_new(c->proxy, -1);
	struct stash *rest = c->server.stash; /* for the client: stays with it */
	struct mux *m;
	int r;

	if (!carrier)
		return -ENOMEM;
	carrier->is_uncounted = true;
	carrier->via = c->via;
	carrier->via_generation = c->via_generation;
	carrier->server = c->server;
	carrier->server.stash = NULL;
	carrier->server.is_readable = true;
	half_init(&c->server, -1);
	c->server.stash = rest;
	r = mux_new(carrier, false, &ops, &m);
	if (r == 0)
		r = mux_start(m, NULL, 0);
	if (r < 0) {
		conn_close(carrier, r);
		return r;
	}
	m->owner = u;
	u->carrier = carrier;
	return 0;
}

static int join(struct uplink *u, struct conn *c)
{
	struct stream *s;
	struct stash *rest = c->server.stash;
	int r = stream_open(u->carrier->mux, &s);

	if (r < 0)
		return r;
	half_init_stream(&c->server, s);
	c->server.stash = rest;
	c->server.is_readable = false;
	c->via = u->carrier->via;
	c->via_generation = u->carrier->via_generation;
	return 1;
}

/* --- requests */

static struct uplink *find(struct proxy *p, const struct origin *want)
{
	struct uplink *plain = NULL;

	for (struct uplink *u = p->uplinks; u; u = u->next) {
		if (!origin_equal(&u->origin, want))
			continue;
		if (u->dialler || (u->carrier && mux_has_room(u->carrier->mux)))
			return u;
		if (u->is_plain && !u->carrier)
			plain = u;
	}
	return plain;
}

int uplink_join(struct conn *c, const struct origin *want)
{
	struct uplink_seat *seat = &c->http->seat;
	struct uplink *u = find(c->proxy, want);

	uplink_leave(seat);
	if (u && u->carrier)
		return join(u, c);
	if (u && u->dialler) {
		seat->conn = c;
		sit(u, seat);
		return 0;
	}
	/* it was plain, and refused to be */
	if (u && c->http->wants_h2)
		u->is_plain = false;
	if (!u)
		u = uplink_new(c->proxy, want);
	if (!u)
		return -ENOMEM;
	if (!u->is_plain) {
		seat->uplink = u;
		seat->is_dialler = true;
		u->dialler = seat;
	}
	return -ENOENT;
}

/* Those who waited go on when nobody else's callback is running. */
static void end_dial(struct uplink *u)
{
	u->dialler = NULL;
	if (u->waiting)
		(void)loop_timer_set(u->proxy->loop, &u->over, 0);
}

int uplink_dialled(struct conn *c, const struct refusal *why)
{
	struct uplink_seat *seat = &c->http->seat;
	struct uplink *u = seat->uplink;
	int r = 0;

	*seat = (struct uplink_seat){0};
	if (!u) {
		/* the origin spoke HTTP/1 when it was asked last: h2 was not offered */
		return 0;
	}
	u->has_failed = why != NULL;
	if (why) {
		u->why = *why;
		snprintf(u->detail, sizeof(u->detail), "%s", why->detail ? why->detail : "");
		u->why.detail = why->detail ? u->detail : NULL;
	} else if (c->server.tls && session_alpn(c->server.tls) == SESSION_ALPN_H2) {
		r = open_carrier(u, c);
		if (r == 0)
			r = join(u, c);
		if (r < 0)
			u->has_failed = false;
	} else {
		u->is_plain = true;
	}
	end_dial(u);
	free_if_unused(u);
	return r < 0 ? r : 0;
}

void uplink_leave(struct uplink_seat *seat)
{
	struct uplink *u = seat->uplink;

	if (!u)
		return;
	if (seat->is_dialler) {
		u->has_failed = false;
		end_dial(u);
		*seat = (struct uplink_seat){0};
	} else {
		stand(seat);
	}
	free_if_unused(u);
}

static void on_over(struct loop_timer *timer)
{
	struct uplink *u = CONTAINER_OF(timer, struct uplink, over);
	const struct refusal why = u->why;
	bool has_failed = u->has_failed;
	char detail[sizeof(u->detail)];
	struct uplink_seat *seat;

	memcpy(detail, u->detail, sizeof(detail));
	/* who asks once more may wait here again, behind those who are told now */
	u->telling = u->waiting;
	u->waiting = NULL;
	if (u->telling)
		u->telling->prev = &u->telling;
	u->is_busy = true;
	while ((seat = u->telling)) {
		struct conn *c = seat->conn;
		struct refusal own = why;

		own.detail = why.detail ? detail : NULL;
		stand(seat);
		request_go_on(c, has_failed ? &own : NULL);
	}
	u->is_busy = false;
	free_if_unused(u);
}

void uplink_done(struct proxy *p)
{
	while (p->uplinks)
		uplink_free(p->uplinks);
}
