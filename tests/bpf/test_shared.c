/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sandbox that shares its network namespace: what a rule lets straight out, whose loopback is
 * whose, and who may come in.
 */
#include "wire.h"

#include <pthread.h>

#include "../../user/base/clock.h"
#include "../../user/kernel/allow.h"

static struct world world;

static void udp_far(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET), FAR4, 9999);
}

/* --- what a rule lets straight out */

static void open_shared(void)
{
	struct object_error error = {0};

	make_wire();
	world = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	world_new_cgroup(&world);
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	world_configure(&world, NEJ_F_ACTIVE);
}

static int connect_to_peer(struct world_result *ret)
{
	struct target t = {.addr = PEER4, .port = 7};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	return fd;
}

static void talk_to_peer(struct world_result *ret, void *arg)
{
	int fd = connect_to_peer(ret);

	(void)arg;
	if (!ret->value && send(fd, CANARY, 6, 0) < 0)
		ret->value = -errno;
}

static void ask_time(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET), PEER4, 123);
}

static void admitted_flow_goes_straight_out_and_no_other(void **state)
{
	struct target far = {.addr = FAR4, .port = 9999};
	struct world_result r;
	char bytes[64];
	int server, peer;

	(void)state;
	open_shared();
	server = listen_far();
	world_allow4(&world, PEER4, IPPROTO_TCP, 7, 0);
	world_allow4(&world, PEER4, IPPROTO_UDP, 123, 0);
	count_leaks(100);
	assert_int_equal(world_run(&world, talk_to_peer, NULL).value, 0);
	peer = accept(server, NULL, NULL);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 6);
	assert_true(count_leaks(50) > 0);
	assert_int_equal(world_run(&world, ask_time, NULL).value, 0);
	assert_true(count_leaks(50) > 0);
	/* The same socket options do not widen it. */
	r = world_run(&world, udp_far, NULL);
	assert_int_equal(r.value, DENIED);
	assert_int_equal(world_run(&world, try_connect, &far).value, DENIED);
	assert_int_equal(count_leaks(50), 0);
	close(peer);
	close(server);
	world_close(&world);
}

/* --- another policy meanwhile */

#define N_WORDS 20
#define WORD_US 40000

static void talk_on(struct world_result *ret, void *arg)
{
	int fd = connect_to_peer(ret);

	(void)arg;
	for (int i = 0; i < N_WORDS && !ret->value; i++) {
		ret->value = send(fd, "w", 1, 0) < 0 ? -errno : 0;
		usleep(WORD_US);
	}
}

static void *make_change(void *arg)
{
	void (*change)(void) = arg;

	usleep(N_WORDS / 2 * WORD_US);
	if (change)
		change();
	return NULL;
}

static void turn_generation(void)
{
	world.settings.generation++;
	object_settings(world.object, &world.settings);
}

static bool is_any(const struct nej_allow *value, uint64_t arg)
{
	(void)value;
	(void)arg;
	return true;
}

static void allow_it(void)
{
	world_allow4(&world, PEER4, IPPROTO_TCP, 7, 0);
}

static void forbid_it(void)
{
	allow_del(world.object, is_any, 0);
	turn_generation();
}

static void let_it_expire(void)
{
	world_allow4(&world, PEER4, IPPROTO_TCP, 7, 1);
	turn_generation();
}

/* What the peer got of what was said for the time of N_WORDS, half of it before the change. */
static ssize_t bytes_heard(void (*allow)(void), void (*change)(void))
{
	char bytes[2 * N_WORDS];
	pthread_t other;
	int server, peer;
	ssize_t n;

	open_shared();
	server = listen_far();
	allow();
	assert_int_equal(pthread_create(&other, NULL, make_change, change), 0);
	assert_int_equal(world_run(&world, talk_on, NULL).value, 0);
	pthread_join(other, NULL);
	peer = accept(server, NULL, NULL);
	n = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	close(peer);
	close(server);
	world_close(&world);
	return n;
}

/* Also where nothing can end the socket: it falls silent. */
static void open_flow_is_asked_about_again_by_another_policy(void **state)
{
	(void)state;
	assert_in_range(bytes_heard(allow_it, forbid_it), 2, N_WORDS - 3);
	assert_int_equal(bytes_heard(allow_it, let_it_expire), N_WORDS);
}

/* What a reload does to a socket before the settings are the new ones: the policy that comes has let it
 * go on, and the tables have nothing on it, as where it is older than the sandbox. */
