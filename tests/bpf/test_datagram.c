/* SPDX-License-Identifier: GPL-2.0-only */
/* Datagrams of a sandbox: DNS wherever it is sent, and everything else refused. */
#include "world.h"

static struct world world;

static int open_world(void **state)
{
	(void)state;
	world_open(&world, NEJ_F_OWN_NETNS);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* A stub in a child of the test: answers `n` questions with their own bytes. */
static pid_t start_echo(int n)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(20);
	while (n > 0) {
		struct pollfd p[] = {{.fd = world.stub4, .events = POLLIN},
			{.fd = world.stub6, .events = POLLIN}};

		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			struct sockaddr_storage from;
			socklen_t len = sizeof(from);
			char bytes[64];
			ssize_t size = recvfrom(
				p[i].fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &len);

			if (size > 0) {
				sendto(p[i].fd, bytes, (size_t)size, 0, (struct sockaddr *)&from,
					len);
				n--;
			}
		}
	}
	_exit(0);
}

static void expect_reply(struct world_result *ret, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	socklen_t len = sizeof(ret->addr);
	char bytes[64];

	ret->value = -ETIMEDOUT;
	if (poll(&p, 1, 2000) == 1)
		ret->value = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&ret->addr,
				     &len) == 5
			? 0
			: -errno;
}

static void ask_unconnected(struct world_result *ret, void *arg)
{
	struct target t = *(struct target *)arg;
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd;

	t.type = SOCK_DGRAM;
	fd = target_socket(&t);
	if (sendto(fd, "query", 5, 0, (struct sockaddr *)&sa, len) != 5)
		ret->value = -errno;
	else
		expect_reply(ret, fd);
}

/* Connected, three times over one socket: each later send of an IPv6 socket with a v4-mapped peer
 * comes through sendmsg4 with the rewritten address. */
static void ask_connected(struct world_result *ret, void *arg)
{
	struct target t = *(struct target *)arg;
	struct sockaddr_in6 peer;
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa), peer_len = sizeof(peer);
	int fd;

	t.type = SOCK_DGRAM;
	fd = target_socket(&t);
	if (connect(fd, (struct sockaddr *)&sa, len) < 0) {
		ret->value = -errno;
		return;
	}
	for (int i = 0; i < 3; i++) {
		if (send(fd, "query", 5, 0) != 5) {
			ret->value = -errno;
			return;
		}
		expect_reply(ret, fd);
		if (ret->value)
			return;
	}
	getpeername(fd, (struct sockaddr *)&peer, &peer_len);
	if (memcmp(&peer, &ret->addr, peer_len) != 0)
		ret->value = -EADDRNOTAVAIL;
}

static void expect_answer(
	void (*fn)(struct world_result *ret, void *arg), const char *addr, const char *want, int n)
{
	struct target t = {.addr = addr, .port = 53};
	pid_t echo = start_echo(n);
	struct world_result r = world_run(&world, fn, &t);
	char text[ENDPOINT_TEXT_BYTES];
	struct endpoint from;

	kill(echo, SIGKILL);
	waitpid(echo, NULL, 0);
	if (r.value)
		fail_msg("%s: %s", addr, strerror(-r.value));
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&r.addr, &from), 0);
	assert_string_equal(endpoint_print(&from, text), want);
	assert_int_equal(r.addr.sin6_family, strchr(addr, ':') ? AF_INET6 : AF_INET);
}

static const struct {
	const char *addr, *want;
} resolvers[] = {
	{"8.8.8.8", "8.8.8.8:53"},
	{"127.0.0.53", "127.0.0.53:53"},
	{"127.0.0.11", "127.0.0.11:53"},
	{"169.254.169.253", "169.254.169.253:53"},
	{"2001:4860:4860::8888", "[2001:4860:4860::8888]:53"},
	{"::1", "[::1]:53"},
	{"::ffff:8.8.8.8", "8.8.8.8:53"},
};

static void answer_comes_from_the_resolver_that_was_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(resolvers); i++)
		expect_answer(ask_unconnected, resolvers[i].addr, resolvers[i].want, 1);
}

static void connected_resolver_keeps_its_address_over_many_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(resolvers); i++)
		expect_answer(ask_connected, resolvers[i].addr, resolvers[i].want, 3);
	/* Resolver connects are no refusals, nor probes. */
	assert_int_equal(world_count(&world, NEJ_COUNTER_PROBES), 0);
}

