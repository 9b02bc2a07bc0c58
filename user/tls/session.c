/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A TLS connection; see session.h. OpenSSL reads the socket directly, up to 64 KiB at once, and
 * writes into a buffer of the thread, so that all records of one turn leave in one send(2); what
 * the socket does not take is kept with the session. setup.c makes sessions.
 */
#include "session.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/cleanup.h"
#include "state.h"

/* --- what is to be sent */

/* As send(2), with the error in the result; through the session below where there is one. */
static ssize_t put(struct session *s, const void *data, size_t len, int flags)
{
	struct buf tx = s->io->tx;
	ssize_t n;

	if (!s->below) {
		n = send(s->fd, data, len, MSG_NOSIGNAL | flags);
		return n < 0 ? -errno : n;
	}
	/* it writes into the same buffer of the thread */
	buf_init(&s->io->tx);
	n = session_send(s->below, s->fd, data, len, flags & MSG_MORE);
	buf_done(&s->io->tx);
	s->io->tx = tx;
	return n;
}

/* tx holds what OpenSSL just wrote. Behind bytes that wait it waits too. 0 or negative errno. */
static int push(struct session *s, int flags)
{
	struct buf *tx = &s->io->tx;
	ssize_t n = 0;

	if (!tx->len)
		return tx->is_failed ? -ENOMEM : 0;
	if (!s->out.len) {
		n = put(s, tx->data, tx->len, flags);
		if (n < 0 && n != -EAGAIN) {
			buf_clear(tx);
			return (int)n;
		}
		if (n < 0)
			n = 0;
	}
	if ((size_t)n < tx->len)
		buf_add(&s->out, tx->data + n, tx->len - (size_t)n);
	buf_clear(tx);
	return s->out.is_failed ? -ENOMEM : 0;
}

bool session_is_clogged(const struct session *s)
{
	return s->out.len > 0 || (s->below && session_is_clogged(s->below));
}

int session_flush(struct session *s, int fd)
{
	ssize_t n;
	int r = s->below ? session_flush(s->below, fd) : 1;

	if (r <= 0 || !s->out.len)
		return r;
	s->fd = fd;
	n = put(s, s->out.data + s->out_off, s->out.len - s->out_off, 0);
	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	s->out_off += (size_t)n;
	if (s->out_off < s->out.len)
		return 0;
	buf_done(&s->out);
	buf_init(&s->out);
	s->out_off = 0;
	return !session_is_clogged(s);
}

/* --- failures */

static bool is_refusal(int alert)
{
	/* bad_certificate, unsupported, revoked, expired, certificate_unknown; unknown_ca */
	return (alert >= 42 && alert <= 46) || alert == 48;
}

static void note(struct session *s, enum session_failure failure, const char *problem)
{
	if (s->failure)
		return;
	s->failure = failure;
	s->problem = problem;
}

/* An alert of the peer, by number. */
static void note_alert(struct session *s, int alert)
{
	if (s->is_server && is_refusal(alert))
		note(s, SESSION_FAILURE_REFUSED, "client refused our certificate");
	else if (!s->is_server && s->was_asked && (alert == 116 || alert == 40 || alert == 42))
		note(s, SESSION_FAILURE_CLIENT_CERT,
			"the server asks for a client certificate, which only the client itself "
			"can present: a rule that needs no inspection lets it");
	else if (!s->is_server && alert == SSL_AD_NO_APPLICATION_PROTOCOL)
		note(s, SESSION_FAILURE_ALPN, "it speaks none of the protocols that were offered");
	else
		note(s, SESSION_FAILURE_PROTOCOL, SSL_alert_desc_string_long(alert));
}

/* From OpenSSL's error queue to a reason. */
static void note_error(struct session *s)
{
	unsigned long e = ERR_peek_error();
	int reason = ERR_GET_REASON(e);
	long verified = SSL_get_verify_result(s->ssl);
	const char *text = ERR_reason_error_string(e);

	ERR_clear_error();
	if (!s->is_server && verified != X509_V_OK)
		note(s, SESSION_FAILURE_UNVERIFIED, X509_verify_cert_error_string(verified));
	else if (ERR_GET_LIB(e) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET)
		note_alert(s, reason - SSL_AD_REASON_OFFSET);
	else
		note(s, SESSION_FAILURE_PROTOCOL, text ? text : "the TLS handshake failed");
}

/* After a call of OpenSSL that neither succeeded nor wants the socket: negative errno. */
static int fail(struct session *s, int ssl_error)
{
	bool is_reset = s->error != 0;
	int r = s->error ? s->error : -EPROTO;

	if (ssl_error == SSL_ERROR_SSL && ERR_peek_error())
		note_error(s);
	else
		note(s, SESSION_FAILURE_GONE,
			is_reset ? "the peer reset the connection"
				 : "the peer closed the connection in the middle of it");
	ERR_clear_error();
	return r;
}

