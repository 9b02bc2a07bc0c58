/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens the listeners; see netns.h. Devices and addresses of a namespace are kernel/link.c's. */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/addr.h"
#include "../base/cleanup.h"
#include "../kernel/link.h"

#define BACKLOG 4096
#define DEFER_S 3600 /* the kernel caps it at what its SYN-ACK retries take */
#define LOWEST_PORT 1024
#define PORT_TRIES 512

static const struct listener_row {
	const char *addr;
	int type;
	bool is_proxy, is_eager;
} rows[HANDOFF_LISTENER_COUNT] = {
	[HANDOFF_PROXY4] = {"127.0.0.1", SOCK_STREAM, true, false},
	[HANDOFF_PROXY6] = {"::1", SOCK_STREAM, true, false},
	[HANDOFF_EAGER4] = {"127.0.0.1", SOCK_STREAM, false, true},
	[HANDOFF_EAGER6] = {"::1", SOCK_STREAM, false, true},
	[HANDOFF_DNS_UDP4] = {"127.0.0.1", SOCK_DGRAM, false, false},
	[HANDOFF_DNS_UDP6] = {"::1", SOCK_DGRAM, false, false},
	[HANDOFF_DNS_TCP4] = {"127.0.0.1", SOCK_STREAM, false, false},
	[HANDOFF_DNS_TCP6] = {"::1", SOCK_STREAM, false, false},
};

static uint16_t *row_port(struct netns_listeners *l, size_t i)
{
	return rows[i].is_proxy    ? &l->proxy_port
		: rows[i].is_eager ? &l->eager_port
				   : &l->stub_port;
}

/* No SO_REUSEADDR: on the UDP socket it would let the sandbox bind the same port and take its own
 * DNS over. */
