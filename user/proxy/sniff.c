/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Classification by bytes, never by port, and the checks that SNI and Host agree with the name the
 * connection already has. A connection to a real address takes its name from the bytes, and that
 * name's own addresses are dialled. Read dial.c next.
 */
#include "sniff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../wire/clienthello.h"
#include "dial.h"
#include "gate.h"
#include "http.h"
#include "intercept.h"
#include "pump.h"
#include "refuse.h"
#include "upstream.h"

#define TLS_HANDSHAKE 22
#define MAX_METHOD_BYTES 20

/* --- classification */

/* Is this the beginning of a method llhttp knows, or of a blank line before one? Only these make
 * us wait for the rest of the line: a program that speaks another protocol may be waiting for us. */
static bool is_method_prefix(const char *s, size_t n)
{
	static const char *const methods[] = {"GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT",
		"OPTIONS", "PATCH", "TRACE", "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE",
		"LOCK", "UNLOCK", "SEARCH", "REPORT", "MERGE", "CHECKOUT", "MKACTIVITY", "BIND",
		"REBIND", "UNBIND", "ACL", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "PURGE",
		"MKCALENDAR", "LINK", "UNLINK", "SOURCE", "M-SEARCH"};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t len = strlen(methods[i]);

		if (n <= len ? !memcmp(methods[i], s, n)
			     : !memcmp(methods[i], s, len) && s[len] == ' ')
			return true;
	}
	return false;
}

static bool is_token(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] > '~')
			return false;
	return n > 0;
}

/* `TOKEN SP … SP HTTP/1.x` */
static bool is_request_line(const char *s, size_t n)
{
	const char *blank = memchr(s, ' ', n);

	while (n && (s[n - 1] == '\r' || s[n - 1] == ' '))
		n--;
	return blank && is_token(s, (size_t)(blank - s)) && n > 9 &&
		!memcmp(s + n - 9, " HTTP/1.", 8);
}

enum sniff_kind sniff_classify(const char *data, size_t len_bytes)
{
	const char *end;

	if (!len_bytes)
		return SNIFF_MORE;
	if (data[0] == TLS_HANDSHAKE) {
		/* record type, version 3.x, and a ClientHello inside */
		if ((len_bytes > 1 && data[1] != 3) || (len_bytes > 5 && data[5] != 1))
			return SNIFF_RAW;
		return len_bytes > 5 ? SNIFF_TLS : SNIFF_MORE;
	}
	while (len_bytes && (*data == '\r' || *data == '\n')) {
		data++;
		len_bytes--;
	}
	end = memchr(data, '\n', len_bytes);
	if (end)
		return is_request_line(data, (size_t)(end - data)) ? SNIFF_HTTP : SNIFF_RAW;
	return is_method_prefix(data, len_bytes) && len_bytes < NEJ_MAX_HEAD_BYTES ? SNIFF_MORE
										   : SNIFF_RAW;
}

/* A client of an eager port that waits for its server's greeting would wait for ever: it is told no
 * within a second. */
uint64_t sniff_limit_ms(const struct setup *s)
{
	if (s->view_len)
		return SNIFF_LIMIT_MS;
	if (s->is_eager)
		return SNIFF_EAGER_LIMIT_MS;
	return s->kind == SETUP_CONNECT ? SNIFF_IDLE_LIMIT_MS : SNIFF_LIMIT_MS;
}

/* --- refusals of a connection */

struct ask sniff_ask(const struct conn *c)
{
	static const struct http1_text connect = {"CONNECT", 7};
	const struct setup *s = c->setup;
	struct ask ask = {
		.host = s->host.len ? &s->host : NULL,
		.port = s->port,
		.app = s->app,
		.layer = AUDIT_LAYER_PROXY,
		.wants_json = s->wants_json,
		.note = s->has_ech ? "the ClientHello carries ECH; its outer name decided" : NULL,
	};

	if (s->kind == SETUP_CONNECT && !s->is_socks)
		ask.method = connect;
	else if (s->is_socks && !s->app)
		ask.app = AUDIT_APP_SOCKS5;
	return ask;
}

static int refuse(struct conn *c, const struct refusal *why)
{
	struct ask ask = sniff_ask(c);

	return refuse_connection(c, &ask, why);
}

static int refuse_plainly(struct conn *c, enum nej_reason reason, const char *detail)
{
	const struct refusal why = {.reason = reason, .rule = POLICY_NO_RULE, .detail = detail};

	return refuse(c, &why);
}

/* --- dialling */

