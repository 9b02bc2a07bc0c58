/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sandbox that shares its network namespace with others and has a way out: what it tries must not
 * reach the wire. Each attempt is first made without nej, to show that it would have worked.
 */
#include "wire.h"

#include <linux/seg6.h>

static struct world world;

/* --- attempts: each tries to get something onto the wire */

static int connect_for_a_moment(const char *addr, uint16_t port, const char *device)
{
	struct target t = {.addr = addr, .port = port, .type = SOCK_STREAM | SOCK_NONBLOCK};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t), r;

	if (fd < 0)
		return fd;
	if (device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device)) < 0)
		return -errno;
	r = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	usleep(60000);
	close(fd);
	return r == -EINPROGRESS ? 0 : r;
}

static void tcp_far(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = connect_for_a_moment(FAR4, 9999, NULL);
}

static void tcp_far6(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = connect_for_a_moment(FAR6, 9999, NULL);
}

static void tcp_allowed_port(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = connect_for_a_moment(FAR4, 443, NULL);
}

static void tcp_proxy_port_elsewhere(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = connect_for_a_moment(PEER4, PROXY_PORT, NULL);
}

static void tcp_bound_to_device(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = connect_for_a_moment(FAR4, 443, "wire0");
}

static void udp_far(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET), FAR4, 9999);
}

static void udp_far6(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET6), FAR6, 9999);
}

static void udp_quic(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET), FAR4, 443);
}

static void udp_connected(struct world_result *ret, void *arg)
{
	struct target t = {.addr = FAR4, .port = 9999, .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 ||
			send(fd, CANARY, sizeof(CANARY), 0) < 0
		? -errno
		: 0;
}

static void udp_multicast(struct world_result *ret, void *arg)
{
	struct ip_mreqn request = {.imr_ifindex = (int)if_nametoindex("wire0")};
	int fd = open_dgram(AF_INET);

	(void)arg;
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request));
	ret->value = dgram_to(fd, "239.1.1.1", 9999);
}

static void udp_broadcast(struct world_result *ret, void *arg)
{
	int fd = open_dgram(AF_INET), one = 1;

	(void)arg;
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	ret->value = dgram_to(fd, "10.99.0.255", 9999);
}

static void udp_lite(struct world_result *ret, void *arg)
{
	struct target t = {.addr = FAR4, .port = 9999, .type = SOCK_DGRAM, .protocol = 136};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value = fd < 0 || connect(fd, (struct sockaddr *)&sa, len) < 0 ||
			send(fd, CANARY, sizeof(CANARY), 0) < 0
		? -errno
		: 0;
}

static void ping(struct world_result *ret, void *arg)
{
	struct {
		uint8_t type, code;
		uint16_t sum, id, seq;
		char canary[sizeof(CANARY)];
	} echo = {.type = 8, .canary = CANARY};
	struct target t = {.addr = FAR4, .type = SOCK_DGRAM, .protocol = IPPROTO_ICMP};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value = fd < 0 || sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&sa, len) < 0
		? -errno
		: 0;
}

static void raw_icmp(struct world_result *ret, void *arg)
{
	struct target t = {.addr = FAR4, .type = SOCK_RAW, .protocol = IPPROTO_ICMP};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value = fd < 0 ||
			sendto(fd, "\x08\0\0\0\0\0\0\0" CANARY, 8 + sizeof(CANARY), 0,
				(struct sockaddr *)&sa, len) < 0
		? -errno
		: 0;
}

/* DNS is redirected to loopback; these steer it past lo all the same. */
static void dns_bound_to_device(struct world_result *ret, void *arg)
{
	int fd = open_dgram(AF_INET);

	(void)arg;
	setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "wire0", 5);
	ret->value = dgram_to(fd, "8.8.8.8", 53);
}

static void dns_by_unicast_if(struct world_result *ret, void *arg)
{
	uint32_t index_be = htonl(if_nametoindex("wire0"));
	int fd = open_dgram(AF_INET);

	(void)arg;
	setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &index_be, sizeof(index_be));
	ret->value = dgram_to(fd, "8.8.8.8", 53);
}

