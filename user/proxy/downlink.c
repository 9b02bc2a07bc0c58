/* SPDX-License-Identifier: GPL-2.0-only */
/* A client's HTTP/2 connection and the requests on it; see downlink.h. */
#include "downlink.h"

#include <errno.h>

#include "half.h"
#include "http.h"
#include "mux.h"
#include "refuse.h"
#include "sniff.h"
#include "stream.h"

/* Who asks, and where the connection goes, is the same for every request on it. */
static int begin_request(struct conn *c, const struct conn *carrier)
{
	const struct setup *from = carrier->setup;
	struct setup *s;

	c->process = carrier->process;
	c->dest = carrier->dest;
	c->dest_port = carrier->dest_port;
	c->has_dest = carrier->has_dest;
	c->is_explicit = carrier->is_explicit;
	s = setup_new(c);
	if (!s)
		return -ENOMEM;
	s->host = from->host;
	s->port = from->port;
	s->kind = from->kind;
	s->app = from->app;
	s->rule = from->rule;
	s->is_fixed = from->is_fixed;
	s->is_host_port = from->is_host_port;
	return http_start(c);
}

static void on_request(struct mux *m, struct stream *s)
{
	struct conn *c = conn_new(m->carrier->proxy, -1);

	if (!c) {
		stream_close(s, true);
		return;
	}
	c->is_uncounted = true; /* the carrier is */
	half_init_stream(&c->client, s);
	conn_end(c, begin_request(c, m->carrier));
}

static void on_misuse(struct mux *m, const char *detail)
{
	const struct refusal why = {
		.reason = NEJ_REASON_FRAMING, .rule = POLICY_NO_RULE, .detail = detail};
	struct ask ask = sniff_ask(m->carrier);

	record_start(m->carrier);
	record_refused(m->carrier, &ask, &why, 0);
}

static void on_end(struct mux *m, int how)
{
	conn_close(m->carrier, how);
}

int downlink_start(struct conn *c)
{
	static const struct mux_ops ops = {on_request, on_misuse, on_end, NULL};
	struct setup *s = c->setup;
	struct mux *m;
	int r = mux_new(c, true, &ops, &m);

	/* the set-up stays for as long as the connection, the ClientHello need not */
	c->proxy->held_bytes -= s->held;
	s->held = 0;
	buf_done(&s->head);
	s->view = NULL;
	s->view_len = 0;

	return r < 0 ? r : mux_start(m, NULL, 0);
}