static void stamp(int fd)
{
	struct nej_socket value;

	assert_int_equal(object_tag_read(world.object, fd, &value), 0);
	value.generation++;
	assert_int_equal(object_retag(world.object, fd, &value), 0);
	allow_del(world.object, is_any, 0);
}

static void talk_stamped(struct world_result *ret, void *arg)
{
	int fd = connect_to_peer(ret);

	(void)arg;
	for (int i = 0; i < 6 && !ret->value; i++) {
		if (i == 2)
			stamp(fd);
		if (i == 4)
			turn_generation();
		ret->value = send(fd, "w", 1, 0) < 0 ? -errno : 0;
		usleep(WORD_US);
	}
}

static void socket_stamped_for_the_next_policy_goes_on(void **state)
{
	char bytes[16];
	int server, peer;

	(void)state;
	open_shared();
	server = listen_far();
	allow_it();
	assert_int_equal(world_run(&world, talk_stamped, NULL).value, 0);
	peer = accept(server, NULL, NULL);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT), 6);
	close(peer);
	close(server);
	world_close(&world);
}

/* --- grants */

#define GRANT_ID 70u

static void allow4(uint32_t rule, uint64_t expiry_ns)
{
	struct allow_entry e = {.proto = IPPROTO_TCP, .port = 7};

	e.value = (struct nej_allow){
		.verdict = NEJ_PASS, .is_private_ok = 1, .rule = rule, .expiry_ns = expiry_ns};
	assert_int_equal(addr_parse(PEER4, strlen(PEER4), &e.prefix.addr), 0);
	e.prefix.bits = 128;
	assert_int_equal(allow_add(world.object, &e), 0);
}

static void grant_for(uint32_t id, uint64_t for_ns)
{
	struct nej_grant row = {.expiry_ns = clock_boot_ns() + for_ns, .id = id};
	uint32_t slot = GRANT_ID % NEJ_MAX_GRANTS;

	assert_int_equal(
		bpf_map_update_elem(object_map_fd(world.object, "grants"), &slot, &row, 0), 0);
}

/* The address of a name: its own time is up sooner than the grant's. */
static void grant_long(void)
{
	grant_for(GRANT_ID, 3600000000000ull);
	allow4(NEJ_RULE_GRANT | GRANT_ID, clock_boot_ns() + N_WORDS / 2 * WORD_US * 1000ull);
}

static void grant_half(void)
{
	grant_for(GRANT_ID, N_WORDS / 2 * WORD_US * 1000ull);
	allow4(NEJ_RULE_GRANT | GRANT_ID, 0);
}

static void revoke_it(void)
{
	grant_for(0, 0);
}

static void give_its_place_to_another(void)
{
	grant_for(GRANT_ID + NEJ_MAX_GRANTS, 3600000000000ull);
}

static void allow_it_by_a_rule(void)
{
	revoke_it();
	allow4(3, 0);
}

static void open_flow_of_a_grant_ends_with_it(void **state)
{
	(void)state;
	assert_int_equal(bytes_heard(grant_long, NULL), N_WORDS);
	assert_int_equal(bytes_heard(grant_long, turn_generation), N_WORDS);
	assert_int_equal(bytes_heard(grant_half, allow_it_by_a_rule), N_WORDS);
	/* nobody does anything but wait */
	assert_in_range(bytes_heard(grant_half, NULL), 2, N_WORDS - 3);
	assert_in_range(bytes_heard(grant_long, revoke_it), 2, N_WORDS - 3);
	assert_in_range(bytes_heard(grant_long, give_its_place_to_another), 2, N_WORDS - 3);
}

static void entry_of_a_grant_that_is_over_is_none(void **state)
{
	struct target far = {.addr = PEER4, .port = 7};
	int server;

	(void)state;
	open_shared();
	server = listen_far();
	grant_long();
	assert_int_equal(world_run(&world, try_connect, &far).value, 0);
	revoke_it();
	assert_int_equal(world_run(&world, try_connect, &far).value, DENIED);
	give_its_place_to_another();
	assert_int_equal(world_run(&world, try_connect, &far).value, DENIED);
	grant_half();
	assert_int_equal(world_run(&world, try_connect, &far).value, 0);
	usleep(N_WORDS / 2 * WORD_US);
	assert_int_equal(world_run(&world, try_connect, &far).value, DENIED);
	close(server);
	world_close(&world);
}