static void dns_by_unicast_if6(struct world_result *ret, void *arg)
{
	uint32_t index_be = htonl(if_nametoindex("wire0"));
	int fd = open_dgram(AF_INET6);

	(void)arg;
	setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &index_be, sizeof(index_be));
	ret->value = dgram_to(fd, FAR6, 53);
}

static int send_with(int fd, const char *addr, int level, int type, const void *data, size_t len)
{
	struct target t = {.addr = addr, .port = 53};
	struct sockaddr_storage sa;
	struct iovec part = {.iov_base = (void *)(uintptr_t)CANARY, .iov_len = sizeof(CANARY)};
	char control[256] = {0};
	struct msghdr m = {.msg_name = &sa,
		.msg_namelen = target_sockaddr(&t, &sa),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(len)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	return sendmsg(fd, &m, 0) < 0 ? -errno : 0;
}

static void dns_by_pktinfo(struct world_result *ret, void *arg)
{
	struct in_pktinfo info = {.ipi_ifindex = (int)if_nametoindex("wire0")};

	(void)arg;
	ret->value = send_with(
		open_dgram(AF_INET), "8.8.8.8", IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

static void dns_by_pktinfo6(struct world_result *ret, void *arg)
{
	struct in6_pktinfo info = {.ipi6_ifindex = if_nametoindex("wire0")};

	(void)arg;
	ret->value = send_with(
		open_dgram(AF_INET6), FAR6, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

/* A segment routing header: the first segment, of the sandbox's choice, is where the packet goes. */
static void dns_by_routing_header(struct world_result *ret, void *arg)
{
	struct {
		struct ipv6_sr_hdr head;
		struct in6_addr segments[2];
	} route = {.head = {.hdrlen = 4, .type = 4, .segments_left = 1, .first_segment = 1}};
	int fd = open_dgram(AF_INET6);

	(void)arg;
	inet_pton(AF_INET6, FAR6, &route.segments[0]);
	inet_pton(AF_INET6, PEER6, &route.segments[1]);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &route, sizeof(route)) < 0)
		ret->value = -errno;
	else
		ret->value = dgram_to(fd, FAR6, 53);
}

static void dns_by_scope(struct world_result *ret, void *arg)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6,
		.sin6_port = htons(53),
		.sin6_scope_id = if_nametoindex("wire0")};
	int fd = open_dgram(AF_INET6);

	(void)arg;
	inet_pton(AF_INET6, "fe80::2", &sa.sin6_addr);
	ret->value = sendto(fd, CANARY, sizeof(CANARY), 0, (struct sockaddr *)&sa, sizeof(sa)) < 0
		? -errno
		: 0;
}

static const struct {
	const char *name;
	void (*fn)(struct world_result *ret, void *arg);
	bool is_silent; /* nej lets the call succeed (redirected), the packet goes nowhere */
	bool want_root;
	bool may_not_leave_by_itself; /* this kernel need not send it even without nej */
} attempts[] = {
	{"TCP", tcp_far, false, false, false},
	{"TCP over IPv6", tcp_far6, false, false, false},
	{"TCP to a port some rule allows", tcp_allowed_port, true, false, false},
	{"TCP to the proxy's port elsewhere", tcp_proxy_port_elsewhere, false, false, false},
	{"TCP with SO_BINDTODEVICE", tcp_bound_to_device, false, false, false},
	{"UDP", udp_far, false, false, false},
	{"UDP over IPv6", udp_far6, false, false, false},
	{"QUIC", udp_quic, false, false, false},
	{"connected UDP", udp_connected, false, false, false},
	{"multicast", udp_multicast, false, false, false},
	{"broadcast", udp_broadcast, false, false, false},
	{"UDP-Lite", udp_lite, false, false, true},
	{"ping socket", ping, false, false, false},
	{"raw socket", raw_icmp, false, true, false},
	{"DNS with SO_BINDTODEVICE", dns_bound_to_device, false, false, false},
	{"DNS with IP_UNICAST_IF", dns_by_unicast_if, false, false, false},
	{"DNS with IPV6_UNICAST_IF", dns_by_unicast_if6, false, false, false},
	{"DNS with IP_PKTINFO", dns_by_pktinfo, false, false, false},
	{"DNS with IPV6_PKTINFO", dns_by_pktinfo6, false, false, false},
	{"DNS with a routing header", dns_by_routing_header, false, false, true},
	{"DNS with a link-local scope", dns_by_scope, false, false, false},
};

static void no_attempt_reaches_the_wire(void **state)
{
	struct object_error error = {0};
	bool has_left[ARRAY_SIZE(attempts)];

	(void)state;
	make_wire();
	world = (struct world){.proxy6 = -1, .eager6 = -1, .eager4 = -1, .stub6 = -1};
	world_new_cgroup(&world);
	world.proxy4 = world_listen(AF_INET, SOCK_STREAM, PROXY_PORT);
	world.stub4 = world_listen(AF_INET, SOCK_DGRAM, STUB_PORT);
	world.stub6 = world_listen(AF_INET6, SOCK_DGRAM, STUB_PORT);
	count_leaks(200);
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		world_run_as(&world, attempts[i].want_root ? 0 : SANDBOX_UID, attempts[i].fn, NULL);
		has_left[i] = count_leaks(50) > 0;
		if (!has_left[i] && !attempts[i].may_not_leave_by_itself)
			fail_msg("%s: proves nothing, it does not leave without nej either",
				attempts[i].name);
	}
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	world_configure(&world, NEJ_F_ACTIVE);
	world_add_port(&world, 443, NEJ_PORT_PROXY);
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		struct world_result r = world_run_as(
			&world, attempts[i].want_root ? 0 : SANDBOX_UID, attempts[i].fn, NULL);

		if (count_leaks(50))
			fail_msg("%s: reached the wire", attempts[i].name);
		if (!attempts[i].is_silent && r.value == 0)
			fail_msg("%s: nobody told the program", attempts[i].name);
	}
	world_close(&world);
}

