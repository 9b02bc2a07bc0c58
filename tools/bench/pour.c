/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modes pour and mirror: tunnels that carry data all the time, and the origin that sends it back; both
 * note when the last byte came, on the clock of the machine. For what is cut: when does it stop? Mode
 * refusal: when the first connect() is refused. Read client.c for tunnels that are measured one by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define CHUNK_BYTES 256

enum state { STATE_FREE, STATE_CONNECT, STATE_REPLY, STATE_FLIGHT, STATE_POURS };

struct lane {
	int fd;
	enum state state;
	size_t owed; /* bytes on their way back */
	uint64_t due_ns;
};

static struct {
	int epoll, conc, open, port;
	bool is_connect;
	uint64_t gap_ns, last_ns, bytes, ended, first_end_ns, last_end_ns;
	struct sockaddr_in dial;
	const char *name;
	uint8_t hello[HELLO_BYTES], chunk[CHUNK_BYTES];
	struct lane *lanes;
	char sink[65536];
} o;

static void report(void)
{
	printf("{\"last_ns\":%llu,\"bytes\":%llu,\"open\":%d,\"ended\":%llu,\"first_end_ns\":%llu,"
	       "\"last_end_ns\":%llu}\n",
		(unsigned long long)o.last_ns, (unsigned long long)o.bytes, o.open,
		(unsigned long long)o.ended, (unsigned long long)o.first_end_ns,
		(unsigned long long)o.last_end_ns);
	fflush(stdout);
}

/* A line of our input asks for a report, its end ends us. */
static bool wants_more(void)
{
	char line[64];
	struct pollfd in = {.fd = 0, .events = POLLIN};

	if (poll(&in, 1, 0) != 1)
		return true;
	if (read(0, line, sizeof(line)) <= 0)
		return false;
	report();
	return true;
}

static void note_bytes(size_t n)
{
	o.last_ns = now_ns();
	o.bytes += n;
}

static void lane_end(struct lane *l)
{
	if (l->state == STATE_POURS) {
		o.open--;
		o.ended++;
		o.last_end_ns = now_ns();
		if (!o.first_end_ns)
			o.first_end_ns = o.last_end_ns;
	}
	close(l->fd);
	l->state = STATE_FREE;
	l->fd = -1;
}

static void lane_pour(struct lane *l)
{
	if (send(l->fd, o.chunk, CHUNK_BYTES, MSG_NOSIGNAL) != CHUNK_BYTES) {
		lane_end(l);
		return;
	}
	l->owed = CHUNK_BYTES;
	l->due_ns = now_ns() + o.gap_ns;
}

static bool lane_greet(struct lane *l)
{
	l->state = STATE_FLIGHT;
	l->owed = FLIGHT_BYTES;
	return send(l->fd, o.hello, HELLO_BYTES, MSG_NOSIGNAL) == HELLO_BYTES;
}

static bool lane_connected(struct lane *l)
{
	char ask[512];
	int n;

	if (!o.is_connect)
		return lane_greet(l);
	n = snprintf(ask, sizeof(ask), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n", o.name,
		o.port, o.name, o.port);
	l->state = STATE_REPLY;
	return send(l->fd, ask, (size_t)n, MSG_NOSIGNAL) == n;
}

/* False: it is over. */
static bool lane_read(struct lane *l)
{
	ssize_t n = recv(l->fd, o.sink, sizeof(o.sink), 0);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (l->state == STATE_REPLY)
		return lane_greet(l);
	if (l->state == STATE_POURS)
		note_bytes((size_t)n);
	l->owed -= (size_t)n < l->owed ? (size_t)n : l->owed;
	if (l->owed)
		return true;
	if (l->state == STATE_FLIGHT) {
		l->state = STATE_POURS;
		/* spread, so that there is no moment without data */
		l->due_ns = now_ns() + o.gap_ns * (uint64_t)(l - o.lanes) / (uint64_t)o.conc;
		o.open++;
	}
	if (!o.gap_ns)
		lane_pour(l);
	return true;
}

static void lane_step(struct lane *l, uint32_t events)
{
	bool is_alive = !(events & (EPOLLERR | EPOLLHUP));

	if (is_alive && l->state == STATE_CONNECT && events & EPOLLOUT) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};

		epoll_ctl(o.epoll, EPOLL_CTL_MOD, l->fd, &ev);
		is_alive = lane_connected(l);
	} else if (is_alive && events & EPOLLIN) {
		is_alive = lane_read(l);
	}
	if (!is_alive && l->fd >= 0)
		lane_end(l);
}

