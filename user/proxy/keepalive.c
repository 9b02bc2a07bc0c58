/* SPDX-License-Identifier: GPL-2.0-only */
/* One timer a thread sweeps over all connections, and sleeps when none is new; see keepalive.h. */
#include "keepalive.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "../base/cleanup.h"
#include "conn.h"

#define SWEEP_MS 30000
#define IDLE_S 300

static void sweep(struct loop_timer *timer)
{
	struct proxy *p = CONTAINER_OF(timer, struct proxy, keepalive);
	int one = 1, idle_s = IDLE_S;

	for (struct conn *c = p->conns; c; c = c->next) {
		if (c->server.io.fd < 0 || c->server.stream || c->server.is_kept)
			continue;
		setsockopt(c->server.io.fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		setsockopt(c->server.io.fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
		c->server.is_kept = true;
	}
}

void keepalive_want(struct proxy *p)
{
	p->keepalive.on_timeout = sweep;
	if (!p->keepalive.heap_slot)
		(void)loop_timer_set(p->loop, &p->keepalive, SWEEP_MS);
}

void keepalive_stop(struct proxy *p)
{
	loop_timer_del(p->loop, &p->keepalive);
}