/* --- sockets that are older than the sandbox, or were made outside it */

static int open_connected(int type)
{
	struct target t = {.addr = PEER4, .port = 7, .type = type};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

/* A process of the cgroup connects, then nej comes: its old sockets fall silent. */
static void socket_older_than_the_sandbox_falls_silent(void **state)
{
	struct object_error error = {0};
	int server, ready[2], go[2], status;
	char c;
	pid_t pid;

	(void)state;
	make_wire();
	world = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	world_new_cgroup(&world);
	server = listen_far();
	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (!pid) {
		int tcp, udp;

		world_enter(&world);
		tcp = open_connected(SOCK_STREAM);
		udp = open_connected(SOCK_DGRAM);
		if (write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(9);
		if (send(udp, CANARY, sizeof(CANARY), 0) >= 0 || errno != EPERM)
			_exit(1);
		send(tcp, CANARY, sizeof(CANARY), 0); /* taken, but it never leaves */
		usleep(300000);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	world_configure(&world, NEJ_F_ACTIVE);
	count_leaks(100);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(count_leaks(250), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(world_count(&world, NEJ_COUNTER_DROPPED_PACKETS) >= 2);
	close(server);
	world_close(&world);
}

/* The known limit, pinned here: a socket keeps the cgroup it was made in. Who starts the sandbox
 * must hand no socket in; the launcher closes all descriptors. */
static void socket_made_outside_is_not_covered(void **state)
{
	int server, fd;
	struct object_error error = {0};
	pid_t pid;

	(void)state;
	make_wire();
	world = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	world_new_cgroup(&world);
	server = listen_far();
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	world_configure(&world, NEJ_F_ACTIVE);
	fd = open_connected(SOCK_STREAM);
	count_leaks(100);
	pid = fork();
	if (!pid) {
		world_enter(&world);
		send(fd, CANARY, sizeof(CANARY), 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_true(count_leaks(100) > 0);
	close(fd);
	close(server);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_attempt_reaches_the_wire),
		cmocka_unit_test(socket_older_than_the_sandbox_falls_silent),
		cmocka_unit_test(socket_made_outside_is_not_covered),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
