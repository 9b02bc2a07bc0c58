/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A proxy in a thread of its own between sockets of the test, with stand-ins at link time for the
 * policy, the resolver, the synthetic addresses, the flows map and the audit ring. Each test is one
 * client and one or two servers on loopback. Included by exactly one file a test program.
 */
#ifndef NEJ_TEST_WORLD_H
#define NEJ_TEST_WORLD_H

#include "standins.h"

/* --- sockets of the test: blocking, with a limit */

static inline void set_limit(int fd)
{
	struct timeval tv = {.tv_sec = WAIT_MS / 1000};
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static inline int listen_on(const char *addr, uint16_t *ret_port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, addr, &sa.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 128), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	*ret_port = ntohs(sa.sin_port);
	set_limit(fd);
	return fd;
}

static inline int connect_to(uint16_t port)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(0x7f000001)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_limit(fd);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static inline int accept_from(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	set_limit(fd);
	return fd;
}

static inline void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static inline void put_text(int fd, const char *text)
{
	put(fd, text, strlen(text));
}

/* Exactly these bytes come. */
static inline void expect(int fd, const void *data, size_t len)
{
	char *got = malloc(len + 1);
	size_t n = 0;

	while (n < len) {
		ssize_t r = recv(fd, got + n, len - n, 0);

		if (r <= 0) {
			print_error("got only %zu of %zu bytes: %.*s\n", n, len, (int)n, got);
			fail();
		}
		n += (size_t)r;
	}
	got[len] = 0;
	if (memcmp(got, data, len))
		print_error("got: %s\n", got);
	assert_memory_equal(got, data, len);
	free(got);
}

static inline void expect_text(int fd, const char *text)
{
	expect(fd, text, strlen(text));
}

/* Everything up to the FIN, or the errno. */
static inline ssize_t take_all(int fd, char *buf, size_t size)
{
	size_t n = 0;

	for (;;) {
		ssize_t r = recv(fd, buf + n, size - 1 - n, 0);

		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	buf[n] = 0;
	return (ssize_t)n;
}

static inline void expect_end(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, 0), 0);
}

static inline void expect_reset(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

/* No connection arrives, no byte comes. */
static inline void expect_quiet(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, QUIET_MS), 0);
}

static inline void put_hello(int fd, const char *sni)
{
	uint8_t hello[2048];

	put(fd, hello, hello_print(hello, sni));
}

static inline void expect_hello(int fd, const char *sni)
{
	uint8_t hello[2048];
	size_t n = hello_print(hello, sni);

	expect(fd, hello, n);
}

/* --- the proxy's thread */

static inline enum nej_reason may_pass(void *arg)
{
	(void)arg;
	return w.may_pass;
}

static inline void on_stop(struct loop_io *io, uint32_t events)
{
	(void)io;
	(void)events;
	loop_stop(w.loop, 0);
}

static inline void *run_loop(void *arg)
{
	(void)arg;
	loop_run(w.loop);
	return NULL;
}

static inline struct addr address(const char *text)
{
	struct addr a = {{0}};

	addr_parse(text, strlen(text), &a);
	return a;
}

/* The next connections ask for this address and port. */
static inline void world_dest(const char *text, uint16_t port)
{
	struct addr a = address(text);

	w.origin = (struct nej_origin){.dest = {.port_be = htons(port), .proto = IPPROTO_TCP},
		.process = {.pid = 42, .uid = 1001, .comm = "agent"}};
	memcpy(w.origin.dest.addr, a.b, sizeof(a.b));
	w.has_origin = true;
}

static inline int nonblocking(int fd)
{
	struct timeval none = {0};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static inline int world_start(void **state)
{
	static const struct addr own[] = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 9, 9, 9, 9}}};
	static const uint32_t generation = 3;
	static const struct policy *policy;
	struct proxy_options o = {.policy = &policy,
		.generation = &generation,
		.may_pass = may_pass,
		.host_addrs = own,
		.n_host_addrs = 1};
	int proxy_fd = listen_on("127.0.0.1", &w.port);
	int eager_fd = listen_on("127.0.0.1", &w.eager_port);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(loop_new(&w.loop), 0);
	w.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w.stop.on_ready = on_stop;
	loop_add(w.loop, &w.stop, w.stop_fd, EPOLLIN);
	o.loop = w.loop;
	o.flows_fd = w.stop_fd;
	o.explicit4 = (struct endpoint){address("127.0.0.1"), w.port};
	o.explicit6 = (struct endpoint){address("::1"), w.port};
	assert_int_equal(proxy_new(&o, &w.proxy), 0);
	proxy_add_listener(w.proxy, nonblocking(proxy_fd), false);
	proxy_add_listener(w.proxy, nonblocking(eager_fd), true);
	w.n_events = 0;
	w.rules = NULL;
	w.may_pass = NEJ_REASON_NONE;
	w.is_ring_full = w.is_drained = false;
	w.host_port = 0;
	w.max_connections = 0;
	w.sandbox_limits = w.rule_limits = (struct policy_limits){0};
	w.n_lookups = 0;
	w.synthetic_name = NULL;
	memset(w.upstreams, 0, sizeof(w.upstreams));
	memset(w.names, 0, sizeof(w.names));
	world_dest("127.0.0.1", w.port);
	if (w.on_start)
		w.on_start(&o);
	pthread_create(&w.thread, NULL, run_loop, NULL);
	return 0;
}

static inline int world_stop(void **state)
{
	uint64_t one = 1;

	(void)state;
	assert_int_equal(write(w.stop_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(w.thread, NULL);
	proxy_free(w.proxy);
	assert_int_equal(w.n_held, 0);
	loop_free(w.loop);
	close(w.stop_fd);
	return 0;
}

/* A name at 127.0.0.1 whose synthetic address the client connected to. */
static inline void world_name_dest(const char *name, uint16_t port)
{
	w.names[0] = (struct world_name){.name = name, .addrs = {"127.0.0.1"}};
	w.synthetic = address("198.18.0.7");
	w.synthetic_name = name;
	world_dest("198.18.0.7", port);
}

static inline void wait_idle(void)
{
	for (int i = 0; i < WAIT_MS && proxy_open_count(w.proxy); i++)
		usleep(1000);
	assert_int_equal(proxy_open_count(w.proxy), 0);
}

#endif
