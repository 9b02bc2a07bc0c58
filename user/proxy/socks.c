/* SPDX-License-Identifier: GPL-2.0-only */
/* The SOCKS5 dialogue; messages are wire/socks5.c's. A user name and password mean nothing here. */
#include "socks.h"

#include <errno.h>

#include "../wire/socks5.h"
#include "explicit.h"
#include "pump.h"
#include "refuse.h"

static int send_bytes(struct conn *c, uint8_t a, uint8_t b)
{
	const uint8_t bytes[] = {a, b};

	return half_send(c, &c->server, &c->client, bytes, sizeof(bytes), 0);
}

static int reached(struct conn *c)
{
	uint8_t reply[SOCKS5_REPLY_BYTES];
	int r;

	socks5_print_reply(SOCKS5_OK, reply);
	r = half_send(c, &c->server, &c->client, reply, sizeof(reply), 0);
	return r < 0 ? r : explicit_answered(c);
}

/* A request that cannot be served, in its own reply code. */
static int refuse_request(struct conn *c, int error)
{
	const struct refusal why = {
		.reason = error == -EINVAL ? NEJ_REASON_MALFORMED_HOST : NEJ_REASON_FRAMING,
		.rule = POLICY_NO_RULE,
		.detail = error == -EOPNOTSUPP ? "only CONNECT is served" : NULL,
	};
	const struct ask ask = {.app = AUDIT_APP_SOCKS5, .layer = AUDIT_LAYER_PROXY};
	uint8_t reply[SOCKS5_REPLY_BYTES];
	int r;

	if (error != -EOPNOTSUPP && error != -EAFNOSUPPORT)
		return refuse_connection(c, &ask, &why);
	record_refused(c, &ask, &why, 0);
	socks5_print_reply(
		error == -EOPNOTSUPP ? SOCKS5_COMMAND_UNKNOWN : SOCKS5_ADDRESS_UNKNOWN, reply);
	r = half_send(c, &c->server, &c->client, reply, sizeof(reply), 0);
	return r < 0 ? r : conn_finish(c, !c->client.is_readable);
}

static int greet(struct conn *c, const uint8_t *data, size_t len)
{
	struct setup *s = c->setup;
	enum socks5_method method;
	int n = socks5_parse_greeting(data, len, &method), r;

	if (n <= 0)
		return n;
	r = send_bytes(c, 5, (uint8_t)method);
	if (r < 0)
		return r;
	s->is_greeted = true;
	s->is_password_due = method == SOCKS5_PASSWORD;
	if (method == SOCKS5_NONE_FITS)
		return -EBADMSG;
	return n;
}

static int take_password(struct conn *c, const uint8_t *data, size_t len)
{
	int n = socks5_parse_password(data, len), r;

	if (n <= 0)
		return n;
	c->setup->is_password_due = false;
	r = send_bytes(c, 1, 0);
	return r < 0 ? r : n;
}

static int request(struct conn *c, const uint8_t *data, size_t len)
{
	struct host host;
	uint16_t port;
	int n = socks5_parse_request(data, len, &host, &port);

	if (n < 0)
		return refuse_request(c, n);
	if (n == 0)
		return 0;
	setup_take(c->setup, (size_t)n);
	return explicit_go(c, &host, port, reached);
}

int socks_step(struct conn *c)
{
	struct setup *s = c->setup;

	while (s->view_len) {
		const uint8_t *data = (const uint8_t *)s->view;
		int n;

		if (s->is_greeted && !s->is_password_due)
			return request(c, data, s->view_len);
		n = s->is_greeted ? take_password(c, data, s->view_len)
				  : greet(c, data, s->view_len);
		if (n == -EBADMSG)
			return s->is_greeted ? conn_finish(c, true) : CONN_RESET;
		if (n <= 0)
			return n;
		setup_take(s, (size_t)n);
	}
	return 0;
}
