/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client's handshake. Nothing is dialled before a request is allowed; the set-up stays until the
 * handshake is over, since it says what to record when the client turns away. Read http.c next.
 */
#include "intercept.h"

#include <errno.h>

#include "../base/cleanup.h"
#include "../tls/session.h"
#include "downlink.h"
#include "half.h"
#include "http.h"
#include "refuse.h"
#include "sniff.h"

/* The client refused the certificate, or the handshake failed otherwise: there is nobody to tell,
 * but the record. */
static int give_up(struct conn *c)
{
	enum session_failure failure = session_failure(c->client.tls);
	const struct refusal why = {
		.reason = failure == SESSION_FAILURE_PROTOCOL ? NEJ_REASON_FRAMING
							      : NEJ_REASON_INSPECT_UNAVAILABLE,
		.rule = c->setup->rule,
		.detail = session_problem(c->client.tls),
	};
	struct ask ask = sniff_ask(c);

	record_refused(c, &ask, &why, 0);
	return CONN_CLOSE;
}

static int shake(struct conn *c)
{
	int r = session_handshake(c->client.tls, c->client.io.fd);

	if (r < 0)
		return give_up(c);
	if (r == 0)
		return 0;
	c->setup->view_len = 0;
	/* its first request may have come with its last message */
	c->client.is_readable = true;
	if (session_alpn(c->client.tls) == SESSION_ALPN_H2)
		return downlink_start(c);
	return http_start(c);
}

static void intercept_on_client(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_client(io);
	int r = half_note(&c->client, events);

	if (r == 0 && events & EPOLLOUT)
		r = session_flush(c->client.tls, io->fd) < 0 ? CONN_RESET : 0;
	conn_end(c, r < 0 ? r : shake(c));
}

static void intercept_on_timeout(struct loop_timer *timer)
{
	struct conn *c = CONTAINER_OF(timer, struct conn, timer);
	const struct refusal why = {
		.reason = NEJ_REASON_INSPECT_UNAVAILABLE,
		.rule = c->setup->rule,
		.detail = "the client did not finish its TLS handshake in time",
	};
	struct ask ask = sniff_ask(c);

	record_refused(c, &ask, &why, 0);
	conn_close(c, CONN_RESET);
}

int intercept_start(struct conn *c)
{
	struct setup *s = c->setup;
	int r = session_new_server(c->proxy->o.tls, &s->host, s->port,
		SESSION_ALPN_HTTP1 | SESSION_ALPN_H2, s->view, s->view_len, &c->client.tls);

	if (r < 0)
		return CONN_RESET;
	conn_drop_server(c);
	s->is_shaking = true;
	r = shake(c);
	if (r < 0 || !c->setup)
		return r;
	conn_set_timer(c, SNIFF_LIMIT_MS, intercept_on_timeout);
	return conn_watch(c, &c->client, intercept_on_client);
}
