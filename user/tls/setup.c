/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes sessions and joins OpenSSL to their sockets; session.c runs them. See session.h. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "ca.h"
#include "session.h"
#include "state.h"

DEFINE_CLEANUP(struct session, session_free);
DEFINE_CLEANUP(X509_STORE, X509_STORE_free);
DEFINE_CLEANUP(X509, X509_free);

static BIO_METHOD *method;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- OpenSSL's view of the socket */

static int take_first(struct session *s, char *out, int size)
{
	size_t n = s->first.len - s->first_off;

	if (n > (size_t)size)
		n = (size_t)size;
	memcpy(out, s->first.data + s->first_off, n);
	s->first_off += n;
	if (s->first_off == s->first.len)
		s->first.len = s->first_off = 0;
	return (int)n;
}

/* What the session below writes meanwhile is not to mix with what this one is about to send. */
static ssize_t read_below(struct session *s, char *out, size_t size)
{
	struct buf tx = s->io->tx;
	ssize_t n;

	buf_init(&s->io->tx);
	n = session_recv(s->below, s->fd, out, size);
	buf_done(&s->io->tx);
	s->io->tx = tx;
	if (n < 0)
		errno = (int)-n;
	return n;
}

static int bio_read(BIO *bio, char *out, int size)
{
	struct session *s = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (s->first.len)
		return take_first(s, out, size);
	if (!s->may_read) {
		BIO_set_retry_read(bio);
		return -1;
	}
	n = s->below ? read_below(s, out, (size_t)size) : recv(s->fd, out, (size_t)size, 0);
	if (n < 0 && errno == EAGAIN) {
		s->is_drained = true;
		s->may_read = false;
		BIO_set_retry_read(bio);
	} else if (n < 0) {
		s->error = -errno;
	} else if (n == 0) {
		s->is_eof = true;
	} else if (n < size) {
		s->is_drained = !s->below || session_is_drained(s->below);
	}
	return n < 0 ? -1 : (int)n;
}

static int bio_write(BIO *bio, const char *data, int len)
{
	struct session *s = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	buf_add(&s->io->tx, data, (size_t)len);
	return s->io->tx.is_failed ? -1 : len;
}

static long bio_ctrl(BIO *bio, int command, long n, void *arg)
{
	struct session *s = BIO_get_data(bio);

	(void)n;
	(void)arg;
	if (command == BIO_CTRL_EOF)
		return s->is_eof;
	return command == BIO_CTRL_FLUSH;
}

/* --- callbacks of the handshake */

static bool has_protocol(const unsigned char *list, unsigned int len, const char *name)
{
	size_t n = strlen(name);

	for (unsigned int at = 0; at < len; at += 1u + list[at])
		if (list[at] == n && at + 1 + n <= len && !memcmp(list + at + 1, name, n))
			return true;
	return false;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *list, unsigned int len, void *arg)
{
	const struct session *s = SSL_get_app_data(ssl);
	const char *name = NULL;

	(void)arg;
	if (s->alpn & SESSION_ALPN_H2 && has_protocol(list, len, "h2"))
		name = "h2";
	else if (s->alpn & SESSION_ALPN_HTTP1 && has_protocol(list, len, "http/1.1"))
		name = "http/1.1";
	else if (s->alpn & SESSION_ALPN_HTTP1 && has_protocol(list, len, "http/1.0"))
		name = "http/1.0";
	if (!name)
		return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301 section 3.2 */
	*out = (const unsigned char *)name;
	*out_len = (unsigned char)strlen(name);
	return SSL_TLSEXT_ERR_OK;
}

/* The server asks for a certificate of the client: there is none. */
static int on_client_cert(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
	struct session *s = SSL_get_app_data(ssl);

	(void)cert;
	(void)key;
	s->was_asked = true;
	return 0;
}

static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
	struct session *s = SSL_get_app_data(ssl);

	if (!SSL_SESSION_is_resumable(session))
		return 0;
	tickets_put(context_tickets(s->io->cx), s->ticket_key, session);
	return 1;
}

static void make_method(void)
{
	method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "nej");
	if (!method)
		return;
	BIO_meth_set_read(method, bio_read);
	BIO_meth_set_write(method, bio_write);
	BIO_meth_set_ctrl(method, bio_ctrl);
}

int session_io_new(struct context *cx, struct session_io **ret)
{
	struct session_io *io = calloc(1, sizeof(*io));

	pthread_once(&once, make_method);
	if (!io || !method) {
		free(io);
		return -ENOMEM;
	}
	io->cx = cx;
	SSL_CTX_set_alpn_select_cb(context_server(cx), on_alpn, NULL);
	if (context_client(cx)) {
		SSL_CTX_set_client_cert_cb(context_client(cx), on_client_cert);
		SSL_CTX_sess_set_new_cb(context_client(cx), on_new_session);
	}
	*ret = io;
	return 0;
}

void session_io_free(struct session_io *io)
{
	if (!io)
		return;
	buf_done(&io->tx);
	free(io);
}

/* --- sessions */

void session_io_measure(struct session_io *io, struct meter *meter)
{
	io->meter = meter;
}

static struct session *make(struct session_io *io, SSL_CTX *ctx, bool is_server)
{
	_cleanup_(session_free_ptr)
	struct session *s = calloc(1, sizeof(*s));
	BIO *bio;