static int open_one(const struct listener_row *row, uint16_t port)
{
	struct endpoint at = {.port = port};
	struct sockaddr_storage sa;
	socklen_t len;
	_cleanup_close_ int fd = -1;
	int one = 1, defer = DEFER_S;

	addr_parse(row->addr, strlen(row->addr), &at.addr);
	len = endpoint_to_sockaddr(&at, &sa);
	fd = socket(sa.ss_family, row->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (sa.ss_family == AF_INET6 &&
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return -errno;
	if (row->is_proxy &&
		setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof(defer)) < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, len) < 0)
		return -errno;
	if (row->type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static bool is_missing_family(size_t i, int err)
{
	return (i & 1) && (err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL);
}

/* IPv6 is all or nothing: connects are redirected by family, not by listener. */
static void drop_ipv6(struct netns_listeners *l)
{
	const uint32_t all6 = 1u << HANDOFF_PROXY6 | 1u << HANDOFF_EAGER6 | 1u << HANDOFF_DNS_UDP6 |
		1u << HANDOFF_DNS_TCP6;

	if ((l->has & all6) == all6)
		return;
	for (size_t i = 1; i < HANDOFF_LISTENER_COUNT; i += 2) {
		cleanup_close(&l->fds[i]);
		l->fds[i] = -1;
	}
	l->has &= ~all6;
}

static void listeners_init(struct netns_listeners *l)
{
	memset(l, 0, sizeof(*l));
	memset(l->fds, -1, sizeof(l->fds));
}

static int open_fixed(struct netns_listeners *l)
{
	l->proxy_port = NETNS_PROXY_PORT;
	l->eager_port = NETNS_EAGER_PORT;
	l->stub_port = NETNS_STUB_PORT;
	for (size_t i = 0; i < HANDOFF_LISTENER_COUNT; i++) {
		int fd = open_one(&rows[i], *row_port(l, i));

		if (is_missing_family(i, fd))
			continue;
		if (fd < 0)
			return fd;
		l->fds[i] = fd;
		l->has |= 1u << i;
	}
	drop_ipv6(l);
	return 0;
}

/* The calling thread comes back in any case. */
static int act_in(int netns_fd, int (*act)(void *arg), void *arg)
{
	_cleanup_close_ int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int r;

	if (own < 0 || setns(netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	r = act(arg);
	return setns(own, CLONE_NEWNET) < 0 ? -errno : r;
}

static int listen_fixed(void *arg)
{
	int r = link_set_up_lo();

	return r < 0 ? r : open_fixed(arg);
}

static int listen_in(int netns_fd, int (*act)(void *arg), struct netns_listeners *ret)
{
	int r;

	listeners_init(ret);
	r = act_in(netns_fd, act, ret);
	if (r < 0)
		netns_listeners_close(ret);
	return r;
}

int netns_listen_in(int netns_fd, struct netns_listeners *ret)
{
	return listen_in(netns_fd, listen_fixed, ret);
}

/* All rows that share a port, on both addresses, or none. */
static int open_group(struct netns_listeners *l, uint16_t *port_of, uint16_t port)
{
	int r = 0;

	*port_of = port;
	for (size_t i = 0; i < HANDOFF_LISTENER_COUNT && r >= 0; i++) {
		if (row_port(l, i) != port_of)
			continue;
		r = open_one(&rows[i], port);
		if (is_missing_family(i, r)) {
			r = 0;
			continue;
		}
		if (r >= 0) {
			l->fds[i] = r;
			l->has |= 1u << i;
		}
	}
	for (size_t i = 0; i < HANDOFF_LISTENER_COUNT && r < 0; i++)
		if (row_port(l, i) == port_of) {
			cleanup_close(&l->fds[i]);
			l->fds[i] = -1;
			l->has &= ~(1u << i);
		}
	return r < 0 ? r : 0;
}

static void read_port_range(unsigned int *ret_low, unsigned int *ret_high)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	*ret_low = 32768;
	*ret_high = 60999;
	if (f && fscanf(f, "%u %u", ret_low, ret_high) != 2)
		*ret_low = 32768;
}

/* Candidates: downwards from the range's lower end, then upwards from its upper end. */
static unsigned int candidate(unsigned int low, unsigned int high, unsigned int n)
{
	if (low > LOWEST_PORT + n)
		return low - 1 - n;
	n -= low > LOWEST_PORT ? low - LOWEST_PORT : 0;
	return high + 1 + n;
}

int netns_listen_here(struct netns_listeners *ret)
{
	uint16_t *ports[] = {&ret->proxy_port, &ret->eager_port, &ret->stub_port};
	unsigned int low, high, n = 0;
	int r = 0;

	listeners_init(ret);
	read_port_range(&low, &high);
	for (size_t i = 0; i < ARRAY_SIZE(ports) && r >= 0; i++) {
		r = -EADDRINUSE;
		while (r == -EADDRINUSE && n < PORT_TRIES) {
			unsigned int port = candidate(low, high, n++);

			if (port > UINT16_MAX)
				break;
			r = open_group(ret, ports[i], (uint16_t)port);
		}
	}
	if (r < 0) {
		netns_listeners_close(ret);
		return r;
	}
	drop_ipv6(ret);
	return 0;
}

static int listen_here(void *arg)
{
	return netns_listen_here(arg);
}

int netns_listen_among(int netns_fd, struct netns_listeners *ret)
{
	return listen_in(netns_fd, listen_here, ret);
}

static int set_up_lo(void *arg)
{
	(void)arg;
	return link_set_up_lo();
}

int netns_set_up_lo(int netns_fd)
{
	return act_in(netns_fd, set_up_lo, NULL);
}

static int tidy_lo(void *arg)
{
	(void)arg;
	link_tidy_lo();
	return 0;
}

int netns_tidy_lo(int netns_fd)
{
	return act_in(netns_fd, tidy_lo, NULL);
}

static int is_alone(void *arg)
{
	(void)arg;
	return link_is_alone();
}

int netns_is_alone(int netns_fd)
{
	return act_in(netns_fd, is_alone, NULL);
}

static int is_bare(void *arg)
{
	(void)arg;
	return link_is_bare();
}

int netns_is_bare(int netns_fd)
{
	return act_in(netns_fd, is_bare, NULL);
}

int netns_of_listeners(const struct netns_listeners *l)
{
	for (int i = 0; i < HANDOFF_LISTENER_COUNT; i++) {
		int fd = l->fds[i] < 0 ? -1 : ioctl(l->fds[i], SIOCGSKNS);

		if (l->fds[i] >= 0)
			return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

void netns_listeners_close(struct netns_listeners *l)
{
	for (size_t i = 0; i < HANDOFF_LISTENER_COUNT; i++) {
		cleanup_close(&l->fds[i]);
		l->fds[i] = -1;
	}
	l->has = 0;
}
