/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of both sides; see context.h. One SSL_CTX a side for all hosts: making one costs as
 * much as half a handshake.
 */
#include "context.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "blocks.h"
#include "ca.h"
#include "roots.h"
#include "tickets.h"

#define READ_BUF_BYTES (64 * 1024) /* records read in one system call */
#define MAX_EXTRA_ROOTS 64

struct context {
	struct ca *ca;
	struct tickets *tickets;
	SSL_CTX *server, *client;
};

DEFINE_CLEANUP(struct context, context_free);
DEFINE_CLEANUP(BIO, BIO_free);

static SSL_CTX *make_side(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx,
		SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* SHA-256 and 128 bits first: processors have instructions for them, and a third of a handshake
	 * is hashing */
	SSL_CTX_set_ciphersuites(
		ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_read_buffer_len(ctx, READ_BUF_BYTES);
	return ctx;
}

static int make_server(struct context *cx)
{
	cx->server = make_side(TLS_server_method());
	if (!cx->server)
		return -ENOMEM;
	SSL_CTX_set_options(cx->server, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
	/* the sessions are in the clients' tickets, under keys that die with the worker */
	SSL_CTX_set_session_cache_mode(cx->server, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(cx->server, 0); /* session_send asks for one */
	SSL_CTX_set1_groups_list(cx->server, "X25519:P-256:P-384");
	return 0;
}

static int make_client(struct context *cx, const struct context_options *o, const char **ret_what)
{
	const char *paths[1 + MAX_EXTRA_ROOTS] = {o->root_bundle};
	unsigned int n = 1;
	X509_STORE *store;
	int r;

	if (!paths[0])
		paths[0] = roots_system_bundle();
	for (unsigned int i = 0; i < o->n_extra_roots && n <= MAX_EXTRA_ROOTS; i++)
		paths[n++] = o->extra_roots[i];
	r = roots_load(paths, n, &store, ret_what);
	if (r < 0)
		return r;
	cx->client = make_side(TLS_client_method());
	if (!cx->client) {
		X509_STORE_free(store);
		return -ENOMEM;
	}
	SSL_CTX_set_cert_store(cx->client, store);
	SSL_CTX_set_verify(cx->client, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(
		cx->client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	return 0;
}

int context_new(const struct context_options *options, struct context **ret, const char **ret_what)
{
	_cleanup_(context_free_ptr)
	struct context *cx = calloc(1, sizeof(*cx));
	int r;

	*ret_what = "TLS";
	if (!cx)
		return -ENOMEM;
	blocks_install();
	r = ca_new(options->sandbox, &cx->ca);
	if (r >= 0)
		r = tickets_new(&cx->tickets);
	if (r >= 0)
		r = make_server(cx);
	if (r >= 0)
		r = make_client(cx, options, ret_what);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(cx);
	return 0;
}

/* A key under a passphrase is none: nobody is asked. */
static int no_passphrase(char *buf, int size, int is_writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)is_writing;
	(void)arg;
	return 0;
}

/* The first certificate is ours, the others lead to it. How many. */
static int use_certificates(SSL_CTX *ctx, BIO *bio)
{
	X509 *cert;
	int n = 0;

	while ((cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL))) {
		int is_used = n ? (int)SSL_CTX_add1_chain_cert(ctx, cert)
				: SSL_CTX_use_certificate(ctx, cert);

		X509_free(cert);
		if (is_used != 1)
			return -EINVAL;
		n++;
	}
	return n;
}

static int use_key(SSL_CTX *ctx, BIO *bio)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	int r = key && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1
		? 0
		: -EINVAL;

	EVP_PKEY_free(key);
	return r;
}

static int use_pem(SSL_CTX *ctx, const char *pem, size_t len, const char **ret_what)
{
	_cleanup_(BIO_free_ptr)
	BIO *certs = BIO_new_mem_buf(pem, (int)len);
	_cleanup_(BIO_free_ptr)
	BIO *key = BIO_new_mem_buf(pem, (int)len);
	int r = -ENOMEM;

	if (!certs || !key)
		return r;
	*ret_what = "the certificate";
	r = use_certificates(ctx, certs) > 0 ? 0 : -EINVAL;
	if (r == 0) {
		*ret_what = "the private key, which must belong to the certificate";
		r = use_key(ctx, key);
	}
	ERR_clear_error();
	return r;
}

int context_new_fixed(
	const char *pem, size_t len_bytes, struct context **ret, const char **ret_what)
{
	_cleanup_(context_free_ptr)
	struct context *cx = calloc(1, sizeof(*cx));
	static const unsigned char id[] = "nej";
	int r;

	*ret_what = "TLS";
	if (!cx || len_bytes > INT_MAX)
		return -ENOMEM;
	r = make_server(cx);
	if (r >= 0)
		r = use_pem(cx->server, pem, len_bytes, ret_what);
	if (r < 0)
		return r;
	SSL_CTX_set_session_id_context(cx->server, id, sizeof(id) - 1);
	*ret = TAKE_PTR(cx);
	return 0;
}

void context_free(struct context *cx)
{
	if (!cx)
		return;
	SSL_CTX_free(cx->server);
	SSL_CTX_free(cx->client);
	tickets_free(cx->tickets);
	ca_free(cx->ca);
	free(cx);
}

int context_print_ca(const struct context *cx, struct buf *out)
{
	return ca_print_der(cx->ca, out);
}

struct ca *context_ca(const struct context *cx)
{
	return cx->ca;
}

SSL_CTX *context_server(const struct context *cx)
{
	return cx->server;
}

SSL_CTX *context_client(const struct context *cx)
{
	return cx->client;
}

struct tickets *context_tickets(const struct context *cx)
{
	return cx->tickets;
}
