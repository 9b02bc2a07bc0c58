/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modes origin and echo. The origin answers a ClientHello with canned bytes and then each request
 * with as many bytes as it asks for (two round trips as in TLS 1.3, no crypto at the ends), plain
 * HTTP with 300 bytes, and DNS with one address for every name. echo: the least a DNS server costs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define BIG_BYTES (16u << 20)

struct peer {
	int fd;
	bool is_http, has_hello;
	size_t have, hello_left;
	uint64_t owed; /* bytes of the answer still to send */
	off_t offset;
	uint8_t ask[1024];
};

static struct sockaddr_in tls_addr, http_addr, dns_addr, dns_answer;
static uint8_t flight[FLIGHT_BYTES];
static char http_reply[512];
static size_t http_reply_len;
static int big_fd;

/* Sends what is owed; 1 all sent, 0 later, -1 dead. */
static int peer_pay(struct peer *p)
{
	while (p->owed) {
		size_t want = BIG_BYTES - (size_t)p->offset;
		off_t offset = p->offset;
		ssize_t sent;

		if (want > p->owed)
			want = p->owed;
		if (want <= 4096)
			sent = send(p->fd, flight, want > FLIGHT_BYTES ? FLIGHT_BYTES : want,
				MSG_NOSIGNAL);
		else
			sent = sendfile(p->fd, big_fd, &offset, want);
		if (sent < 0 && errno == EAGAIN)
			return 0;
		if (sent <= 0)
			return -1;
		p->offset = (p->offset + sent) % BIG_BYTES;
		p->owed -= (uint64_t)sent;
	}
	return 1;
}

/* Reads the ClientHello's record, then answers with the flight. */
static int peer_greet(struct peer *p)
{
	uint8_t bytes[4096];
	ssize_t got = recv(p->fd, bytes, sizeof(bytes), 0);

	if (got <= 0)
		return got < 0 && errno == EAGAIN ? 0 : -1;
	if (!p->hello_left) {
		if (got < 5)
			return -1;
		p->hello_left = 5u + (size_t)(bytes[3] << 8 | bytes[4]);
	}
	if ((size_t)got > p->hello_left)
		return -1;
	p->hello_left -= (size_t)got;
	if (p->hello_left)
		return 1;
	p->has_hello = true;
	return send(p->fd, flight, sizeof(flight), MSG_NOSIGNAL) == FLIGHT_BYTES ? 1 : -1;
}

static int peer_ask(struct peer *p)
{
	size_t want = p->is_http ? sizeof(p->ask) - 1 : ASK_BYTES;
	ssize_t got = recv(p->fd, p->ask + p->have, want - p->have, 0);

	if (got <= 0)
		return got < 0 && errno == EAGAIN ? 0 : -1;
	p->have += (size_t)got;
	p->ask[p->have] = 0;
	if (p->is_http) {
		if (p->have < 4 || memcmp(p->ask + p->have - 4, "\r\n\r\n", 4))
			return p->have < want ? 1 : -1;
		p->have = 0;
		return send(p->fd, http_reply, http_reply_len, MSG_NOSIGNAL) > 0 ? 1 : -1;
	}
	if (p->have < ASK_BYTES)
		return 1;
	memcpy(&p->owed, p->ask + 5, sizeof(p->owed));
	p->offset = 0;
	p->have = 0;
	return 1;
}

static void peer_step(struct peer *p)
{
	int more = 1;

	while (more > 0) {
		if (p->owed)
			more = peer_pay(p);
		else
			more = p->is_http || p->has_hello ? peer_ask(p) : peer_greet(p);
	}
	if (more < 0) {
		close(p->fd);
		free(p);
	}
}

static void peer_accept(int epoll, int listener, bool is_http)
{
	for (int i = 0; i < 32; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct peer *p;

		if (fd < 0)
			return;
		nodelay(fd);
		p = calloc(1, sizeof(*p));
		if (!p)
			die("out of memory");
		p->fd = fd;
		p->is_http = is_http;
		struct epoll_event ev = {
			.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = p};

		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev);
	}
}

static void *origin_thread(void *arg)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct peer tls = {.fd = tcp_listen(&tls_addr)},
		    http = {.fd = tcp_listen(&http_addr), .is_http = true};
	struct epoll_event evs[256], ev = {.events = EPOLLIN, .data.ptr = &tls};

	epoll_ctl(epoll, EPOLL_CTL_ADD, tls.fd, &ev);
	ev.data.ptr = &http;
	epoll_ctl(epoll, EPOLL_CTL_ADD, http.fd, &ev);
	for (;;) {
		int count = epoll_wait(epoll, evs, 256, -1);

		for (int i = 0; i < count; i++) {
			struct peer *p = evs[i].data.ptr;

			if (p == &tls || p == &http)
				peer_accept(epoll, p->fd, p->is_http);
			else
				peer_step(p);
		}
	}
	return arg;
}