/* One admitted datagram does not make a socket free: DNS of the same socket, steered to the wire,
 * is still stopped. */
static void admit_then_steer(struct world_result *ret, void *arg)
{
	uint32_t index_be = htonl(if_nametoindex("wire0"));
	int fd = open_dgram(AF_INET);

	(void)arg;
	ret->more[0] = sendto(fd, "time", 4, 0,
			       (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET,
				       .sin_port = htons(123),
				       .sin_addr.s_addr = inet_addr(PEER4)},
			       sizeof(struct sockaddr_in)) < 0
		? -errno
		: 0;
	setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &index_be, sizeof(index_be));
	ret->value = dgram_to(fd, "8.8.8.8", 53);
}

static void admitted_socket_is_not_free(void **state)
{
	struct world_result r;

	(void)state;
	open_shared();
	world_allow4(&world, PEER4, IPPROTO_UDP, 123, 0);
	r = world_run(&world, admit_then_steer, NULL);
	assert_int_equal(r.more[0], 0);
	assert_int_equal(r.value, -EPERM);
	assert_int_equal(count_leaks(50), 1); /* the admitted one */
	world_close(&world);
}

/* --- loopback shared with others */

static int listen_at(int type, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 4) < 0))
		return -errno;
	return fd;
}

static int listen_here(int type)
{
	return listen_at(type, 0);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	getsockname(fd, (struct sockaddr *)&at, &len);
	return ntohs(at.sin_port);
}

static void talk_within(struct world_result *ret, void *arg)
{
	int server = listen_here(SOCK_STREAM), udp = listen_here(SOCK_DGRAM);
	struct target tcp_to = {.addr = "127.0.0.1", .port = port_of(server)};
	int client = open_dgram(AF_INET);
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char byte;

	(void)arg;
	try_connect(ret, &tcp_to);
	if (ret->value)
		return;
	tcp_to.addr = "0.0.0.0";
	try_connect(ret, &tcp_to);
	if (ret->value)
		return;
	tcp_to.addr = "::ffff:127.0.0.1";
	try_connect(ret, &tcp_to);
	if (ret->value)
		return;
	/* A datagram and its answer, to a client without an address of its own choice. */
	ret->more[0] = dgram_to(client, "127.0.0.1", port_of(udp));
	if (recvfrom(udp, &byte, 1, 0, (struct sockaddr *)&from, &len) == 1)
		ret->more[1] =
			sendto(udp, "x", 1, 0, (struct sockaddr *)&from, len) < 0 ? -errno : 0;
}

/* A client that connects its UDP socket is found as the owner of its port, too. */
static void talk_connected(struct world_result *ret, void *arg)
{
	int server = listen_here(SOCK_DGRAM), client = open_dgram(AF_INET);
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port_of(server))};
	socklen_t len = sizeof(at);
	char byte;

	(void)arg;
	if (connect(client, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		send(client, "x", 1, 0) != 1 ||
		recvfrom(server, &byte, 1, 0, (struct sockaddr *)&at, &len) != 1 ||
		sendto(server, "y", 1, 0, (struct sockaddr *)&at, len) != 1 ||
		recv(client, &byte, 1, 0) != 1)
		ret->value = -errno;
	else
		ret->value = byte == 'y' ? 0 : -EIO;
}

static int listen_here6(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4) < 0)
		return -errno;
	return fd;
}

static void talk_within6(struct world_result *ret, void *arg)
{
	int server = listen_here6();
	struct target t = {.addr = "::1", .port = port_of(server)};

	(void)arg;
	try_connect(ret, &t);
	t.addr = "::";
	if (!ret->value)
		try_connect(ret, &t);
}

static void ipv6_loopback_and_connected_datagrams_are_told_apart_too(void **state)
{
	struct target t = {.addr = "::1"};
	int server;

	(void)state;
	open_shared();
	server = listen_here6();
	t.port = port_of(server);
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	t.addr = "::";
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	assert_int_equal(world_run(&world, talk_within6, NULL).value, 0);
	assert_int_equal(world_run(&world, talk_connected, NULL).value, 0);
	close(server);
	world_close(&world);
}

