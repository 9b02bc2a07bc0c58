/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP/2 towards origins: connections shared by all requests of a thread to the same origin with
 * the same credentials, and who waits while one is being dialled. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_UPLINK_H
#define NEJ_PROXY_UPLINK_H

#include "record.h"
#include "spare.h"

struct uplink;

/* A connection's place in it; all zero: none. Part of struct http. */
struct uplink_seat {
	struct conn *conn;
	struct uplink *uplink;
	struct uplink_seat *next, **prev; /* of those who wait */
	bool is_dialler;
};

/* A request whose client speaks HTTP/2 needs its origin. 1: c->server is a stream of a connection
 * that is there. 0: one is being dialled, and c goes on by itself when that is over. -ENOENT: c
 * dials, offers h2, and says how that went with uplink_dialled. -ENOMEM. */
int uplink_join(struct conn *c, const struct origin *want);

/* c's dial is over; why: it failed. Where h2 was agreed, c->server becomes a stream. Who waited goes
 * on, not now. 0; negative errno: there is no server. */
int uplink_dialled(struct conn *c, const struct refusal *why);

/* The request has ended or found another way. */
void uplink_leave(struct uplink_seat *seat);
void uplink_done(struct proxy *p);

#endif
