/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sandbox that shares its network namespace with others and has a way out: what it tries must not
 * reach the wire, which another namespace listens to. Each attempt is first made without nej, to
 * show that it would have worked.
 */
#include "world.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/seg6.h>
#include <net/if.h>
#include <stdbool.h>

#define CANARY "nej-canary-0123456789"
#define PEER4 "10.99.0.2"
#define PEER6 "fd99::2"
#define FAR4 "93.184.216.34"
#define FAR6 "2606:2800:220:1::1"

static struct world world;
static int sniffer = -1, far_ns = -1, near_ns = -1;

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int open_ns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Two namespaces with a wire between, routes and neighbours fixed, so that nothing but the
 * sandbox's own packets and the kernel's housekeeping crosses. */
static void make_wire(void)
{
	char command[256];

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	far_ns = open_ns();
	run("ip link set lo up");
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	near_ns = open_ns();
	snprintf(command, sizeof(command),
		"ip link add wire0 address 02:00:00:00:00:01 type veth peer name wire1 address "
		"02:00:00:00:00:02 netns /proc/%d/fd/%d",
		getpid(), far_ns);
	run(command);
	assert_int_equal(link_set_up_lo(), 0);
	run("sysctl -qw net.ipv6.conf.wire0.accept_dad=0");
	run("ip addr add 10.99.0.1/24 dev wire0 && ip link set wire0 up");
	run("ip -6 addr add fd99::1/64 dev wire0 nodad");
	assert_int_equal(setns(far_ns, CLONE_NEWNET), 0);
	run("sysctl -qw net.ipv6.conf.wire1.accept_dad=0");
	run("ip addr add " PEER4 "/24 dev wire1 && ip link set wire1 up");
	run("ip -6 addr add " PEER6 "/64 dev wire1 nodad");
	sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	assert_true(sniffer >= 0);
	assert_int_equal(setns(near_ns, CLONE_NEWNET), 0);
	run("ip neigh replace " PEER4 " lladdr 02:00:00:00:00:02 dev wire0 nud permanent");
	run("ip -6 neigh replace " PEER6 " lladdr 02:00:00:00:00:02 dev wire0 nud permanent");
	run("ip -6 neigh replace fe80::2 lladdr 02:00:00:00:00:02 dev wire0 nud permanent");
	run("ip route add default via " PEER4 " && ip -6 route add default via " PEER6);
	run("sysctl -qw net.ipv4.ping_group_range='0 2147483647'");
}

/* Does a frame carry what the sandbox wanted to say, or open a connection? ICMPv6 and IGMP are the
 * kernel's own. */
static bool is_leak(const uint8_t *b, size_t n)
{
	if (n >= sizeof(CANARY) - 1 && memmem(b, n, CANARY, sizeof(CANARY) - 1))
		return true;
	if (n >= 20 && b[0] >> 4 == 4)
		return b[9] != IPPROTO_ICMP && b[9] != IPPROTO_IGMP;
	if (n >= 40 && b[0] >> 4 == 6)
		return b[6] == IPPROTO_TCP || b[6] == IPPROTO_UDP || b[6] == IPPROTO_ROUTING;
	return false;
}

static int count_leaks(int wait_ms)
{
	struct pollfd p = {.fd = sniffer, .events = POLLIN};
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	uint8_t frame[2048];
	int n_leaks = 0;

	while (poll(&p, 1, wait_ms) == 1) {
		ssize_t n =
			recvfrom(sniffer, frame, sizeof(frame), 0, (struct sockaddr *)&from, &len);

		if (n > 0 && from.sll_pkttype != PACKET_OUTGOING && is_leak(frame, (size_t)n))
			n_leaks++;
		len = sizeof(from);
	}
	return n_leaks;
}

/* --- attempts: each tries to get something onto the wire */

static int dgram_to(int fd, const char *addr, uint16_t port)
{
	struct target t = {.addr = addr, .port = port};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);

	return sendto(fd, CANARY, sizeof(CANARY), 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static int open_dgram(int family)
{
	return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

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

static int listen_far(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7)};
	int fd;

	assert_int_equal(setns(far_ns, CLONE_NEWNET), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(setns(near_ns, CLONE_NEWNET), 0);
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

static void talk_to_peer(struct world_result *ret, void *arg)
{
	struct target t = {.addr = PEER4, .port = 7};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd = target_socket(&t);

	(void)arg;
	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 || send(fd, CANARY, 6, 0) < 0
		? -errno
		: 0;
}

static void ask_time(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = dgram_to(open_dgram(AF_INET), PEER4, 123);
}

static void admitted_flow_goes_straight_out_and_no_other(void **state)
{
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
	assert_int_equal(r.value, -EACCES);
	assert_int_equal(world_run(&world, tcp_far, NULL).value, -EACCES);
	assert_int_equal(count_leaks(50), 0);
	close(peer);
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

static int listen_here(int type)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 4) < 0))
		return -errno;
	return fd;
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
	assert_int_equal(world_run(&world, try_connect, &t).value, -EACCES);
	t.addr = "0.0.0.0";
	assert_int_equal(world_run(&world, try_connect, &t).value, -EACCES);
	t.addr = "::ffff:127.0.0.1";
	assert_int_equal(world_run(&world, try_connect, &t).value, -EACCES);
	t = (struct target){.addr = "127.0.0.1", .port = port_of(udp)};
	assert_int_equal(world_run(&world, try_sendto, &t).value, -EACCES);
	assert_int_equal(world_count(&world, NEJ_REASON_LOOPBACK), 4);
	t.port = 4444; /* nobody: what a closed port says, and no event */
	assert_int_equal(world_run(&world, try_connect, &t).value, -ECONNREFUSED);
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
		cmocka_unit_test(no_attempt_reaches_the_wire),
		cmocka_unit_test(socket_older_than_the_sandbox_falls_silent),
		cmocka_unit_test(socket_made_outside_is_not_covered),
		cmocka_unit_test(admitted_flow_goes_straight_out_and_no_other),
		cmocka_unit_test(admitted_socket_is_not_free),
		cmocka_unit_test(loopback_of_others_is_refused_and_the_own_works),
		cmocka_unit_test(inbound_connection_comes_from_loopback_only),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
