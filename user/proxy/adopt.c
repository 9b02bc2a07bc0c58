/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections that others accepted: a gateway's, once it is known whose they are. See proxy.h;
 * front.c is who accepts, review.c what happens to open ones when their policy changes.
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
