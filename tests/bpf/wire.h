/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two namespaces with a wire between and an ear at its far end. Header only, see world.h.
 */
#ifndef TEST_WIRE_H
#define TEST_WIRE_H

#include "world.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

#define CANARY "nej-canary-0123456789"
#define PEER4 "10.99.0.2"
#define PEER6 "fd99::2"
#define FAR4 "93.184.216.34"
#define FAR6 "2606:2800:220:1::1"

static int sniffer = -1, far_ns = -1, near_ns = -1;

/* Lines of ip(8), all by one process: under an emulator the start of one is what takes long. */
static inline void ip_batch(const char *lines)
{
	FILE *ip = popen("ip -batch -", "we");

	assert_non_null(ip);
	fputs(lines, ip);
	if (pclose(ip) != 0)
		fail_msg("ip: %s", lines);
}

static inline void set_sysctl(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	if (file_put(path, value) < 0)
		fail_msg("%s", path);
}

static inline int open_ns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Two namespaces with a wire between, routes and neighbours fixed, so that nothing but the
 * sandbox's own packets and the kernel's housekeeping crosses. */
static inline void make_wire(void)
{
	char command[256];

	/* That of the test before goes, with whatever still lives on it. */
	if (sniffer >= 0) {
		close(sniffer);
		close(far_ns);
		close(near_ns);
	}
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	far_ns = open_ns();
	assert_int_equal(link_set_up_lo(), 0);
	set_sysctl("ipv6/conf/default/accept_dad", "0");
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	near_ns = open_ns();
	assert_int_equal(link_set_up_lo(), 0);
	set_sysctl("ipv6/conf/default/accept_dad", "0");
	set_sysctl("ipv4/ping_group_range", "0 2147483647");
	snprintf(command, sizeof(command),
		"link add wire0 address 02:00:00:00:00:01 type veth peer name wire1 address "
		"02:00:00:00:00:02 netns /proc/%d/fd/%d\n",
		getpid(), far_ns);
	ip_batch(command);
	assert_int_equal(setns(far_ns, CLONE_NEWNET), 0);
	ip_batch("addr add " PEER4 "/24 dev wire1\n"
		 "link set wire1 up\n"
		 "addr add " PEER6 "/64 dev wire1 nodad\n");
	sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	assert_true(sniffer >= 0);
	assert_int_equal(setns(near_ns, CLONE_NEWNET), 0);
	ip_batch("addr add 10.99.0.1/24 dev wire0\n"
		 "link set wire0 up\n"
		 "addr add fd99::1/64 dev wire0 nodad\n"
		 "neigh replace " PEER4 " lladdr 02:00:00:00:00:02 dev wire0 nud permanent\n"
		 "neigh replace " PEER6 " lladdr 02:00:00:00:00:02 dev wire0 nud permanent\n"
		 "neigh replace fe80::2 lladdr 02:00:00:00:00:02 dev wire0 nud permanent\n"
		 "route add default via " PEER4 "\n"
		 "route add default via " PEER6 "\n");
}

/* Does a frame carry what the sandbox wanted to say, or open a connection? ICMPv6 and IGMP are the
 * kernel's own. */
static inline bool is_leak(const uint8_t *b, size_t n)
{
	if (n >= sizeof(CANARY) - 1 && memmem(b, n, CANARY, sizeof(CANARY) - 1))
		return true;
	if (n >= 20 && b[0] >> 4 == 4)
		return b[9] != IPPROTO_ICMP && b[9] != IPPROTO_IGMP;
	if (n >= 40 && b[0] >> 4 == 6)
		return b[6] == IPPROTO_TCP || b[6] == IPPROTO_UDP || b[6] == IPPROTO_ROUTING;
	return false;
}

static inline int count_leaks(int wait_ms)
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

static inline int dgram_to(int fd, const char *addr, uint16_t port)
{
	struct target t = {.addr = addr, .port = port};
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);

	return sendto(fd, CANARY, sizeof(CANARY), 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static inline int open_dgram(int family)
{
	return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static inline int listen_far(void)
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

#endif