/* One IPv6 socket asks an IPv4 and an IPv6 resolver, as musl does: each answers as itself. */
static void ask_both(struct world_result *ret, void *arg)
{
	struct target t4 = {.addr = "::ffff:8.8.8.8", .port = 53, .type = SOCK_DGRAM};
	struct target t6 = {.addr = "2001:4860:4860::8888", .port = 53, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t4, &sa);
	int fd = target_socket(&t4);

	(void)arg;
	sendto(fd, "query", 5, 0, (struct sockaddr *)&sa, len);
	len = target_sockaddr(&t6, &sa);
	sendto(fd, "query", 5, 0, (struct sockaddr *)&sa, len);
	for (int i = 0; i < 2; i++) {
		struct endpoint from;

		expect_reply(ret, fd);
		if (ret->value)
			return;
		endpoint_from_sockaddr((struct sockaddr *)&ret->addr, &from);
		ret->more[addr_is_v4(&from.addr) ? 0 : 1]++;
	}
}

static void two_resolvers_on_one_socket_answer_as_themselves(void **state)
{
	pid_t echo = start_echo(2);
	struct world_result r = world_run(&world, ask_both, NULL);

	(void)state;
	kill(echo, SIGKILL);
	waitpid(echo, NULL, 0);
	assert_int_equal(r.value, 0);
	assert_int_equal(r.more[0], 1);
	assert_int_equal(r.more[1], 1);
}

static int send_to(const char *addr, uint16_t port)
{
	struct target t = {.addr = addr, .port = port};

	return world_run(&world, try_sendto, &t).value;
}

static void datagram_elsewhere_is_refused_with_an_event(void **state)
{
	static const struct {
		const char *addr;
		uint16_t port;
		int reason;
	} rows[] = {
		{"93.184.216.34", 443, NEJ_REASON_UDP},
		{"93.184.216.34", 9999, NEJ_REASON_UDP},
		{"93.184.216.34", STUB_PORT, NEJ_REASON_UDP},
		{"2606:2800:220:1::1", 443, NEJ_REASON_UDP},
		{"::ffff:93.184.216.34", 443, NEJ_REASON_UDP},
		{"169.254.169.254", 80, NEJ_REASON_UDP},
		{"224.0.0.251", 5353, NEJ_REASON_MULTICAST},
		{"239.1.1.1", 7, NEJ_REASON_MULTICAST},
		{"ff02::fb", 5353, NEJ_REASON_MULTICAST},
		{"255.255.255.255", 67, NEJ_REASON_MULTICAST},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t before = world_count(&world, rows[i].reason);

		if (strcmp(rows[i].addr, "255.255.255.255") == 0)
			continue; /* needs SO_BROADCAST: below */
		assert_int_equal(send_to(rows[i].addr, rows[i].port), DENIED);
		assert_int_equal(world_count(&world, rows[i].reason), before + 1);
	}
}

static void send_broadcast(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "255.255.255.255", .port = 67, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t), one = 1;

	(void)arg;
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	ret->value = sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void broadcast_is_refused(void **state)
{
	(void)state;
	assert_int_equal(world_run(&world, send_broadcast, NULL).value, DENIED);
	assert_int_equal(world_count(&world, NEJ_REASON_MULTICAST), 1);
}

/* What glibc does with every address of an answer. */
static void probe_then_send(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "93.184.216.34", .port = 0, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->more[0] = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	ret->value = send(fd, "canary", 6, 0) < 0 ? -errno : 0;
}

static void address_sorting_probe_is_no_event(void **state)
{
	struct world_result r = world_run(&world, probe_then_send, NULL);

	(void)state;
	assert_int_equal(r.more[0], DENIED);
	assert_int_equal(r.value, -EDESTADDRREQ);
	assert_int_equal(world_count(&world, NEJ_COUNTER_PROBES), 1);
	assert_int_equal(world_count(&world, NEJ_REASON_UDP), 0);
}

static void send_two(struct world_result *ret, void *arg)
{
	struct target ok = {.addr = "8.8.8.8", .port = 53, .type = SOCK_DGRAM};
	struct target bad = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr_storage sa[2];
	struct iovec part = {.iov_base = (void *)(uintptr_t) "query", .iov_len = 5};
	struct mmsghdr m[2] = {0};
	int fd = target_socket(&ok);

	(void)arg;
	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_namelen = target_sockaddr(i ? &bad : &ok, &sa[i]);
		m[i].msg_hdr.msg_name = &sa[i];
		m[i].msg_hdr.msg_iov = &part;
		m[i].msg_hdr.msg_iovlen = 1;
	}
	ret->value = sendmmsg(fd, m, 2, 0);
}

