/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections of a sandbox with a namespace of its own, with real sockets. */
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

static struct world_result connect_to(const char *addr, uint16_t port)
{
	struct target t = {.addr = addr, .port = port};

	return world_run(&world, try_connect, &t);
}

/* The proxy finds what was asked, and the program sees the peer it asked for. */
static void expect_redirect(const char *addr, uint16_t port, int listener, const char *want)
{
	char text[ENDPOINT_TEXT_BYTES];
	struct nej_origin origin;
	struct endpoint peer;
	struct world_result r = connect_to(addr, port);

	if (r.value)
		fail_msg("connect %s:%u: %s", addr, port, strerror(-r.value));
	assert_int_equal(world_accept(&world, listener, &origin), 0);
	assert_string_equal(dest_text(&origin.dest, text), want);
	assert_int_equal(origin.dest.proto, IPPROTO_TCP);
	assert_true(origin.process.pid > 0);
	assert_string_equal(origin.process.comm, "test_connect");
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&r.addr, &peer), 0);
	assert_string_equal(endpoint_print(&peer, text), want);
	assert_int_equal(r.addr.sin6_family, strchr(addr, ':') ? AF_INET6 : AF_INET);
}

static void tcp_goes_to_the_proxy_in_every_form_of_address(void **state)
{
	(void)state;
	expect_redirect("93.184.216.34", 443, world.proxy4, "93.184.216.34:443");
	expect_redirect("2606:2800:220:1::1", 443, world.proxy6, "[2606:2800:220:1::1]:443");
	expect_redirect("::ffff:93.184.216.34", 443, world.proxy4, "93.184.216.34:443");
	expect_redirect("10.0.0.5", 80, world.proxy4, "10.0.0.5:80");
	expect_redirect("198.51.100.7", 22, world.eager4, "198.51.100.7:22");
	expect_redirect("2606:2800:220:1::1", 22, world.eager6, "[2606:2800:220:1::1]:22");
}

static void port_no_rule_names_is_refused_at_once(void **state)
{
	static const uint16_t ports[] = {25, 3000, 5432, 8080, 8443, 65535, PROXY_PORT, STUB_PORT};
	uint64_t before = world_count(&world, NEJ_REASON_NO_RULE);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		assert_int_equal(connect_to("93.184.216.34", ports[i]).value, DENIED);
		assert_int_equal(connect_to("2606:2800:220:1::1", ports[i]).value, DENIED);
		assert_int_equal(connect_to("::ffff:93.184.216.34", ports[i]).value, DENIED);
	}
	assert_int_equal(world_count(&world, NEJ_REASON_NO_RULE) - before, 3 * ARRAY_SIZE(ports));
}

