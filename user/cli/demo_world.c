/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds the two namespaces from one process: a socket stays in the namespace it was made in, so
 * the servers' sockets are made there before moving on. One forked process then serves them all.
 * The servers are as small as the demo needs and trust whoever speaks to them.
 */
#include "demo_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/addr.h"
#include "../base/cleanup.h"
#include "../kernel/veth.h"

enum demo_socket {
	DEMO_DNS,
	DEMO_OTHER_DNS,
	DEMO_GOOD,
	DEMO_EVIL,
	DEMO_SOCKET_COUNT,
};

static const struct {
	const char *addr;
	int type;
	uint16_t port;
} sockets[DEMO_SOCKET_COUNT] = {
	[DEMO_DNS] = {DEMO_RESOLVER, SOCK_DGRAM, 53},
	[DEMO_OTHER_DNS] = {DEMO_OTHER_RESOLVER, SOCK_DGRAM, 53},
	[DEMO_GOOD] = {DEMO_GOOD_ADDR, SOCK_STREAM, 80},
	[DEMO_EVIL] = {DEMO_EVIL_ADDR, SOCK_STREAM, 80},
};

static struct addr parse(const char *text)
{
	struct addr addr = {0};

	addr_parse(text, strlen(text), &addr);
	return addr;
}

static int listen_at(const char *text, int type, uint16_t port)
{
	struct sockaddr_storage to;
	struct endpoint endpoint = {.addr = parse(text), .port = port};
	socklen_t len = endpoint_to_sockaddr(&endpoint, &to);
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, len) < 0)
		return -errno;
	if (type == SOCK_STREAM && listen(fd, 16) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int new_namespace(void)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* In the internet's namespace: its addresses on lo, and the sockets. */
static int make_internet(int fds[static DEMO_SOCKET_COUNT])
{
	for (size_t i = 0; i < DEMO_SOCKET_COUNT; i++) {
		struct addr addr = parse(sockets[i].addr);
		int r = veth_set_up("lo", &addr, 32);

		if (r < 0)
			return r;
		fds[i] = listen_at(sockets[i].addr, sockets[i].type, sockets[i].port);
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

static int join(int internet_ns, int host_ns)
{
	struct addr here = parse("100.64.7.2"), there = parse("100.64.7.1");
	int r = veth_add("eth0", "eth0", internet_ns);

	if (r < 0)
		return r;
	if (setns(internet_ns, CLONE_NEWNET) < 0)
		return -errno;
	r = veth_set_up("eth0", &there, 30);
	if (setns(host_ns, CLONE_NEWNET) < 0)
		return -errno;
	if (r < 0)
		return r;
	r = veth_set_up("eth0", &here, 30);
	return r < 0 ? r : veth_set_gateway("eth0", &there);
}

/* Reads the question's name (RFC 1035, 4.1.2) into text; its end in the message, 0 if bad. */
static size_t read_name(const uint8_t *msg, size_t len, char *text, size_t size)
{
	size_t at = 12, out = 0;

	while (at < len && msg[at]) {
		size_t label = msg[at];

		if (at + 1 + label >= len || out + label + 2 > size)
			return 0;
		memcpy(text + out, msg + at + 1, label);
		out += label;
		text[out++] = '.';
		at += 1 + label;
	}
	text[out ? out - 1 : 0] = 0;
	return at + 5 <= len ? at + 5 : 0;
}

static bool is_below(const char *name, const char *zone)
{
	size_t have = strlen(name), want = strlen(zone);

	return have >= want && strcasecmp(name + have - want, zone) == 0;
}

static void serve_dns(int fd, struct demo_seen *seen)
{
	static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};
	uint8_t msg[600] = {0};
	char name[256];
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, msg, 512, 0, (struct sockaddr *)&from, &from_len);
	size_t end = n > 12 ? read_name(msg, (size_t)n, name, sizeof(name)) : 0;
	bool is_good, is_evil;

	if (!end)
		return;
	is_good = strcasecmp(name, DEMO_GOOD_NAME) == 0;
	is_evil = is_below(name, DEMO_EVIL_NAME);
	seen->evil_questions += is_evil;
	msg[2] = 0x85; /* answer, authoritative, recursion desired */
	msg[3] = is_good || is_evil ? 0x80 : 0x83;
	memset(msg + 6, 0, 6);
	if (msg[end - 3] == 1 && (is_good || is_evil)) {
		msg[7] = 1;
		memcpy(msg + end, record, sizeof(record));
		inet_pton(AF_INET, is_good ? DEMO_GOOD_ADDR : DEMO_EVIL_ADDR,
			msg + end + sizeof(record));
		end += sizeof(record) + 4;
	}
	sendto(fd, msg, end, 0, (struct sockaddr *)&from, from_len);
}

static void serve_web(int listener, const char *body)
{
	char text[2048];
	_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || recv(fd, text, sizeof(text), 0) <= 0)
		return;
	int n = snprintf(text, sizeof(text),
		"HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
		strlen(body), body);
	send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static void serve(int fds[static DEMO_SOCKET_COUNT], struct demo_seen *seen)
{
	struct pollfd polled[DEMO_SOCKET_COUNT];

	for (size_t i = 0; i < DEMO_SOCKET_COUNT; i++)
		polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	while (poll(polled, DEMO_SOCKET_COUNT, -1) >= 0 || errno == EINTR) {
		if (polled[DEMO_DNS].revents)
			serve_dns(fds[DEMO_DNS], seen);
		if (polled[DEMO_OTHER_DNS].revents)
			serve_dns(fds[DEMO_OTHER_DNS], seen);
		if (polled[DEMO_GOOD].revents) {
			seen->good_requests++;
			serve_web(fds[DEMO_GOOD], "hello from " DEMO_GOOD_NAME "\n");
		}
		if (polled[DEMO_EVIL].revents) {
			seen->evil_connections++;
			serve_web(fds[DEMO_EVIL], "thanks for the data\n");
		}
	}
}

/* pid of the serving process, which dies with us */
static int start_server(int fds[static DEMO_SOCKET_COUNT], struct demo_seen *seen)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			serve(fds, seen);
		_exit(1);
	}
	return pid;
}

int demo_world_start(struct demo_world *world, const char **ret_what)
{
	int fds[DEMO_SOCKET_COUNT];
	_cleanup_close_ int internet_ns = -1, host_ns = -1;
	int r;

	memset(fds, -1, sizeof(fds));
	world->seen = mmap(NULL, sizeof(*world->seen), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*ret_what = "shared memory";
	if (world->seen == MAP_FAILED)
		return -errno;
	*ret_what = "a network namespace";
	internet_ns = new_namespace();
	if (internet_ns < 0)
		return internet_ns;
	*ret_what = "the servers of the made-up internet";
	r = make_internet(fds);
	if (r == 0) {
		*ret_what = "a network namespace";
		r = host_ns = new_namespace();
	}
	if (r >= 0) {
		*ret_what = "a pair of virtual network devices (veth)";
		r = join(internet_ns, host_ns);
	}
	if (r >= 0) {
		*ret_what = "a process";
		r = start_server(fds, world->seen);
	}
	for (size_t i = 0; i < DEMO_SOCKET_COUNT; i++)
		cleanup_close(&fds[i]);
	world->server = r;
	return r < 0 ? r : 0;
}

void demo_world_stop(struct demo_world *world)
{
	if (world->server > 0) {
		kill(world->server, SIGKILL);
		waitpid(world->server, NULL, 0);
	}
	munmap(world->seen, sizeof(*world->seen));
}