	if (!s)
		return NULL;
	s->io = io;
	s->is_server = is_server;
	s->since_ns = clock_monotonic_ns();
	s->ssl = SSL_new(ctx);
	bio = s->ssl ? BIO_new(method) : NULL;
	if (!bio)
		return NULL;
	BIO_set_data(bio, s);
	BIO_set_init(bio, 1);
	SSL_set_bio(s->ssl, bio, bio);
	SSL_set_app_data(s->ssl, s);
	return TAKE_PTR(s);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->since_ns)
		meter_time(s->io->meter,
			s->is_server ? METER_TLS_CLIENT_FAILED : METER_TLS_ORIGIN_FAILED,
			s->since_ns);
	/* else OpenSSL takes the session for a bad one and forbids to resume it */
	if (s->ssl && !s->failure)
		SSL_set_shutdown(s->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(s->ssl);
	session_free(s->below);
	ERR_clear_error();
	buf_done(&s->first);
	buf_done(&s->out);
	free(s);
}

/* SHA-256 over host, port, protocols and authority: what must agree for a session to be resumed. */
static void digest_key(const struct host *host, uint16_t port, unsigned int alpn, const void *ca,
	size_t ca_len, uint8_t ret[static SHA256_DIGEST_LENGTH])
{
	uint8_t text[HOST_MAX_BYTES + 4 + SHA256_DIGEST_LENGTH] = {0};
	size_t n = host->len;

	memcpy(text, host->name, n);
	text[n++] = 0;
	text[n++] = (uint8_t)(port >> 8);
	text[n++] = (uint8_t)port;
	text[n++] = (uint8_t)alpn;
	if (ca_len)
		SHA256(ca, ca_len, text + n);
	SHA256(text, n + SHA256_DIGEST_LENGTH, ret);
}

int session_new_server(struct session_io *io, const struct host *host, uint16_t port,
	unsigned int alpn, const void *first, size_t first_len, struct session **ret)
{
	_cleanup_(session_free_ptr)
	struct session *s = make(io, context_server(io->cx), true);
	_cleanup_(X509_free_ptr)
	X509 *cert = NULL;
	struct ca *ca = context_ca(io->cx);
	uint8_t id[SHA256_DIGEST_LENGTH];

	if (!s || ca_leaf(ca, host, &cert) < 0)
		return -ENOMEM;
	s->alpn = (uint8_t)alpn;
	buf_add(&s->first, first, first_len);
	/* a ticket of one name is no ticket for another */
	digest_key(host, port, 0, NULL, 0, id);
	if (s->first.is_failed || !SSL_use_certificate(s->ssl, cert) ||
		!SSL_use_PrivateKey(s->ssl, ca_leaf_key(ca)) ||
		!SSL_set_session_id_context(s->ssl, id, sizeof(id)))
		return -ENOMEM;
	SSL_set_accept_state(s->ssl);
	*ret = TAKE_PTR(s);
	return 0;
}

int session_new_fixed(struct session_io *io, unsigned int alpn, struct session **ret)
{
	struct session *s = make(io, context_server(io->cx), true);

	if (!s)
		return -ENOMEM;
	s->alpn = (uint8_t)alpn;
	SSL_set_accept_state(s->ssl);
	*ret = s;
	return 0;
}

/* Another set of roots, for this session alone. */
static int believe(SSL *ssl, const char *pem, size_t len)
{
	_cleanup_(X509_STORE_free_ptr)
	X509_STORE *store = X509_STORE_new();
	BIO *bio = BIO_new_mem_buf(pem, (int)len);
	X509 *cert;
	int n = 0;

	while (store && bio && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		n += X509_STORE_add_cert(store, cert);
		X509_free(cert);
	}
	BIO_free(bio);
	ERR_clear_error();
	if (!n)
		return -EINVAL;
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	return SSL_set1_verify_cert_store(ssl, store) ? 0 : -ENOMEM;
}

static int name_peer(SSL *ssl, const struct host *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (host->kind == HOST_ADDR && !host->is_embedded)
		return X509_VERIFY_PARAM_set1_ip_asc(param, host->name);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, host->name, host->len) &&
		SSL_set_tlsext_host_name(ssl, host->name);
}

static int offer(SSL *ssl, unsigned int alpn)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";
	const unsigned char *list = alpn & SESSION_ALPN_H2 ? both : both + 3;
	unsigned int len = alpn == SESSION_ALPN_H2 ? 3 : alpn == SESSION_ALPN_HTTP1 ? 9 : 12;

	return alpn ? !SSL_set_alpn_protos(ssl, list, len) : 1;
}

int session_new_client(struct session_io *io, const struct session_peer *peer, struct session **ret)
{
	_cleanup_(session_free_ptr)
	struct session *s = make(io, context_client(io->cx), false);
	SSL_SESSION *old;

	if (!s)
		return -ENOMEM;
	s->alpn = (uint8_t)peer->alpn;
	digest_key(
		peer->host, peer->port, peer->alpn, peer->ca_pem, peer->ca_pem_len, s->ticket_key);
	if (!name_peer(s->ssl, peer->host) || !offer(s->ssl, peer->alpn))
		return -ENOMEM;
	if (peer->ca_pem) {
		int r = believe(s->ssl, peer->ca_pem, peer->ca_pem_len);

		if (r < 0)
			return r;
	}
	old = tickets_take(context_tickets(io->cx), s->ticket_key);
	if (old) {
		SSL_set_session(s->ssl, old);
		SSL_SESSION_free(old);
	}
	SSL_set_connect_state(s->ssl);
	s->below = peer->below;
	*ret = TAKE_PTR(s);
	return 0;
}
