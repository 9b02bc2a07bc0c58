/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions of both sides against each other over a socket pair, under the sandbox's authority. */
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
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "../../../user/tls/ca.h"
#include "../../../user/tls/session.h"
#include "../../../user/tls/state.h"

struct pair {
	struct context *cx, *other;
	struct session_io *io, *other_io;
	struct session *server, *client;
	int fds[2]; /* the server's, the client's */
	char *pem;
	size_t pem_len;
};

static struct host host_of(const char *name)
{
	struct host h;

	assert_int_equal(host_parse(name, strlen(name), &h), 0);
	return h;
}

static char *pem_of(struct context *cx, size_t *ret_len)
{
	struct buf der;
	const uint8_t *at;
	BIO *out = BIO_new(BIO_s_mem());
	X509 *cert;
	char *data, *copy;

	buf_init(&der);
	assert_int_equal(context_print_ca(cx, &der), 0);
	at = (const uint8_t *)der.data;
	cert = d2i_X509(NULL, &at, (long)der.len);
	assert_non_null(cert);
	assert_true(PEM_write_bio_X509(out, cert));
	*ret_len = (size_t)BIO_get_mem_data(out, &data);
	copy = malloc(*ret_len);
	memcpy(copy, data, *ret_len);
	X509_free(cert);
	BIO_free(out);
	buf_done(&der);
	return copy;
}

static int set_up(void **state)
{
	const struct context_options options = {.sandbox = "test", .root_bundle = ""};
	struct pair *p = calloc(1, sizeof(*p));
	const char *what;

	assert_int_equal(context_new(&options, &p->cx, &what), 0);
	assert_int_equal(context_new(&options, &p->other, &what), 0);
	assert_int_equal(session_io_new(p->cx, &p->io), 0);
	assert_int_equal(session_io_new(p->other, &p->other_io), 0);
	p->pem = pem_of(p->cx, &p->pem_len);
	p->fds[0] = p->fds[1] = -1;
	*state = p;
	return 0;
}

static void drop(struct pair *p)
{
	session_free(p->server);
	session_free(p->client);
	p->server = p->client = NULL;
	if (p->fds[0] >= 0)
		close(p->fds[0]);
	if (p->fds[1] >= 0)
		close(p->fds[1]);
	p->fds[0] = p->fds[1] = -1;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	drop(p);
	session_io_free(p->io);
	session_io_free(p->other_io);
	context_free(p->cx);
	context_free(p->other);
	free(p->pem);
	free(p);
	return 0;
}

static void begin(struct pair *p, const char *server, const char *client, unsigned int s_alpn,
	unsigned int c_alpn, bool is_trusting)
{
	struct host as = host_of(server), to = host_of(client);
	const struct session_peer peer = {.host = &to,
		.port = 443,
		.alpn = c_alpn,
		.ca_pem = is_trusting ? p->pem : NULL,
		.ca_pem_len = is_trusting ? p->pem_len : 0};

	drop(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->fds), 0);
	assert_int_equal(session_new_server(p->io, &as, 443, s_alpn, NULL, 0, &p->server), 0);
	assert_int_equal(session_new_client(p->other_io, &peer, &p->client), 0);
}

/* Both handshakes until both are over. */
static void shake(struct pair *p, int *ret_server, int *ret_client)
{
	int server = 0, client = 0;

	for (int i = 0; i < 20 && (!server || !client); i++) {
		if (!client)
			client = session_handshake(p->client, p->fds[1]);
		if (!server)
			server = session_handshake(p->server, p->fds[0]);
	}
	*ret_server = server;
	*ret_client = client;
}

static void name_and_address_are_verified(void **state)
{
	static const struct {
		const char *server, *client;
		int want;
	} rows[] = {
		{"api.example.com", "api.example.com", 1},
		{"api.example.com", "www.example.com", -EPROTO},
		{"93.184.216.34", "93.184.216.34", 1},
		{"93.184.216.34", "93.184.216.35", -EPROTO},
		{"[2606:2800:220::1]", "[2606:2800:220::1]", 1},
	};
	struct pair *p = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int server, client;

		begin(p, rows[i].server, rows[i].client, SESSION_ALPN_HTTP1, SESSION_ALPN_HTTP1,
			true);
		shake(p, &server, &client);
		assert_int_equal(client, rows[i].want);
		if (client < 0)
			assert_int_equal(session_failure(p->client), SESSION_FAILURE_UNVERIFIED);
	}
}

