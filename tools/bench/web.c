// SPDX-License-Identifier: GPL-2.0-only
/*
 * HTTP over TLS and in clear, for the suites that look inside: clients of several kinds and the
 * origin. Blocking, a thread a connection: what it costs is the same for every contender. Verifies
 * certificates as a real client does. Read web.py next.
 *
 *   web origin listen=ADDR:PORT [cert=FILE key=FILE]
 *   web hs|new|keep|h2|bulk|hold dial=ADDR:PORT name=NAME [ca=FILE] [via=direct|abs]
 *       [conc=N] [secs=S | count=N] [bytes=N]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define BODY_BYTES 300
#define PIECE (256 << 10)

static struct {
	const char *mode, *dial, *listen, *name, *ca, *cert, *key, *via;
	unsigned long conc, count, bytes;
	double secs;
} o = {.conc = 32, .secs = 1, .bytes = 1 << 30, .via = "direct"};

static SSL_CTX *ctx;
static _Atomic unsigned long n_begun;
static double until;

struct lane {
	pthread_t thread;
	unsigned long ops, errors, n_us;
	double bytes, last, *us; /* last: when the last one ended well */
	size_t cap;
};

/* One connection: TLS when ssl is set. */
struct link {
	int fd;
	SSL *ssl;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "failed");
	ERR_print_errors_fp(stderr);
	exit(1);
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	char host[64];
	unsigned int port;

	if (sscanf(text, "%63[^:]:%u", host, &port) != 2 ||
		inet_pton(AF_INET, host, &sa.sin_addr) != 1)
		die(text);
	sa.sin_port = htons((uint16_t)port);
	return sa;
}

static long put(struct link *l, const void *data, size_t len)
{
	return l->ssl ? SSL_write(l->ssl, data, (int)len) : send(l->fd, data, len, MSG_NOSIGNAL);
}

static long get(struct link *l, void *data, size_t len)
{
	return l->ssl ? SSL_read(l->ssl, data, (int)len) : recv(l->fd, data, len, 0);
}

static void cut(struct link *l)
{
	SSL_free(l->ssl);
	close(l->fd);
	*l = (struct link){.fd = -1};
}

/* --- the client */