static void metadata_and_multicast_are_refused_in_every_form(void **state)
{
	static const char *const addrs[] = {"169.254.169.254", "::ffff:169.254.169.254",
		"64:ff9b::a9fe:a9fe", "fd00:ec2::254", "224.0.0.1", "ff05::2", "255.255.255.255"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		assert_int_equal(connect_to(addrs[i], 80).value, DENIED);
}

static void explicit_proxy_is_reached_and_its_client_known(void **state)
{
	static const struct {
		const char *addr, *want;
		bool is_v6;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1:3128", false},
		{"::1", "[::1]:3128", true},
		{"::ffff:127.0.0.1", "127.0.0.1:3128", false},
		{"0.0.0.0", "0.0.0.0:3128", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[ENDPOINT_TEXT_BYTES];
		struct nej_origin origin;

		assert_int_equal(connect_to(rows[i].addr, PROXY_PORT).value, 0);
		assert_int_equal(
			world_accept(&world, rows[i].is_v6 ? world.proxy6 : world.proxy4, &origin),
			0);
		assert_string_equal(dest_text(&origin.dest, text), rows[i].want);
	}
	assert_int_equal(connect_to("127.0.0.1", EAGER_PORT).value, DENIED);
}

static void own_listener(struct world_result *ret, void *arg)
{
	const char *addr = arg;
	struct target t = {.addr = addr, .port = 0};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa), at_len = sizeof(sa);
	int server = target_socket(&t), client = target_socket(&t), peer;
	char c = 0;

	if (bind(server, (struct sockaddr *)&sa, len) < 0 || listen(server, 1) < 0 ||
		getsockname(server, (struct sockaddr *)&sa, &at_len) < 0 ||
		connect(client, (struct sockaddr *)&sa, len) < 0) {
		ret->value = -errno;
		return;
	}
	peer = accept(server, NULL, NULL);
	ret->value = write(client, "x", 1) == 1 && read(peer, &c, 1) == 1 && c == 'x' ? 0 : -EIO;
}

static void program_serves_itself_on_its_own_loopback(void **state)
{
	static const char *const addrs[] = {"127.0.0.1", "127.7.7.7", "0.0.0.0", "::1",
		"::", "::ffff:127.0.0.1", "10.255.255.254", "fd00:ffff::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct world_result r =
			world_run(&world, own_listener, (void *)(uintptr_t)addrs[i]);

		if (r.value)
			fail_msg("%s: %s", addrs[i], strerror(-r.value));
	}
	assert_int_equal(connect_to("127.0.0.1", 4444).value, -ECONNREFUSED);
}

static void host_port_goes_to_the_proxy(void **state)
{
	char text[ENDPOINT_TEXT_BYTES];
	struct nej_origin origin;

	(void)state;
	world_add_port(&world, 5432, NEJ_PORT_HOST);
	assert_int_equal(connect_to("127.0.0.1", 5432).value, 0);
	assert_int_equal(world_accept(&world, world.eager4, &origin), 0);
	assert_string_equal(dest_text(&origin.dest, text), "127.0.0.1:5432");
}

static void try_create(struct world_result *ret, void *arg)
{
	const int *s = arg;
	int fd = socket(s[0], s[1], s[2]);

	ret->value = fd < 0 ? -errno : 0;
}

static int create(int family, int type, int protocol)
{
	int args[] = {family, type, protocol};

	return world_run(&world, try_create, args).value;
}

/* By the hook, or by a kernel that has no such protocol. */
static bool is_unsupported(int r)
{
	return r == UNSUPPORTED || r == -EPROTONOSUPPORT;
}

static void other_protocols_cannot_be_created(void **state)
{
	static const int families[] = {AF_INET, AF_INET6};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int f = families[i];

		assert_int_equal(create(f, SOCK_STREAM, 0), 0);
		assert_int_equal(create(f, SOCK_DGRAM, 0), 0);
		assert_int_equal(create(f, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP), 0);
		assert_int_equal(create(f, SOCK_RAW, IPPROTO_RAW), -EPERM);
		assert_int_equal(create(f, SOCK_RAW, IPPROTO_ICMP), -EPERM);
		assert_int_equal(create(f, SOCK_RAW, 50), -EPERM);
		assert_true(is_unsupported(create(f, SOCK_DGRAM, 136)));  /* UDP-Lite */
		assert_true(is_unsupported(create(f, SOCK_STREAM, 132))); /* SCTP */
		assert_true(create(f, SOCK_SEQPACKET, 132) < 0);
		assert_true(is_unsupported(create(f, SOCK_STREAM, 262))); /* MPTCP */
	}
	assert_true(world_count(&world, NEJ_REASON_SOCKET_TYPE) > 0);
}

