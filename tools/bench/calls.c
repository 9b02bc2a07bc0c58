/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modes connect and refused: what one call costs its caller. connect: time within connect() alone,
 * to a listener elsewhere (the connection is reset at once, so that one that waits for first bytes
 * never wakes its owner) or with accept=1 to one of our own. refused: calls the kernel must
 * refuse, udp=1 sendto, else connect; spread=N different destinations. Read client.c for tunnels.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int own_listener(struct sockaddr_in *ret_addr)
{
	struct sockaddr_in addr = addr_parse("127.0.0.1:0");
	socklen_t len = sizeof(addr);
	int fd = tcp_listen(&addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		die("getsockname: %s", strerror(errno));
	*ret_addr = addr;
	return fd;
}

/* Returns the ns spent in connect(). */
static uint64_t connect_once(const struct sockaddr_in *dial, int listener)
{
	static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t begin, end;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	begin = now_ns();
	if (connect(fd, (const struct sockaddr *)dial, sizeof(*dial)))
		die("connect: %s", strerror(errno));
	end = now_ns();
	if (listener >= 0)
		close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	close(fd);
	return end - begin;
}

static int connect_calls(const struct args *args)
{
	uint64_t count = args_number(args, "count", 4000), total = 0, cpu = cpu_ns();
	bool has_own = args_number(args, "accept", 0);
	struct sockaddr_in dial;
	struct samples samples = {0};
	int listener = -1;

	if (has_own)
		listener = own_listener(&dial);
	else
		dial = args_addr(args, "dial");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t ns = connect_once(&dial, listener);

		total += ns;
		samples_add(&samples, ns);
	}
	printf("{\"ops\":%llu,\"ns\":%.0f,\"cpu_ns\":%.0f,", (unsigned long long)count,
		(double)total / (double)count, (double)(cpu_ns() - cpu) / (double)count);
	samples_print(&samples);
	puts("}");
	return 0;
}

static int refused_calls(const struct args *args)
{
	uint64_t count = args_number(args, "count", 100000), begin, cpu, end, cpu_end, refused = 0;
	uint32_t spread = (uint32_t)args_number(args, "spread", 1);
	struct sockaddr_in dial = args_addr(args, "dial");
	uint32_t first = ntohl(dial.sin_addr.s_addr);
	bool is_udp = args_number(args, "udp", 0);
	int fd = socket(AF_INET, (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);

	begin = now_ns();
	cpu = cpu_ns();
	for (uint64_t i = 0; i < count; i++) {
		long r;

		dial.sin_addr.s_addr = htonl(first + (uint32_t)(i % spread));
		r = is_udp ? sendto(fd, "x", 1, 0, (struct sockaddr *)&dial, sizeof(dial))
			   : connect(fd, (struct sockaddr *)&dial, sizeof(dial));
		refused += r < 0 && (errno == EACCES || errno == EPERM);
	}
	end = now_ns();
	cpu_end = cpu_ns();
	printf("{\"ops\":%llu,\"refused\":%llu,\"ns\":%.0f,\"cpu_ns\":%.0f}\n",
		(unsigned long long)count, (unsigned long long)refused,
		(double)(end - begin) / (double)count, (double)(cpu_end - cpu) / (double)count);
	return 0;
}

int calls_main(const struct args *args, const char *mode)
{
	return *mode == 'c' ? connect_calls(args) : refused_calls(args);
}