static bool connect_to(struct link *l, const char *name)
{
	struct sockaddr_in sa = address(o.dial);
	int one = 1;

	*l = (struct link){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(l->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return false;
	if (!o.ca)
		return true;
	l->ssl = SSL_new(ctx);
	SSL_set_fd(l->ssl, l->fd);
	SSL_set_tlsext_host_name(l->ssl, name);
	SSL_set1_host(l->ssl, name);
	return SSL_connect(l->ssl) == 1;
}

/* Sends a request and reads the whole answer. How many bytes of body, negative: it failed. */
static double fetch(struct link *l, const char *name, unsigned long bytes, char *piece)
{
	bool is_abs = !strcmp(o.via, "abs");
	int n = snprintf(piece, PIECE,
		"GET %s%s/%lu HTTP/1.1\r\nHost: %s\r\nUser-Agent: web\r\n\r\n",
		is_abs ? "http://" : "", is_abs ? name : "", bytes, name);
	double body = -1;
	long have = 0;

	if (put(l, piece, (size_t)n) != n)
		return -1;
	while (body < 0) { /* the head */
		char *end;
		long r = get(l, piece + have, (size_t)(PIECE - have - 1));

		if (r <= 0)
			return -1;
		have += r;
		piece[have] = 0;
		end = strstr(piece, "\r\n\r\n");
		if (end && strncmp(piece, "HTTP/1.1 200", 12) != 0)
			return -1;
		if (end)
			body = (double)(have - (end + 4 - piece));
	}
	while (body < (double)bytes) {
		long r = get(l, piece, PIECE);

		if (r <= 0)
			return -1;
		body += (double)r;
	}
	return body;
}

static void note(struct lane *lane, double begin, bool is_ok, double bytes)
{
	lane->bytes += bytes > 0 ? bytes : 0;
	if (!is_ok) {
		lane->errors++;
		return;
	}
	lane->ops++;
	lane->last = now();
	if (lane->n_us == lane->cap) {
		lane->cap = lane->cap ? lane->cap * 2 : 4096;
		lane->us = realloc(lane->us, lane->cap * sizeof(*lane->us));
	}
	lane->us[lane->n_us++] = (now() - begin) * 1e6;
}

/* Another one? With a number of its own for the name's %d. */
static bool go_on(unsigned long *ret_number)
{
	*ret_number = atomic_fetch_add(&n_begun, 1);
	return o.count ? *ret_number < o.count : now() < until;
}

static void *run_new(void *arg)
{
	char *piece = malloc(PIECE), name[256];
	bool wants_request = !strcmp(o.mode, "new");
	struct lane *lane = arg;
	unsigned long number;

	while (go_on(&number)) {
		double begin = now();
		struct link l;
		bool is_ok;

		snprintf(name, sizeof(name), o.name, number); /* may hold one %lu */
		is_ok = connect_to(&l, name) &&
			(!wants_request || fetch(&l, name, BODY_BYTES, piece) >= 0);
		note(lane, begin, is_ok, 0);
		cut(&l);
	}
	free(piece);
	return NULL;
}

static void *run_keep(void *arg)
{
	bool is_bulk = !strcmp(o.mode, "bulk");
	unsigned long bytes = is_bulk ? o.bytes : BODY_BYTES, number;
	char *piece = malloc(PIECE);
	struct lane *lane = arg;
	struct link l = {.fd = -1};

	while (go_on(&number)) {
		double begin = now(), r;

		if (l.fd < 0 && !connect_to(&l, o.name)) {
			note(lane, begin, false, 0);
			cut(&l);
			continue;
		}
		r = fetch(&l, o.name, bytes, piece);
		note(lane, begin, r >= 0, r);
		if (r < 0)
			cut(&l);
		if (is_bulk)
			break;
	}
	if (l.fd >= 0)
		cut(&l);
	free(piece);
	return NULL;
}

/* --- HTTP/2, one stream after the other on each connection */

struct h2 {
	struct link l;
	bool is_done, is_failed;
};

static ssize_t h2_send(nghttp2_session *s, const uint8_t *data, size_t len, int flags, void *arg)
{
	struct h2 *h = arg;

	(void)s;
	(void)flags;
	return put(&h->l, data, len) == (long)len ? (ssize_t)len : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int h2_closed(nghttp2_session *s, int32_t id, uint32_t error, void *arg)
{
	struct h2 *h = arg;

	(void)s;
	(void)id;
	h->is_done = true;
	h->is_failed |= error != 0;
	return 0;
}

#define NV(n, v)                                                                                   \
	{                                                                                          \
		(uint8_t *)(n), (uint8_t *)(v), strlen(n), strlen(v), NGHTTP2_NV_FLAG_NONE         \
	}

static bool h2_fetch(nghttp2_session *s, struct h2 *h, uint8_t *piece)
{
	const nghttp2_nv nv[] = {NV(":method", "GET"), NV(":scheme", "https"),
		NV(":authority", o.name), NV(":path", "/300"), NV("user-agent", "web")};

	h->is_done = false;
	if (nghttp2_submit_request(s, NULL, nv, sizeof(nv) / sizeof(nv[0]), NULL, NULL) < 0)
		return false;
	while (!h->is_done) {
		long n;

		if (nghttp2_session_send(s) < 0)
			return false;
		n = get(&h->l, piece, PIECE);
		if (n <= 0 || nghttp2_session_mem_recv(s, piece, (size_t)n) < 0)
			return false;
	}
	return !h->is_failed && nghttp2_session_send(s) == 0;
}

static void *run_h2(void *arg)
{
	struct lane *lane = arg;
	nghttp2_session_callbacks *calls;
	nghttp2_session *s;
	uint8_t *piece = malloc(PIECE);
	struct h2 h = {0};
	unsigned long number;
	bool is_up = connect_to(&h.l, o.name);

	nghttp2_session_callbacks_new(&calls);
	nghttp2_session_callbacks_set_send_callback(calls, h2_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, h2_closed);
	nghttp2_session_client_new(&s, calls, &h);
	nghttp2_submit_settings(s, NGHTTP2_FLAG_NONE, NULL, 0);
	while (is_up && go_on(&number)) {
		double begin = now();

		is_up = h2_fetch(s, &h, piece);
		note(lane, begin, is_up, 0);
	}
	if (!is_up)
		lane->errors++;
	nghttp2_session_del(s);
	nghttp2_session_callbacks_del(calls);
	cut(&h.l);
	free(piece);
	return NULL;
}

/* --- results */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(struct lane *lanes, double took)
{
	struct lane all = {0};
	double *us;
	size_t n = 0;

	for (unsigned long i = 0; i < o.conc; i++) {
		all.ops += lanes[i].ops;
		all.errors += lanes[i].errors;
		all.bytes += lanes[i].bytes;
		all.n_us += lanes[i].n_us;
		all.last = lanes[i].last > all.last ? lanes[i].last : all.last;
	}
	us = malloc((all.n_us + 1) * sizeof(*us));
	for (unsigned long i = 0; i < o.conc; i++) {
		if (lanes[i].n_us)
			memcpy(us + n, lanes[i].us, lanes[i].n_us * sizeof(*us));
		n += lanes[i].n_us;
	}
	qsort(us, n, sizeof(*us), compare);
	printf("{\"ops\":%lu,\"errors\":%lu,\"rate\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"bytes\":%.0f,"
	       "\"mibps\":%.1f,\"last_ns\":%.0f}\n",
		all.ops, all.errors, (double)all.ops / took, n ? us[n / 2] : 0,
		n ? us[n * 99 / 100] : 0, all.bytes, all.bytes / took / (1 << 20), all.last * 1e9);
	free(us);
}

/* Connections that have asked once and then say nothing, until our input ends. */
static int run_hold(void)
{
	struct link *links = calloc(o.count, sizeof(*links));
	char *piece = malloc(PIECE), byte;
	unsigned long n = 0;

	for (; n < o.count; n++)
		if (!connect_to(&links[n], o.name) ||
			fetch(&links[n], o.name, BODY_BYTES, piece) < 0)
			break;
	printf("{\"ops\":%lu}\n", n);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		continue;
	return 0;
}

static int run_client(void)
{
	static const unsigned char h2[] = "\x02h2";
	static struct lane lanes[MAX_THREADS];
	void *(*run)(void *) = !strcmp(o.mode, "h2")              ? run_h2
		: !strcmp(o.mode, "hs") || !strcmp(o.mode, "new") ? run_new
								  : run_keep;
	double begin;

	ctx = SSL_CTX_new(TLS_client_method());
	if (o.ca && !SSL_CTX_load_verify_file(ctx, o.ca))
		die(o.ca);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(
		ctx, SSL_SESS_CACHE_OFF); /* every handshake is a whole one */
	if (run == run_h2)
		SSL_CTX_set_alpn_protos(ctx, h2, 3);
	if (!strcmp(o.mode, "hold"))
		return run_hold();
	begin = now();
	until = begin + o.secs;
	for (unsigned long i = 0; i < o.conc; i++)
		pthread_create(&lanes[i].thread, NULL, run, &lanes[i]);
	for (unsigned long i = 0; i < o.conc; i++)
		pthread_join(lanes[i].thread, NULL);
	report(lanes, now() - begin);
	return 0;
}

/* --- the origin */

static bool answer(struct link *l, unsigned long bytes, char *out)
{
	size_t n = (size_t)snprintf(
		out, PIECE, "HTTP/1.1 200 OK\r\nContent-Length: %lu\r\n\r\n", bytes);

	while (n < PIECE / 4 && bytes) {
		out[n++] = 'x';
		bytes--;
	}
	if (put(l, out, n) != (long)n)
		return false;
	while (bytes) {
		size_t piece = bytes < PIECE / 4 ? bytes : PIECE / 4;

		if (put(l, out, piece) != (long)piece)
			return false;
		bytes -= piece;
	}
	return true;
}

static void *serve(void *arg)
{
	struct link l = {.fd = (int)(intptr_t)arg};
	char *in = malloc(PIECE), *out = malloc(PIECE);
	long have = 0;

	if (o.cert) {
		l.ssl = SSL_new(ctx);
		SSL_set_fd(l.ssl, l.fd);
	}
	while (!o.cert || SSL_is_init_finished(l.ssl) || SSL_accept(l.ssl) == 1) {
		char *slash, *end;
		long n = get(&l, in + have, (size_t)(PIECE - have - 1));

		if (n <= 0)
			break;
		have += n;
		in[have] = 0;
		end = strstr(in, "\r\n\r\n");
		slash = strchr(in, '/');
		if (!end || !slash)
			continue;
		if (!answer(&l, strtoul(slash + 1, NULL, 10), out))
			break;
		have -= end + 4 - in;
		memmove(in, end + 4, (size_t)have);
	}
	cut(&l);
	free(in);
	free(out);
	return NULL;
}

_Noreturn static void run_origin(void)
{
	struct sockaddr_in sa = address(o.listen);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	ctx = SSL_CTX_new(TLS_server_method());
	if (o.cert &&
		(!SSL_CTX_use_certificate_chain_file(ctx, o.cert) ||
			!SSL_CTX_use_PrivateKey_file(ctx, o.key, SSL_FILETYPE_PEM)))
		die(o.cert);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 4096) < 0)
		die(o.listen);
	for (;;) {
		int peer = accept(fd, NULL, NULL);
		pthread_t thread;

		if (peer < 0)
			continue;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer) == 0)
			pthread_detach(thread);
		else
			close(peer);
	}
}