/* musl's getaddrinfo asks so whether a family is there at all; it says nothing on it. */
static void probe_of_address_families_is_answered(void **state)
{
	struct target t = {.addr = "127.0.0.1", .port = 65535, .type = SOCK_DGRAM};
	int other;

	(void)state;
	open_shared();
	assert_int_equal(world_run(&world, try_connect, &t).value, 0);
	t.addr = "::1";
	assert_int_equal(world_run(&world, try_connect, &t).value, 0);
	t.port = 65534;
	assert_int_equal(world_run(&world, try_connect, &t).value, denied(ECONNREFUSED));
	t = (struct target){.addr = "127.0.0.1", .port = 65535};
	assert_int_equal(world_run(&world, try_connect, &t).value, denied(ECONNREFUSED));
	t.type = SOCK_DGRAM;
	other = listen_at(SOCK_DGRAM, 65535);
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	close(other);
	world_close(&world);
}

static void loopback_of_others_is_refused_and_the_own_works(void **state)
{
	struct world_result r;
	int server, udp;
	struct target t = {.addr = "127.0.0.1"};

	(void)state;
	open_shared();
	server = listen_here(SOCK_STREAM);
	udp = listen_here(SOCK_DGRAM);
	t.port = port_of(server);
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	t.addr = "0.0.0.0";
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	t.addr = "::ffff:127.0.0.1";
	assert_int_equal(world_run(&world, try_connect, &t).value, DENIED);
	t = (struct target){.addr = "127.0.0.1", .port = port_of(udp)};
	assert_int_equal(world_run(&world, try_sendto, &t).value, DENIED);
	assert_int_equal(world_count(&world, NEJ_REASON_LOOPBACK), 4);
	t.port = 4444; /* nobody: what a closed port says, and no event */
	assert_int_equal(world_run(&world, try_connect, &t).value, denied(ECONNREFUSED));
	assert_int_equal(world_count(&world, NEJ_REASON_LOOPBACK), 4);
	r = world_run(&world, talk_within, NULL);
	assert_int_equal(r.value, 0);
	assert_int_equal(r.more[0], 0);
	assert_int_equal(r.more[1], 0);
	/* host_ports opens one. */
	world_add_port(&world, port_of(server), NEJ_PORT_HOST);
	t.port = port_of(server);
	assert_int_equal(world_run(&world, try_connect, &t).value, 0);
	close(server);
	close(udp);
	world_close(&world);
}

/* --- inbound */

static void serve_outside(struct world_result *ret, void *arg)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(8080)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int *ready = arg;

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4) < 0 ||
		write(ready[1], "x", 1) != 1) {
		ret->value = -errno;
		return;
	}
	ret->value = poll(&p, 1, 400);
}

static int knock(int ns_fd, const char *addr)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(8080)};
	const struct timeval limit = {.tv_usec = 200000};
	int fd, r;

	inet_pton(AF_INET, addr, &to.sin_addr);
	setns(ns_fd, CLONE_NEWNET);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	r = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static void expect_inbound(uint32_t flags, bool is_far, int want_accepted)
{
	int ready[2], status;
	char c;
	pid_t pid;

	open_shared();
	world_set_flags(&world, flags);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		usleep(20000);
		if (read(ready[0], &c, 1) != 1)
			_exit(9);
		knock(is_far ? far_ns : near_ns, is_far ? "10.99.0.1" : "127.0.0.1");
		_exit(0);
	}
	assert_int_equal(world_run(&world, serve_outside, ready).value, want_accepted);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	world_close(&world);
}

static void inbound_connection_comes_from_loopback_only(void **state)
{
	(void)state;
	expect_inbound(NEJ_F_ACTIVE, true, 0);
	expect_inbound(NEJ_F_ACTIVE, false, 1);
	expect_inbound(NEJ_F_ACTIVE | NEJ_F_INBOUND_DENY, false, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admitted_flow_goes_straight_out_and_no_other),
		cmocka_unit_test(admitted_socket_is_not_free),
		cmocka_unit_test(open_flow_is_asked_about_again_by_another_policy),
		cmocka_unit_test(socket_stamped_for_the_next_policy_goes_on),
		cmocka_unit_test(open_flow_of_a_grant_ends_with_it),
		cmocka_unit_test(entry_of_a_grant_that_is_over_is_none),
		cmocka_unit_test(loopback_of_others_is_refused_and_the_own_works),
		cmocka_unit_test(ipv6_loopback_and_connected_datagrams_are_told_apart_too),
		cmocka_unit_test(probe_of_address_families_is_answered),
		cmocka_unit_test(inbound_connection_comes_from_loopback_only),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