static void unknown_authority_is_refused_and_both_sides_know(void **state)
{
	struct pair *p = *state;
	int server, client;

	begin(p, "api.example.com", "api.example.com", 1, 1, false);
	shake(p, &server, &client);
	assert_int_equal(client, -EPROTO);
	assert_int_equal(session_failure(p->client), SESSION_FAILURE_UNVERIFIED);
	if (server == 1) {
		char byte;

		assert_int_equal(session_recv(p->server, p->fds[0], &byte, 1), -EPROTO);
	}
	assert_int_equal(session_failure(p->server), SESSION_FAILURE_REFUSED);
	assert_non_null(strstr(session_problem(p->server), "client refused our certificate"));
}

static void protocol_is_agreed_or_refused(void **state)
{
	static const struct {
		unsigned int server, client;
		int want;
		enum session_alpn alpn;
	} rows[] = {
		{SESSION_ALPN_H2 | SESSION_ALPN_HTTP1, SESSION_ALPN_H2 | SESSION_ALPN_HTTP1, 1,
			SESSION_ALPN_H2},
		{SESSION_ALPN_HTTP1, SESSION_ALPN_H2 | SESSION_ALPN_HTTP1, 1, SESSION_ALPN_HTTP1},
		{SESSION_ALPN_HTTP1, SESSION_ALPN_H2, -EPROTO, SESSION_ALPN_NONE},
		{SESSION_ALPN_HTTP1, 0, 1, SESSION_ALPN_NONE},
	};
	struct pair *p = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int server, client;

		begin(p, "a.example", "a.example", rows[i].server, rows[i].client, true);
		shake(p, &server, &client);
		assert_int_equal(client, rows[i].want);
		if (client == 1)
			assert_int_equal(session_alpn(p->client), rows[i].alpn);
		if (client == 1)
			assert_int_equal(session_alpn(p->server), rows[i].alpn);
	}
}

static uint64_t count_timed(const struct meter *m, enum meter_latency what)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += m->latencies[what].counts[i];
	return n;
}

/* Once each: done, failed, and given up in the middle. */
static void handshakes_are_timed(void **state)
{
	struct meter of_server = {0}, of_client = {0};
	struct pair *p = *state;
	int server, client;

	session_io_measure(p->io, &of_server);
	session_io_measure(p->other_io, &of_client);
	begin(p, "a.example", "a.example", 1, 1, true);
	shake(p, &server, &client);
	assert_int_equal(server, 1);
	begin(p, "a.example", "b.example", 1, 1, true);
	shake(p, &server, &client);
	begin(p, "a.example", "a.example", 1, 1, true);
	assert_int_equal(session_handshake(p->client, p->fds[1]), 0);
	drop(p);
	session_io_measure(p->io, NULL);
	session_io_measure(p->other_io, NULL);
	assert_int_equal(count_timed(&of_client, METER_TLS_ORIGIN_DONE), 1);
	assert_int_equal(count_timed(&of_client, METER_TLS_ORIGIN_FAILED), 2);
	assert_int_equal(count_timed(&of_server, METER_TLS_CLIENT_DONE), 1);
	assert_int_equal(count_timed(&of_server, METER_TLS_CLIENT_FAILED), 2);
}

/* Reads until there is nothing more. */
static size_t read_all(struct session *s, int fd, char *out, size_t size)
{
	size_t got = 0;

	for (;;) {
		ssize_t n = session_recv(s, fd, out + got, size - got);

		if (n <= 0)
			return got;
		got += (size_t)n;
	}
}