static void send_fast_open(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value =
		sendto(fd, "canary", 6, MSG_FASTOPEN, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void connect_fast_open(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t), one = 1;

	(void)arg;
	setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 || write(fd, "canary", 6) != 6
		? -errno
		: 0;
}

static void connect_nonblocking(struct world_result *ret, void *arg)
{
	struct target t = {
		.addr = "93.184.216.34", .port = 443, .type = SOCK_STREAM | SOCK_NONBLOCK};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	(void)arg;
	ret->value =
		connect(fd, (struct sockaddr *)&sa, len) < 0 && errno != EINPROGRESS ? -errno : 0;
	poll(&p, 1, 1000);
}

static void data_in_the_first_send_is_redirected_too(void **state)
{
	(void)state;
	world_expect_arrival(&world, send_fast_open, NULL);
	world_expect_arrival(&world, connect_fast_open, NULL);
	world_expect_arrival(&world, connect_nonblocking, NULL);
}

/* First to one place, then dissolved by AF_UNSPEC, then to another: only the last one counts. */
static void connect_twice(struct world_result *ret, void *arg)
{
	struct target first = {.addr = "198.51.100.1", .port = 80};
	struct target then = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr unspec = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&first, &sa);
	int fd = target_socket(&first);

	(void)arg;
	if (connect(fd, (struct sockaddr *)&sa, len) < 0 ||
		connect(fd, &unspec, sizeof(unspec)) < 0) {
		ret->value = -errno;
		return;
	}
	target_sockaddr(&then, &sa);
	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void dissolved_socket_is_decided_again(void **state)
{
	struct nej_origin origin;

	(void)state;
	assert_int_equal(world_run(&world, connect_twice, NULL).value, 0);
	world_accept(&world, world.proxy4, &origin); /* the first, reset */
	char text[ENDPOINT_TEXT_BYTES];

	assert_int_equal(world_accept(&world, world.proxy4, &origin), 0);
	assert_string_equal(dest_text(&origin.dest, text), "93.184.216.34:443");
}

/* A redirected socket that then connects to the sandbox's own loopback shows its real peer. */
static void reconnect_inside(struct world_result *ret, void *arg)
{
	struct target out = {.addr = "93.184.216.34", .port = 443};
	struct target in = {.addr = "127.0.0.1", .port = 0};
	struct sockaddr unspec = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage sa, at;
	socklen_t len = target_sockaddr(&in, &at), at_len = sizeof(at),
		  peer_len = sizeof(ret->addr);
	int server = target_socket(&in), fd = target_socket(&out);

	(void)arg;
	bind(server, (struct sockaddr *)&at, len);
	listen(server, 1);
	getsockname(server, (struct sockaddr *)&at, &at_len);
	target_sockaddr(&out, &sa);
	if (connect(fd, (struct sockaddr *)&sa, len) < 0 ||
		connect(fd, &unspec, sizeof(unspec)) < 0 ||
		connect(fd, (struct sockaddr *)&at, len) < 0) {
		ret->value = -errno;
		return;
	}
	getpeername(fd, (struct sockaddr *)&ret->addr, &peer_len);
	ret->value = ret->addr.sin6_port == ((struct sockaddr_in *)&at)->sin_port ? 0 : -EIO;
}

static void reused_socket_shows_its_real_peer(void **state)
{
	struct nej_origin origin;

	(void)state;
	assert_int_equal(world_run(&world, reconnect_inside, NULL).value, 0);
	world_accept(&world, world.proxy4, &origin);
}

/* --- the flow table */

static void connect_often(struct world_result *ret, void *arg)
{
	const int *n = arg;
	int n_missing = 0;

	for (int i = 0; i < *n; i++) {
		struct target t = {.addr = i % 3 == 0 ? "93.184.216.34"
				: i % 3 == 1          ? "2606:2800:220:1::1"
						      : "::ffff:93.184.216.34",
			.port = 443};
		struct sockaddr_storage sa;
		socklen_t len = target_sockaddr(&t, &sa);
		int fd = target_socket(&t);

		n_missing += connect(fd, (struct sockaddr *)&sa, len) < 0;
		close(fd);
	}
	ret->value = n_missing;
}

static void proxy_never_misses_an_origin(void **state)
{
	int n = 2000, n_found = 0, n_missed = 0, status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct world_result r;

		world_enter(&world);
		connect_often(&r, &n);
		_exit(r.value ? 1 : 0);
	}
	for (bool is_over = false; !is_over;) {
		struct pollfd p[] = {{.fd = world.proxy4, .events = POLLIN},
			{.fd = world.proxy6, .events = POLLIN}};
		struct nej_origin origin;

		if (poll(p, 2, 500) == 0)
			is_over = true;
		for (int i = 0; i < 2; i++) {
			int r;

			while ((r = world_accept(&world, p[i].fd, &origin)) != -EAGAIN) {
				n_found += r == 0;
				n_missed += r != 0;
			}
		}
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(n_missed, 0);
	assert_int_equal(n_found, n);
}

/* --- states of the sandbox */

static void halted_sandbox_connects_nowhere(void **state)
{
	(void)state;
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_HALTED);
	assert_int_equal(create(AF_INET, SOCK_STREAM, 0), DENIED);
	assert_true(world_count(&world, NEJ_REASON_HALTED) > 0);
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_AUDIT_FAILED);
	assert_int_equal(create(AF_INET, SOCK_STREAM, 0), DENIED);
	assert_true(world_count(&world, NEJ_REASON_AUDIT_UNAVAILABLE) > 0);
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS);
	assert_int_equal(create(AF_INET, SOCK_STREAM, 0), 0);
}

static void try_bind(struct world_result *ret, void *arg)
{
	const struct target *t = arg;
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(t, &sa);
	int fd = target_socket(t), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	ret->value = bind(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static void ports_of_proxy_and_stub_cannot_be_taken(void **state)
{
	static const char *const addrs[] = {"127.0.0.1", "0.0.0.0", "::1", "::", "127.0.0.9"};
	static const uint16_t ports[] = {PROXY_PORT, EAGER_PORT, STUB_PORT};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addrs) * ARRAY_SIZE(ports) * 2; i++) {
		struct target t = {.addr = addrs[i / 6],
			.port = ports[i % 3],
			.type = i % 2 ? SOCK_STREAM : SOCK_DGRAM};

		assert_int_equal(world_run(&world, try_bind, &t).value, DENIED);
	}
	struct target t = {.addr = "127.0.0.1", .port = 8123};

	assert_int_equal(world_run(&world, try_bind, &t).value, 0);
}