/* Another policy came into force while it was dialled: it has to allow it too. */
static bool is_allowed_still(struct conn *c, struct refusal *ret_why)
{
	static const enum policy_scheme schemes[] = {
		[AUDIT_APP_TLS] = POLICY_SCHEME_HTTPS,
		[AUDIT_APP_HTTP] = POLICY_SCHEME_HTTP,
		[AUDIT_APP_RAW] = POLICY_SCHEME_TCP,
	};
	struct setup *s = c->setup;
	struct gate_pass pass;
	bool is_allowed;

	if (s->generation == *c->proxy->o.generation)
		return true;
	if (s->is_host_port)
		return gate_host_port(c->proxy, s->port, ret_why);
	if (s->app == AUDIT_APP_NONE && s->kind != SETUP_TRANSPARENT)
		is_allowed = gate_any(c->proxy, &s->host, s->port, &pass, ret_why);
	else
		is_allowed = gate_connection(c->proxy,
			s->app == AUDIT_APP_NONE ? POLICY_SCHEME_TCP : schemes[s->app], &s->host,
			s->port, &pass, ret_why);
	if (is_allowed && s->app == AUDIT_APP_TLS && pass.is_inspect) {
		*ret_why = (struct refusal){.reason = NEJ_REASON_POLICY_UNAVAILABLE,
			.rule = pass.rule,
			.detail = "the policy changed meanwhile: connect again"};
		return false;
	}
	s->rule = pass.rule;
	return is_allowed;
}

static void on_dialled(struct conn *c, const struct refusal *why)
{
	struct setup *s = c->setup;
	struct refusal changed;
	int r;

	s->is_dialling = false;
	if (!why && !is_allowed_still(c, &changed))
		why = &changed;
	r = why ? refuse(c, why) : s->reached(c);
	if (r == 0 && c->setup)
		r = setup_read(c);
	conn_end(c, r);
}

int sniff_dial(struct conn *c)
{
	struct setup *s = c->setup;
	struct dial_target target = {.host = &s->host,
		.port = s->port,
		.rule = s->rule,
		.is_host_port = s->is_host_port};
	struct refusal why;
	int r = record_admit(c, s->rule, &why);

	if (r == 0)
		r = dial_start(c, &target, on_dialled, &why);
	if (r < 0)
		return refuse(c, &why);
	if (r > 0)
		return s->reached(c);
	s->is_dialling = true;
	return setup_wait(c);
}

/* --- what happens once the bytes are understood */

/* The server is connected and everything is decided: the record, then the bytes. */
static int establish(struct conn *c)
{
	struct setup *s = c->setup;
	struct ask ask = sniff_ask(c);
	struct refusal why;
	int r = s->is_recorded ? 0 : record_allowed(c, &ask, s->rule, &why);

	return r < 0 ? refuse(c, &why) : pump_start(c, s->view, s->view_len);
}

int sniff_gave_up(struct conn *c, bool is_timeout)
{
	struct setup *s = c->setup;
	struct refusal why = {.reason = NEJ_REASON_NO_NAME, .rule = POLICY_NO_RULE};
	struct gate_pass unused;

	if (s->kind == SETUP_EXPLICIT && !s->view_len)
		return CONN_CLOSE; /* asked for nothing */
	if (s->is_raw_ok && c->server.io.fd >= 0)
		return establish(c); /* a client that only listens: its FIN goes on */
	if (s->host.len && !s->is_host_port)
		gate_connection(c->proxy, POLICY_SCHEME_ANY, &s->host, s->port, &unused, &why);
	if (why.reason == NEJ_REASON_NONE || why.reason == NEJ_REASON_RULE) {
		/* it could have been allowed: nobody knows what was meant */
		why.reason = s->view_len ? NEJ_REASON_UNKNOWN_PROTOCOL : NEJ_REASON_NO_NAME;
		why.rule = POLICY_NO_RULE;
	}
	why.detail = is_timeout ? "the client did not finish its first message in time"
				: "the client closed before its first message was complete";
	return refuse(c, &why);
}

/* To the server. It may be connected already, but by another way than the rule found now asks for:
 * then anew, unless it was heard. */
static int go_up(struct conn *c)
{
	struct setup *s = c->setup;

	if (c->server.io.fd >= 0 && upstream_is_way_of(c, s->rule))
		return establish(c);
	if (s->has_spoken || s->is_recorded)
		return refuse_plainly(c, NEJ_REASON_UNKNOWN_PROTOCOL,
			"the server spoke first, and another way leads there for this protocol");
	if (c->server.io.fd >= 0)
		conn_drop_server(c);
	s->reached = establish;
	return sniff_dial(c);
}

static int pass(struct conn *c, enum policy_scheme scheme)
{
	struct setup *s = c->setup;
	struct gate_pass pass;
	struct refusal why;

	if (!gate_connection(c->proxy, scheme, &s->host, s->port, &pass, &why))
		return refuse(c, &why);
	s->rule = pass.rule;
	if (pass.is_inspect)
		return intercept_start(c);
	return go_up(c);
}

/* TLS that names nobody: to an address literal, decided as one; to a name, only where any protocol
 * may pass, since nothing shows that the name is the one the server will answer for. */
static int pass_nameless(struct conn *c)
{
	struct setup *s = c->setup;
	struct gate_pass unused;
	struct refusal why;

	if (s->host.kind == HOST_ADDR)
		return pass(c, POLICY_SCHEME_HTTPS);
	if (gate_connection(c->proxy, POLICY_SCHEME_TCP, &s->host, s->port, &unused, &why))
		return pass(c, POLICY_SCHEME_TCP);
	return refuse_plainly(c, NEJ_REASON_NO_NAME, "the ClientHello has no SNI");
}

