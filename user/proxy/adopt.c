/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections that others accepted: a gateway's, once it is known whose they are. And what happens to
 * open ones when their policy changes. See proxy.h; front.c is who accepts.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../tls/session.h"
#include "conn.h"
#include "explicit.h"
#include "refuse.h"

static int begin(struct conn *c, const char *first, size_t len, int error)
{
	struct setup *s = setup_new(c);

	if (!s)
		return -ENOMEM;
	record_start(c);
	c->is_explicit = true;
	s->kind = SETUP_EXPLICIT;
	if (error < 0) {
		const struct refusal why = conn_refusal(error);
		const struct ask ask = {.app = AUDIT_APP_HTTP, .layer = AUDIT_LAYER_PROXY};

		return refuse_connection(c, &ask, &why);
	}
	buf_add(&s->head, first, len);
	if (s->head.is_failed)
		return -ENOMEM;
	c->client.is_readable = true;
	s->step = explicit_step;
	s->view = s->head.data;
	s->view_len = s->head.len;
	return setup_resume(c);
}

void proxy_adopt(
	struct proxy *proxy, int fd, struct session *tls, const char *first, size_t len_bytes)
{
	int r = quota_take_connection(proxy->o.quota, *proxy->o.policy);
	struct conn *c = conn_new(proxy, fd);

	if (!c) {
		if (r == 0)
			quota_give_connection(proxy->o.quota);
		session_free(tls);
		close(fd);
		return;
	}
	c->client.tls = tls;
	c->is_uncounted = r < 0;
	conn_end(c, begin(c, first, len_bytes, r));
}

/* Requests are decided anew one by one; a tunnel was decided when it began. */
static bool is_allowed_still(const struct conn *c)
{
	static const enum policy_scheme schemes[] = {
		[AUDIT_APP_NONE] = POLICY_SCHEME_ANY,
		[AUDIT_APP_TLS] = POLICY_SCHEME_HTTPS,
		[AUDIT_APP_HTTP] = POLICY_SCHEME_HTTP,
		[AUDIT_APP_DNS] = POLICY_SCHEME_TCP,
		[AUDIT_APP_SOCKS5] = POLICY_SCHEME_ANY,
		[AUDIT_APP_RAW] = POLICY_SCHEME_TCP,
	};
	const struct attempt *a = &c->attempt;
	struct policy_decision d;
	struct policy_ask ask = {.port = a->port, .scheme = schemes[a->app]};
	struct host host;

	if (c->dial)
		return false; /* decided, and nothing went up yet: its client asks again */
	if (c->setup)
		return c->server.io.fd < 0;
	if (c->http || !a->host)
		return true;
	if (host_parse(a->host, strlen(a->host), &host) < 0)
		return false;
	ask.host = &host;
	policy_decide(*c->proxy->o.policy, &ask, &d);
	return d.verdict != POLICY_DENY;
}

void proxy_review(struct proxy *proxy)
{
	struct conn *c, *next;

	for (c = proxy->conns; c; c = next) {
		next = c->next;
		if (!is_allowed_still(c))
			conn_close(c, CONN_RESET);
	}
}

void proxy_cut(struct proxy *proxy)
{
	while (proxy->conns)
		conn_close(proxy->conns, CONN_RESET);
}