static void second_message_of_a_batch_is_decided_too(void **state)
{
	char bytes[64];

	(void)state;
	assert_int_equal(world_run(&world, send_two, NULL).value, 1);
	assert_int_equal(world_count(&world, NEJ_REASON_UDP), 1);
	assert_int_equal(recv(world.stub4, bytes, sizeof(bytes), 0), 5);
	assert_int_equal(recv(world.stub4, bytes, sizeof(bytes), 0), -1);
}

/* An address without family, and an IPv4 address on an IPv6 socket. */
static void send_odd(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "93.184.216.34", .port = 443, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd4 = target_socket(&t), fd6;

	(void)arg;
	t.family = AF_INET6;
	fd6 = target_socket(&t);
	ret->value = sendto(fd6, "canary", 6, 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	sa.ss_family = AF_UNSPEC;
	ret->more[0] = sendto(fd4, "canary", 6, 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void odd_address_families_are_decided_as_ipv4(void **state)
{
	struct world_result r = world_run(&world, send_odd, NULL);

	(void)state;
	assert_int_equal(r.value, DENIED);
	assert_int_equal(r.more[0], DENIED);
	assert_int_equal(world_count(&world, NEJ_REASON_UDP), 2);
}

/* Turned into an IPv4 socket after it was connected to the stub, the socket is decided anew. */
static void change_family(struct world_result *ret, void *arg)
{
	struct target dns = {.addr = "::ffff:8.8.8.8", .port = 53, .type = SOCK_DGRAM};
	struct target evil = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&dns, &sa);
	int fd = target_socket(&dns), family = AF_INET;

	(void)arg;
	if (connect(fd, (struct sockaddr *)&sa, len) < 0 ||
		setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &family, sizeof(family)) < 0) {
		ret->value = -errno;
		return;
	}
	len = target_sockaddr(&evil, &sa);
	ret->value = sendto(fd, "canary", 6, 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void socket_that_changes_its_family_is_decided_anew(void **state)
{
	(void)state;
	assert_int_equal(world_run(&world, change_family, NULL).value, DENIED);
}

static void own_datagrams(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "127.0.0.1", .port = 0, .type = SOCK_DGRAM};
	struct sockaddr_storage at;
	socklen_t len = target_sockaddr(&t, &at);
	int server = target_socket(&t), client = target_socket(&t);
	char c = 0;

	(void)arg;
	bind(server, (struct sockaddr *)&at, len);
	getsockname(server, (struct sockaddr *)&at, &len);
	ret->value = sendto(client, "x", 1, 0, (struct sockaddr *)&at, len) == 1 &&
			recv(server, &c, 1, 0) == 1 && c == 'x'
		? 0
		: -errno;
}

static void program_sends_itself_datagrams(void **state)
{
	(void)state;
	assert_int_equal(world_run(&world, own_datagrams, NULL).value, 0);
}

static void halted_sandbox_sends_nothing(void **state)
{
	struct target t = {.addr = "8.8.8.8", .port = 53, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int go[2], done[2], status;
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go) | pipe(done), 0);
	pid = fork();
	if (!pid) {
		int fd;

		world_enter(&world);
		fd = target_socket(&t);
		connect(fd, (struct sockaddr *)&sa, len);
		send(fd, "query", 5, 0);
		if (write(done[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(9);
		/* A socket from before the halt: the packet hook holds it. */
		_exit(send(fd, "query", 5, 0) < 0 && errno == EPERM ? 0 : 1);
	}
	assert_int_equal(read(done[0], &c, 1), 1);
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_HALTED);
	assert_int_equal(write(go[1], "x", 1), 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(world_count(&world, NEJ_REASON_HALTED) > 0);
	assert_true(world_count(&world, NEJ_COUNTER_DROPPED_PACKETS) > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answer_comes_from_the_resolver_that_was_asked),
		T(connected_resolver_keeps_its_address_over_many_queries),
		T(two_resolvers_on_one_socket_answer_as_themselves),
		T(datagram_elsewhere_is_refused_with_an_event),
		T(broadcast_is_refused),
		T(address_sorting_probe_is_no_event),
		T(second_message_of_a_batch_is_decided_too),
		T(odd_address_families_are_decided_as_ipv4),
		T(socket_that_changes_its_family_is_decided_anew),
		T(program_sends_itself_datagrams),
		T(halted_sandbox_sends_nothing),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