/* The name in a ClientHello against what is known. Refused when negative or the set-up is gone. */
static int check_sni(struct conn *c, const struct clienthello *hello)
{
	struct setup *s = c->setup;
	char detail[600];

	if (host_equal(&hello->host, &s->host))
		return 0;
	if (!s->is_fixed && hello->host.kind == HOST_NAME) {
		s->host = hello->host;
		return 0;
	}
	snprintf(detail, sizeof(detail), "SNI %s on a connection to %s", hello->host.name,
		s->host.name);
	return refuse_plainly(c,
		hello->host.kind == HOST_ADDR ? NEJ_REASON_ADDRESS_LITERAL
					      : NEJ_REASON_HOST_MISMATCH,
		detail);
}

static int step_tls(struct conn *c)
{
	struct setup *s = c->setup;
	struct clienthello hello;
	int r = clienthello_parse((const uint8_t *)s->view, s->view_len, &hello);

	if (r == -EAGAIN)
		return 0;
	s->app = AUDIT_APP_TLS;
	if (r == -EINVAL)
		return refuse_plainly(c, NEJ_REASON_MALFORMED_HOST, "the SNI is not a host name");
	if (r < 0)
		return refuse_plainly(c, NEJ_REASON_FRAMING, "malformed ClientHello");
	s->has_ech = hello.has_ech;
	s->has_h2 = hello.has_alpn_h2;
	if (!hello.has_sni)
		return pass_nameless(c);
	r = check_sni(c, &hello);
	return r < 0 || !c->setup ? r : pass(c, POLICY_SCHEME_HTTPS);
}

static int step_raw(struct conn *c)
{
	struct setup *s = c->setup;
	struct gate_pass pass;
	struct refusal why;

	s->app = AUDIT_APP_RAW;
	if (s->is_raw_ok)
		return establish(c);
	if (!gate_connection(c->proxy, POLICY_SCHEME_TCP, &s->host, s->port, &pass, &why)) {
		/* the host may be allowed, only not with this protocol */
		if (why.reason == NEJ_REASON_NO_RULE && s->host.kind == HOST_NAME)
			why.reason = NEJ_REASON_UNKNOWN_PROTOCOL;
		return refuse(c, &why);
	}
	s->rule = pass.rule;
	return go_up(c);
}

static int step_http(struct conn *c)
{
	c->setup->app = AUDIT_APP_HTTP;
	if (c->setup->has_spoken)
		return refuse_plainly(c, NEJ_REASON_UNKNOWN_PROTOCOL,
			"an HTTP request on a connection whose server spoke first");
	return http_start(c);
}

int sniff_step(struct conn *c)
{
	struct setup *s = c->setup;

	if (s->is_host_port)
		return step_raw(c);
	switch (sniff_classify(s->view, s->view_len)) {
	case SNIFF_TLS:
		return step_tls(c);
	case SNIFF_HTTP:
		return step_http(c);
	case SNIFF_RAW:
		return step_raw(c);
	default:
		return 0;
	}
}

/* --- servers that may speak first */

/* Server bytes go down while the client's are still being sniffed. The record comes before them. */
static void early_on_server(struct loop_io *io, uint32_t events)
{
	struct conn *c = conn_of_server(io);
	struct setup *s = c->setup;
	struct ask ask = sniff_ask(c);
	struct refusal why;
	int r = half_note(&c->server, events);

	if (r == 0 && c->server.is_readable && !s->is_recorded) {
		if (!ask.app)
			ask.app = AUDIT_APP_RAW;
		s->is_recorded = true;
		r = record_allowed(c, &ask, s->rule, &why);
		if (r < 0)
			r = refuse(c, &why);
	}
	if (r == 0 && c->setup)
		r = pump_move(c, &c->server, &c->client);
	if (r == 0 && c->setup && c->attempt.bytes_in)
		s->has_spoken = true;
	conn_end(c, r);
}

int sniff_reached_early(struct conn *c)
{
	struct setup *s = c->setup;
	struct ask ask = sniff_ask(c);
	struct refusal why;
	int r;

	/* a port of the host's loopback: nothing in the bytes could change the verdict */
	if (s->is_host_port) {
		if (!ask.app)
			ask.app = AUDIT_APP_RAW;
		r = record_allowed(c, &ask, s->rule, &why);
		return r < 0 ? refuse(c, &why) : pump_start(c, s->view, s->view_len);
	}
	return conn_watch(c, &c->server, early_on_server);
}

int sniff_early(struct conn *c)
{
	struct setup *s = c->setup;
	struct gate_pass pass;
	struct refusal why;

	if (s->kind != SETUP_TRANSPARENT)
		return 0;
	if (s->is_host_port) {
		if (!gate_host_port(c->proxy, s->port, &why))
			return refuse(c, &why);
	} else if (!gate_connection(c->proxy, POLICY_SCHEME_TCP, &s->host, s->port, &pass, &why)) {
		return 0; /* perhaps as HTTPS or HTTP: wait for the bytes */
	} else {
		s->rule = pass.rule;
	}
	s->is_raw_ok = true;
	s->reached = sniff_reached_early;
	return sniff_dial(c);
}