static void lane_start(struct lane *l)
{
	struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = l};

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	nodelay(l->fd);
	l->state = STATE_CONNECT;
	if (connect(l->fd, (struct sockaddr *)&o.dial, sizeof(o.dial)) && errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	epoll_ctl(o.epoll, EPOLL_CTL_ADD, l->fd, &ev);
}

static void pour_due(void)
{
	uint64_t now = now_ns();

	for (int i = 0; o.gap_ns && i < o.conc; i++)
		if (o.lanes[i].state == STATE_POURS && !o.lanes[i].owed && o.lanes[i].due_ns <= now)
			lane_pour(&o.lanes[i]);
}

static void run(void)
{
	struct epoll_event evs[256];
	int started = 0, pending = 0;
	bool is_told = false;

	while (wants_more()) {
		pending = started - o.open - (int)o.ended;
		for (; started < o.conc && pending < 64; started++, pending++)
			lane_start(&o.lanes[started]);
		if (!is_told && o.open == o.conc) {
			report();
			is_told = true;
		}
		int n = epoll_wait(o.epoll, evs, 256, 2);

		for (int i = 0; i < n; i++)
			lane_step(evs[i].data.ptr, evs[i].events);
		pour_due();
	}
}

int pour_main(const struct args *args, const char *mode)
{
	(void)mode;
	o.conc = (int)args_number(args, "conc", 1000);
	o.gap_ns = args_number(args, "gap_ms", 100) * 1000000;
	o.is_connect = *args_text(args, "via", "direct") == 'c';
	o.dial = args_addr(args, "dial");
	o.name = args_text(args, "name", "fake.bench.test");
	o.port = (int)args_number(args, "port", 443);
	hello_build(o.name, o.hello);
	memset(o.chunk, 'x', sizeof(o.chunk));
	o.lanes = calloc((size_t)o.conc, sizeof(*o.lanes));
	o.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < o.conc; i++)
		o.lanes[i].fd = -1;
	run();
	report();
	return 0;
}

/* --- the origin */

static void mirror_accept(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct lane *l = calloc(1, sizeof(*l));
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};

		nodelay(fd);
		*l = (struct lane){.fd = fd, .state = STATE_FLIGHT, .owed = HELLO_BYTES};
		epoll_ctl(o.epoll, EPOLL_CTL_ADD, fd, &ev);
	}
}

static bool mirror_read(struct lane *l)
{
	static uint8_t flight[FLIGHT_BYTES] = {0x16, 3, 3, 5, 0x73, 2};
	ssize_t n = recv(l->fd, o.sink, sizeof(o.sink), 0);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (l->state == STATE_POURS) {
		note_bytes((size_t)n);
		return send(l->fd, o.sink, (size_t)n, MSG_NOSIGNAL) == n;
	}
	l->owed -= (size_t)n < l->owed ? (size_t)n : l->owed;
	if (l->owed)
		return true;
	l->state = STATE_POURS;
	o.open++;
	return send(l->fd, flight, sizeof(flight), MSG_NOSIGNAL) == sizeof(flight);
}

int mirror_main(const struct args *args, const char *mode)
{
	struct sockaddr_in addr = args_addr(args, "listen");
	int listener = tcp_listen(&addr);
	struct epoll_event evs[256], ev = {.events = EPOLLIN, .data.ptr = NULL};

	(void)mode;
	o.epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(o.epoll, EPOLL_CTL_ADD, listener, &ev);
	while (wants_more()) {
		int n = epoll_wait(o.epoll, evs, 256, 2);

		for (int i = 0; i < n; i++) {
			struct lane *l = evs[i].data.ptr;

			if (!l) {
				mirror_accept(listener);
			} else if (!mirror_read(l)) {
				lane_end(l);
				free(l);
			}
		}
	}
	report();
	return 0;
}

/* --- the first refusal */

int refusal_main(const struct args *args, const char *mode)
{
	struct sockaddr_in dial = args_addr(args, "dial");
	uint64_t until = now_ns() + 20000000000ull;

	(void)mode;
	puts("{}");
	fflush(stdout);
	while (now_ns() < until) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		int r = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&dial, sizeof(dial));
		bool is_refused = r < 0 && (errno == EACCES || errno == EPERM);

		if (fd >= 0)
			close(fd);
		if (is_refused) {
			printf("{\"refused_ns\":%llu}\n", (unsigned long long)now_ns());
			return 0;
		}
		usleep(100);
	}
	die("no connect() was refused");
}
