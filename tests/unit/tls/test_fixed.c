/* SPDX-License-Identifier: GPL-2.0-only */
/* A server with a certificate of its own: what makes one, and who believes it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/tls/ca.h"
#include "../../../user/tls/session.h"

static struct ca *ca, *stranger;

static int start(void **state)
{
	(void)state;
	assert_int_equal(ca_new("box", &ca), 0);
	assert_int_equal(ca_new("other", &stranger), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	ca_free(ca);
	ca_free(stranger);
	return 0;
}

static struct host host_of(const char *name)
{
	struct host h;

	assert_int_equal(host_parse(name, strlen(name), &h), 0);
	return h;
}

static void add_bio(struct buf *b, BIO *bio)
{
	char *data;
	long n = BIO_get_mem_data(bio, &data);

	buf_add(b, data, (size_t)n);
	BIO_free(bio);
}

static void add_leaf(struct buf *b, const char *name)
{
	struct host h = host_of(name);
	BIO *bio = BIO_new(BIO_s_mem());
	X509 *cert;

	assert_int_equal(ca_leaf(ca, &h, &cert), 0);
	PEM_write_bio_X509(bio, cert);
	X509_free(cert);
	add_bio(b, bio);
}

static void add_key(struct buf *b, const struct ca *whose, const char *passphrase)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey(bio, ca_leaf_key(whose), passphrase ? EVP_aes_128_cbc() : NULL,
		NULL, 0, NULL, (void *)(uintptr_t)passphrase);
	add_bio(b, bio);
}

static void add_authority(struct buf *b)
{
	BIO *bio = BIO_new(BIO_s_mem());
	const uint8_t *at;
	struct buf der;
	X509 *cert;

	buf_init(&der);
	assert_int_equal(ca_print_der(ca, &der), 0);
	at = (const uint8_t *)der.data;
	cert = d2i_X509(NULL, &at, (long)der.len);
	PEM_write_bio_X509(bio, cert);
	X509_free(cert);
	add_bio(b, bio);
	buf_done(&der);
}

static int try(const struct buf *pem)
{
	struct context *cx = NULL;
	const char *what = NULL;
	int r = context_new_fixed(pem->data ? pem->data : "", pem->len, &cx, &what);

	assert_non_null(what);
	context_free(cx);
	return r;
}

static void certificate_and_its_key_make_a_server(void **state)
{
	struct buf pem;

	(void)state;
	buf_init(&pem);
	assert_int_equal(try(&pem), -EINVAL);
	buf_add_str(&pem, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
	assert_int_equal(try(&pem), -EINVAL);
	buf_clear(&pem);
	add_key(&pem, ca, NULL);
	assert_int_equal(try(&pem), -EINVAL); /* no certificate */
	add_leaf(&pem, "a.example");
	assert_int_equal(try(&pem), 0);
	add_authority(&pem);
	assert_int_equal(try(&pem), 0);
	buf_done(&pem);
}

static void key_must_be_the_certificates_and_open(void **state)
{
	struct buf pem;

	(void)state;
	buf_init(&pem);
	add_leaf(&pem, "a.example");
	assert_int_equal(try(&pem), -EINVAL);
	add_key(&pem, stranger, NULL);
	assert_int_equal(try(&pem), -EINVAL);
	buf_clear(&pem);
	add_leaf(&pem, "a.example");
	add_key(&pem, ca, "word");
	assert_int_equal(try(&pem), -EINVAL); /* nobody is asked for it */
	buf_done(&pem);
}

/* 1: both are through; negative: the client does not believe it. */
static int shake(struct session *server, struct session *client, const int *fds)
{
	int s = 0, c = 0;

	for (int i = 0; i < 20 && s >= 0 && c >= 0 && (!s || !c); i++) {
		c = c > 0 ? c : session_handshake(client, fds[1]);
		s = s > 0 ? s : session_handshake(server, fds[0]);
	}
	return s < 0 || c < 0 ? -1 : 1;
}

static int meet(const char *name, const struct buf *trusted, const struct buf *pem)
{
	const struct context_options o = {.sandbox = "client"};
	struct host host = host_of(name);
	struct session_peer peer = {.host = &host,
		.port = 443,
		.alpn = SESSION_ALPN_HTTP1,
		.ca_pem = trusted->data,
		.ca_pem_len = trusted->len};
	struct context *fixed, *cx;
	struct session_io *fixed_io, *io;
	struct session *server, *client;
	const char *what;
	int fds[2], r;

	assert_int_equal(context_new_fixed(pem->data, pem->len, &fixed, &what), 0);
	assert_int_equal(context_new(&o, &cx, &what), 0);
	assert_int_equal(session_io_new(fixed, &fixed_io), 0);
	assert_int_equal(session_io_new(cx, &io), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(session_new_fixed(fixed_io, SESSION_ALPN_HTTP1, &server), 0);
	assert_int_equal(session_new_client(io, &peer, &client), 0);
	r = shake(server, client, fds);
	if (r > 0) {
		char got[8];

		assert_int_equal(session_alpn(server), SESSION_ALPN_HTTP1);
		assert_int_equal(session_send(client, fds[1], "hello", 5, false), 5);
		assert_int_equal(session_recv(server, fds[0], got, sizeof(got)), 5);
	} else {
		assert_int_equal(session_failure(client), SESSION_FAILURE_UNVERIFIED);
	}
	session_free(server);
	session_free(client);
	session_io_free(io);
	session_io_free(fixed_io);
	context_free(cx);
	context_free(fixed);
	close(fds[0]);
	close(fds[1]);
	return r;
}

static void client_believes_name_and_authority_alone(void **state)
{
	struct buf pem, trusted;

	(void)state;
	buf_init(&pem);
	buf_init(&trusted);
	add_leaf(&pem, "gate.example");
	add_key(&pem, ca, NULL);
	add_authority(&trusted);
	assert_int_equal(meet("gate.example", &trusted, &pem), 1);
	assert_int_equal(meet("other.example", &trusted, &pem), -1);
	buf_clear(&trusted);
	add_leaf(&trusted, "third.example");
	assert_int_equal(meet("gate.example", &trusted, &pem), -1);
	buf_done(&pem);
	buf_done(&trusted);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificate_and_its_key_make_a_server),
		cmocka_unit_test(key_must_be_the_certificates_and_open),
		cmocka_unit_test(client_believes_name_and_authority_alone),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