static void other_users_of_a_scoped_cgroup_are_left_alone(void **state)
{
	struct target t = {.addr = "127.0.0.1", .port = EAGER_PORT};
	struct nej_origin origin;

	(void)state;
	world.settings.scope_uid = SANDBOX_UID;
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_SCOPE_UID);
	assert_int_equal(world_run_as(&world, SANDBOX_UID, try_connect, &t).value, DENIED);
	assert_int_equal(world_run_as(&world, SANDBOX_UID + 1, try_connect, &t).value, 0);
	/* Without an origin the proxy closes it. */
	assert_int_equal(world_accept(&world, world.eager4, &origin), -ENOENT);
	t.addr = "93.184.216.34";
	assert_int_equal(
		world_run_as(&world, SANDBOX_UID + 1, try_connect, &t).value, -ENETUNREACH);
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS);
}

/* Where IPv6 is switched off: IPv6 destinations reach the proxy over IPv4. */
static void without_ipv6_the_proxy_is_reached_over_ipv4(void **state)
{
	struct target dns = {.addr = "2001:4860:4860::8888", .port = 53, .type = SOCK_DGRAM};

	(void)state;
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_V4_ONLY);
	expect_redirect("2606:2800:220:1::1", 443, world.proxy4, "[2606:2800:220:1::1]:443");
	expect_redirect("93.184.216.34", 443, world.proxy4, "93.184.216.34:443");
	/* The kernel sends no native IPv6 datagram to an IPv4 address. */
	assert_int_equal(world_run(&world, try_sendto, &dns).value, DENIED);
}

/* Connected, then halted: no data, but the reset of its end goes through. */
static void reset_after_halt(struct world_result *ret, void *arg)
{
	const struct linger reset = {.l_onoff = 1};
	struct target t = {.addr = "93.184.216.34", .port = 443};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t), *pipes = arg;
	char c;

	if (connect(fd, (struct sockaddr *)&sa, len) < 0 || write(pipes[1], "x", 1) != 1 ||
		read(pipes[2], &c, 1) != 1) {
		ret->value = -errno;
		return;
	}
	send(fd, "canary", 6, 0);
	usleep(50000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	ret->value = 0;
}

static void halt_stops_data_and_lets_resets_pass(void **state)
{
	struct pollfd p = {.events = POLLIN};
	int ready[2], go[2], pipes[4], status;
	char bytes[64], c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready) | pipe(go), 0);
	memcpy(pipes, ready, sizeof(ready));
	memcpy(pipes + 2, go, sizeof(go));
	pid = fork();
	if (!pid) {
		struct world_result r;

		world_enter(&world);
		reset_after_halt(&r, pipes);
		_exit(r.value ? 1 : 0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	p.fd = accept4(world.proxy4, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p.fd >= 0);
	world_set_flags(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS | NEJ_F_HALTED);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(poll(&p, 1, 3000), 1);
	assert_int_equal(recv(p.fd, bytes, sizeof(bytes), 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(p.fd);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void nothing_is_allowed_before_the_settings_are_written(void **state)
{
	struct world bare;
	struct target t = {.addr = "127.0.0.1", .port = 8000};

	(void)state;
	world_open_bare(&bare);
	assert_int_equal(
		world_run(&bare, try_create, (int[]){AF_INET, SOCK_STREAM, 0}).value, DENIED);
	assert_int_equal(
		world_run(&bare, try_create, (int[]){AF_INET6, SOCK_DGRAM, 0}).value, DENIED);
	assert_true(world_run(&bare, try_connect, &t).value < 0);
	assert_true(world_count(&bare, NEJ_REASON_INTERNAL) >= 3);
	world_close(&bare);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tcp_goes_to_the_proxy_in_every_form_of_address),
		T(port_no_rule_names_is_refused_at_once),
		T(metadata_and_multicast_are_refused_in_every_form),
		T(explicit_proxy_is_reached_and_its_client_known),
		T(program_serves_itself_on_its_own_loopback),
		T(host_port_goes_to_the_proxy),
		T(other_protocols_cannot_be_created),
		T(data_in_the_first_send_is_redirected_too),
		T(dissolved_socket_is_decided_again),
		T(reused_socket_shows_its_real_peer),
		T(proxy_never_misses_an_origin),
		T(halted_sandbox_connects_nowhere),
		T(ports_of_proxy_and_stub_cannot_be_taken),
		T(other_users_of_a_scoped_cgroup_are_left_alone),
		T(without_ipv6_the_proxy_is_reached_over_ipv4),
		T(halt_stops_data_and_lets_resets_pass),
		cmocka_unit_test(nothing_is_allowed_before_the_settings_are_written),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