static void take(const char *word)
{
	const char *value = strchr(word, '=');
	const struct {
		const char *key;
		const char **text;
		unsigned long *number;
	} rows[] = {{"dial", &o.dial, NULL}, {"listen", &o.listen, NULL}, {"name", &o.name, NULL},
		{"ca", &o.ca, NULL}, {"cert", &o.cert, NULL}, {"key", &o.key, NULL},
		{"via", &o.via, NULL}, {"conc", NULL, &o.conc}, {"count", NULL, &o.count},
		{"bytes", NULL, &o.bytes}};
	size_t len = value ? (size_t)(value - word) : 0;

	if (value && len == 4 && !memcmp(word, "secs", 4))
		o.secs = strtod(value + 1, NULL);
	for (size_t i = 0; value && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strlen(rows[i].key) != len || memcmp(rows[i].key, word, len))
			continue;
		if (rows[i].text)
			*rows[i].text = value + 1;
		else
			*rows[i].number = strtoul(value + 1, NULL, 10);
	}
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	o.mode = argc > 1 ? argv[1] : "";
	for (int i = 2; i < argc; i++)
		take(argv[i]);
	if (o.conc > MAX_THREADS)
		o.conc = MAX_THREADS;
	if (!strcmp(o.mode, "origin") && o.listen)
		run_origin();
	if (!o.dial || !o.name)
		die("usage: see the head of web.c");
	return run_client();
}