/* Turns a question into its answer in place; returns the length, 0 for what is no question. */
static size_t dns_reply(uint8_t *m, size_t len)
{
	static const uint8_t record[12] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4};
	static const uint8_t soa[] = {0, 0, 6, 0, 1, 0, 0, 14, 16, 0, 22, 0, 0, 0, 0, 0, 1, 0, 0,
		14, 16, 0, 0, 14, 16, 0, 0, 14, 16, 0, 0, 14, 16};
	size_t at = 12, end;

	while (at < len && m[at] && m[at] < 64)
		at += m[at] + 1u;
	if (at + 5 > len)
		return 0;
	end = at + 5;
	m[2] = 0x84 | (m[2] & 1);
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	if (m[at + 2] == 1 && !m[at + 1]) {
		m[7] = 1;
		memcpy(m + end, record, sizeof(record));
		memcpy(m + end + sizeof(record), &dns_answer.sin_addr, 4);
		return end + sizeof(record) + 4;
	}
	m[9] = 1; /* no such record: a SOA says for how long */
	memcpy(m + end, soa, sizeof(soa));
	return end + sizeof(soa);
}

static int udp_bind(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		die("bind: %s", strerror(errno));
	return fd;
}

static void *dns_thread(void *arg)
{
	int fd = udp_bind(&dns_addr);
	uint8_t message[1600];

	for (;;) {
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		ssize_t got = recvfrom(fd, message, 1200, 0, (struct sockaddr *)&from, &from_len);
		size_t len = got < 12 ? 0 : dns_reply(message, (size_t)got);

		if (len)
			sendto(fd, message, len, 0, (struct sockaddr *)&from, from_len);
	}
	return arg;
}

static void *origin_part(void *arg)
{
	static int next;
	int part = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	return part ? origin_thread(arg) : dns_thread(arg);
}

int origin_main(const struct args *args, const char *mode)
{
	static const uint8_t head[] = {22, 3, 3, (FLIGHT_BYTES - 5) >> 8, (FLIGHT_BYTES - 5) & 255,
		2, 0, (FLIGHT_BYTES - 9) >> 8, (FLIGHT_BYTES - 9) & 255, 3, 3};
	char body[301];

	(void)mode;
	tls_addr = args_addr(args, "tls");
	http_addr = args_addr(args, "http");
	dns_addr = args_addr(args, "dns");
	dns_answer = args_addr(args, "answer");
	memcpy(flight, head, sizeof(head));
	memset(body, 'x', 300);
	body[300] = 0;
	http_reply_len = (size_t)snprintf(http_reply, sizeof(http_reply),
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 300\r\n\r\n%s",
		body);
	big_fd = memfd_create("big", MFD_CLOEXEC);
	if (big_fd < 0 || ftruncate(big_fd, BIG_BYTES))
		die("memfd: %s", strerror(errno));
	void *big = mmap(NULL, BIG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, big_fd, 0);

	if (big == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memset(big, 'z', BIG_BYTES); /* pages that exist: sendfile must not make them */
	run_threads(3, origin_part, NULL);
	return 0;
}

static void echo_one(int fd)
{
	uint8_t message[512];

	for (;;) {
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t got = recvfrom(
			fd, message, sizeof(message), 0, (struct sockaddr *)&from, &from_len);

		if (got <= 2)
			continue;
		message[2] |= 0x80;
		sendto(fd, message, (size_t)got, 0, (struct sockaddr *)&from, from_len);
	}
}

static void echo_batch(int fd)
{
	static uint8_t messages[64][512];
	static struct sockaddr_in from[64];
	struct mmsghdr headers[64];
	struct iovec parts[64];

	for (;;) {
		for (int i = 0; i < 64; i++) {
			parts[i] = (struct iovec){messages[i], sizeof(messages[i])};
			headers[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &from[i],
							      .msg_namelen = sizeof(from[i]),
							      .msg_iov = &parts[i],
							      .msg_iovlen = 1}};
		}
		int count = recvmmsg(fd, headers, 64, MSG_WAITFORONE, NULL);

		for (int i = 0; i < count; i++) {
			messages[i][2] |= 0x80;
			parts[i].iov_len = headers[i].msg_len;
		}
		if (count > 0)
			sendmmsg(fd, headers, (unsigned)count, 0);
	}
}

int echo_main(const struct args *args, const char *mode)
{
	struct sockaddr_in addr = args_addr(args, "listen");
	int fd = udp_bind(&addr);

	(void)mode;
	if (args_number(args, "batch", 0))
		echo_batch(fd);
	else
		echo_one(fd);
	return 0;
}