static void bytes_arrive_whole_whatever_the_socket_takes(void **state)
{
	enum { TOTAL = 3 << 20, PIECE = 65536 };
	struct pair *p = *state;
	char *data = malloc(TOTAL), *back = malloc(TOTAL + 1);
	size_t sent = 0, got = 0;
	int server, client;

	for (size_t i = 0; i < TOTAL; i++)
		data[i] = (char)(i * 2654435761u >> 13);
	begin(p, "a.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	assert_int_equal(server, 1);
	while (got < TOTAL) {
		if (sent < TOTAL) {
			ssize_t n = session_send(p->server, p->fds[0], data + sent, PIECE, false);

			assert_true(n == PIECE || n == -EAGAIN);
			sent += n > 0 ? (size_t)n : 0;
		} else {
			assert_true(session_flush(p->server, p->fds[0]) >= 0);
		}
		got += read_all(p->client, p->fds[1], back + got, TOTAL + 1 - got);
	}
	assert_int_equal(got, TOTAL);
	assert_memory_equal(data, back, TOTAL);
	free(data);
	free(back);
}

/* A tunnel through an https forward proxy: TLS inside TLS, on both ends here. */
static void sessions_stack(void **state)
{
	enum { TOTAL = 1 << 20 };
	struct host inner = host_of("origin.example");
	struct pair *p = *state;
	const struct session_peer peer = {.host = &inner,
		.port = 443,
		.ca_pem = p->pem,
		.ca_pem_len = p->pem_len,
		.below = NULL};
	struct session_peer over = peer;
	struct session *below_server;
	char *data = calloc(1, TOTAL), *back = malloc(TOTAL + 1);
	size_t sent = 0, got = 0;
	int server, client;

	memset(data, 'x', TOTAL);
	begin(p, "proxy.example", "proxy.example", 0, 0, true);
	shake(p, &server, &client);
	assert_int_equal(server, 1);
	over.below = p->client;
	assert_int_equal(session_new_client(p->other_io, &over, &p->client), 0);
	below_server = p->server;
	assert_int_equal(session_new_server(p->io, &inner, 443, 0, NULL, 0, &p->server), 0);
	p->server->below = below_server;
	shake(p, &server, &client);
	assert_int_equal(server, 1);
	assert_int_equal(client, 1);
	while (got < TOTAL) {
		if (sent < TOTAL) {
			ssize_t n = session_send(p->client, p->fds[1], data + sent, 65536, false);

			assert_true(n == 65536 || n == -EAGAIN);
			sent += n > 0 ? (size_t)n : 0;
		} else {
			assert_true(session_flush(p->client, p->fds[1]) >= 0);
		}
		got += read_all(p->server, p->fds[0], back + got, TOTAL + 1 - got);
	}
	assert_memory_equal(data, back, TOTAL);
	free(data);
	free(back);
}

static void end_and_cut_are_told_apart(void **state)
{
	struct pair *p = *state;
	int server, client;
	char byte;

	begin(p, "a.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	session_shutdown(p->server, p->fds[0]);
	shutdown(p->fds[0], SHUT_WR);
	assert_int_equal(session_recv(p->client, p->fds[1], &byte, 1), 0);
	assert_false(session_is_cut(p->client));
	begin(p, "a.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	shutdown(p->fds[0], SHUT_WR);
	assert_int_equal(session_recv(p->client, p->fds[1], &byte, 1), 0);
	assert_true(session_is_cut(p->client));
}

static void first_bytes_read_by_others_count(void **state)
{
	struct host host = host_of("a.example");
	struct pair *p = *state;
	char first[4096];
	int server = 0, client = 0;
	ssize_t n;

	begin(p, "a.example", "a.example", 0, 0, true);
	assert_int_equal(session_handshake(p->client, p->fds[1]), 0);
	n = read(p->fds[0], first, sizeof(first));
	assert_true(n > 0);
	session_free(p->server);
	assert_int_equal(session_new_server(p->io, &host, 443, 0, first, (size_t)n, &p->server), 0);
	shake(p, &server, &client);
	assert_int_equal(server, 1);
	assert_int_equal(client, 1);
}

static X509 *leaf_of(struct ca *ca, const char *name)
{
	struct host host = host_of(name);
	X509 *leaf;

	assert_int_equal(ca_leaf(ca, &host, &leaf), 0);
	return leaf;
}

static void leaves_stand_before_strict_verifiers(void **state)
{
	static const char *const names[] = {"api.example.com", "93.184.216.34",
		"xn--bcher-kva.example",
		"a23456789012345678901234567890123456789012345678901234567890123."
		"b23456789012345678901234567890123456789012345678901234567890123."
		"c23456789012345678901234567890123456789012345678901234567890123.example.com"};
	X509_STORE *store = X509_STORE_new();
	struct buf der;
	const uint8_t *at;
	struct ca *ca;
	X509 *root;

	(void)state;
	assert_int_equal(ca_new("strict", &ca), 0);
	buf_init(&der);
	assert_int_equal(ca_print_der(ca, &der), 0);
	at = (const uint8_t *)der.data;
	root = d2i_X509(NULL, &at, (long)der.len);
	X509_STORE_add_cert(store, root);
	X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		X509 *leaf = leaf_of(ca, names[i]), *again = leaf_of(ca, names[i]);
		X509_STORE_CTX *check = X509_STORE_CTX_new();

		assert_ptr_equal(leaf, again); /* cached */
		assert_true(X509_STORE_CTX_init(check, store, leaf, NULL));
		X509_STORE_CTX_set_purpose(check, X509_PURPOSE_SSL_SERVER);
		assert_int_equal(X509_verify_cert(check), 1);
		assert_true(i == 1 ? X509_check_ip_asc(leaf, names[i], 0)
				   : X509_check_host(leaf, names[i], 0, 0, NULL));
		assert_int_not_equal(X509_check_host(leaf, "example.com", 0, 0, NULL), 1);
		X509_STORE_CTX_free(check);
		X509_free(leaf);
		X509_free(again);
	}
	X509_free(root);
	X509_STORE_free(store);
	buf_done(&der);
	ca_free(ca);
}

static void leaves_beyond_the_capacity_are_made_anew(void **state)
{
	struct ca *ca;
	X509 *first, *again;
	char name[32];

	(void)state;
	assert_int_equal(ca_new("many", &ca), 0);
	first = leaf_of(ca, "h0.example");
	for (int i = 1; i < 1100; i++) {
		snprintf(name, sizeof(name), "h%d.example", i);
		X509_free(leaf_of(ca, name));
	}
	again = leaf_of(ca, "h0.example");
	assert_ptr_not_equal(first, again);
	X509_free(first);
	X509_free(again);
	ca_free(ca);
}

static void session_is_resumed_for_its_own_name_alone(void **state)
{
	struct pair *p = *state;
	int server, client;
	char byte;

	begin(p, "a.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	/* the ticket comes with the first bytes */
	assert_int_equal(session_send(p->server, p->fds[0], "x", 1, false), 1);
	assert_int_equal(session_recv(p->client, p->fds[1], &byte, 1), 1);
	assert_false(session_is_resumed(p->client));
	begin(p, "a.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	assert_int_equal(client, 1);
	assert_true(session_is_resumed(p->client));
	assert_int_equal(session_send(p->server, p->fds[0], "x", 1, false), 1);
	assert_int_equal(session_recv(p->client, p->fds[1], &byte, 1), 1);
	/* a server for another name does not take it */
	begin(p, "b.example", "a.example", 0, 0, true);
	shake(p, &server, &client);
	assert_int_equal(client, -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(name_and_address_are_verified, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			unknown_authority_is_refused_and_both_sides_know, set_up, tear_down),
		cmocka_unit_test_setup_teardown(handshakes_are_timed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(protocol_is_agreed_or_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			bytes_arrive_whole_whatever_the_socket_takes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sessions_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(end_and_cut_are_told_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			first_bytes_read_by_others_count, set_up, tear_down),
		cmocka_unit_test(leaves_stand_before_strict_verifiers),
		cmocka_unit_test(leaves_beyond_the_capacity_are_made_anew),
		cmocka_unit_test_setup_teardown(
			session_is_resumed_for_its_own_name_alone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