const char *session_problem(const struct session *s)
{
	return s->problem ? s->problem : "nothing is wrong";
}

enum session_failure session_failure(const struct session *s)
{
	return s->failure;
}

/* --- handshake */

static void time_it(struct session *s, bool is_done)
{
	enum meter_latency what = s->is_server
		? (is_done ? METER_TLS_CLIENT_DONE : METER_TLS_CLIENT_FAILED)
		: (is_done ? METER_TLS_ORIGIN_DONE : METER_TLS_ORIGIN_FAILED);

	if (s->since_ns)
		meter_time(s->io->meter, what, s->since_ns);
	s->since_ns = 0;
}

static int step(struct session *s, int fd)
{
	int n, error, r;

	s->fd = fd;
	s->may_read = true;
	ERR_clear_error();
	n = SSL_do_handshake(s->ssl);
	error = n == 1 ? SSL_ERROR_NONE : SSL_get_error(s->ssl, n);
	r = push(s, 0); /* an alert as well */
	if (error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ) {
		if (r < 0) {
			s->error = r;
			return fail(s, SSL_ERROR_SYSCALL);
		}
		if (error == SSL_ERROR_NONE)
			buf_done(&s->first);
		return error == SSL_ERROR_NONE;
	}
	/* a client that leaves when it sees a certificate it does not want says nothing */
	if (s->is_server && s->is_eof && SSL_get_state(s->ssl) != TLS_ST_BEFORE)
		note(s, SESSION_FAILURE_REFUSED,
			"client refused our certificate: it closed the connection in the middle "
			"of the handshake");
	return fail(s, error);
}

int session_handshake(struct session *s, int fd)
{
	int r = step(s, fd);

	if (r != 0)
		time_it(s, r > 0);
	return r;
}

enum session_alpn session_alpn(const struct session *s)
{
	const unsigned char *name;
	unsigned int len;

	SSL_get0_alpn_selected(s->ssl, &name, &len);
	if (len == 2)
		return SESSION_ALPN_H2;
	return len ? SESSION_ALPN_HTTP1 : SESSION_ALPN_NONE;
}

bool session_is_resumed(const struct session *s)
{
	return SSL_session_reused(s->ssl);
}

/* --- data */

/* Nothing could be read. */
static ssize_t read_ended(struct session *s, int n)
{
	int error = SSL_get_error(s->ssl, n);

	switch (error) {
	case SSL_ERROR_WANT_READ:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		s->is_cut = s->is_eof;
		s->is_drained = false;
		return 0;
	default:
		s->is_drained = false;
		return fail(s, error);
	}
}

ssize_t session_recv(struct session *s, int fd, void *buf, size_t size_bytes)
{
	size_t got = 0;
	ssize_t r = 0;
	int sent;

	s->fd = fd;
	s->may_read = true;
	s->is_drained = false;
	ERR_clear_error();
	while (got < size_bytes) {
		int n = SSL_read(s->ssl, (char *)buf + got, (int)(size_bytes - got));

		if (n <= 0) {
			r = read_ended(s, n);
			break;
		}
		got += (size_t)n;
		/* a short read means an empty queue, and one call is enough for a turn */
		s->may_read = false;
	}
	if (got == size_bytes)
		s->is_drained = false;
	sent = push(s, 0);
	if (got)
		return (ssize_t)got;
	return r == -EAGAIN && sent < 0 ? sent : r;
}

bool session_is_drained(const struct session *s)
{
	return s->is_drained;
}

bool session_is_cut(const struct session *s)
{
	return s->is_cut;
}

ssize_t session_send(struct session *s, int fd, const void *data, size_t len_bytes, bool want_more)
{
	int n, r = session_flush(s, fd);

	if (r <= 0)
		return r < 0 ? r : -EAGAIN;
	if (!len_bytes)
		return 0;
	s->fd = fd;
	s->may_read = false;
	ERR_clear_error();
	/* the ticket goes with the first answer: a handshake that nothing follows needs none */
	if (s->is_server && !s->has_ticket) {
		s->has_ticket = true;
		SSL_new_session_ticket(s->ssl);
	}
	n = SSL_write(s->ssl, data, (int)len_bytes);
	if (n <= 0) {
		buf_clear(&s->io->tx);
		return fail(s, SSL_get_error(s->ssl, n));
	}
	r = push(s, want_more ? MSG_MORE : 0);
	return r < 0 ? r : n;
}

void session_shutdown(struct session *s, int fd)
{
	if (!SSL_is_init_finished(s->ssl) || s->failure)
		return;
	s->fd = fd;
	s->may_read = false;
	ERR_clear_error();
	SSL_shutdown(s->ssl);
	ERR_clear_error();
	(void)push(s, 0);
	if (s->below)
		session_shutdown(s->below, fd);
}
