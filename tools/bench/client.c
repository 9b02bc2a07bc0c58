/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modes tun, keep, bulk, idle: connections through a proxy to the canned origin. One thread, epoll
 * edge-triggered; bytes received are thrown away in the kernel, so that the client costs little
 * and always the same.
 *
 * Theory of operation. A connection walks through the states below. via=direct: it dials and sends
 * a ClientHello at once, as one that is redirected does. via=connect: HTTP CONNECT first. via=abs:
 * plain HTTP in absolute form. With deny=1 an operation succeeds when it is refused: by connect(),
 * by another status than 200, by an alert or an end before the origin's flight.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load.h"

enum state {
	STATE_FREE,
	STATE_CONNECT,       /* waits for the handshake */
	STATE_CONNECT_REPLY, /* CONNECT is sent */
	STATE_FLIGHT,        /* ClientHello is sent */
	STATE_ANSWER,        /* request is sent; .left bytes of the body are awaited */
	STATE_HTTP_HEAD,     /* absolute-form request is sent */
	STATE_HELD,
};

enum outcome { OUTCOME_OK, OUTCOME_REFUSED, OUTCOME_CLOSED, OUTCOME_FAILED, OUTCOME_TIMEOUT };
static const char *const outcome_names[] = {"ok", "refused", "closed", "failed", "timeout"};

enum via { VIA_DIRECT, VIA_CONNECT, VIA_ABS };
enum mode { MODE_TUN, MODE_KEEP, MODE_BULK, MODE_IDLE };

struct conn {
	int fd;
	enum state state;
	uint64_t begun_ns, left;
	size_t have;
	char head[1024];
};

static struct {
	enum mode mode;
	enum via via;
	bool is_deny;
	int epoll, conc;
	struct sockaddr_in dial;
	const char *name;
	uint64_t bytes, begin_ns, end_ns;
	uint8_t hello[HELLO_BYTES];
	char connect[512], http[512];
	size_t connect_len, http_len;
	struct conn *conns;
	int live, held;
	uint64_t started, limit; /* operations; limit 0: by time */
	uint64_t outcomes[5], received;
	struct samples samples;
	char sink[262144];
} o;

static bool may_start(void)
{
	if (o.mode == MODE_IDLE || o.mode == MODE_BULK)
		return o.started < (uint64_t)o.conc;
	return o.limit ? o.started < o.limit : now_ns() < o.end_ns;
}

static void conn_close(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	c->state = STATE_FREE;
	o.live--;
}

static void conn_start(struct conn *c);

/* Books the end of an operation; starts the next one on a new connection. */
static void conn_finish(struct conn *c, enum outcome outcome)
{
	uint64_t now = now_ns();

	if (o.is_deny)
		outcome = outcome == OUTCOME_REFUSED || outcome == OUTCOME_CLOSED ? OUTCOME_OK
			: outcome == OUTCOME_OK                                   ? OUTCOME_FAILED
										  : outcome;
	if (now <= o.end_ns || o.limit || o.mode == MODE_IDLE || o.mode == MODE_BULK) {
		o.outcomes[outcome]++;
		if (outcome == OUTCOME_OK)
			samples_add(&o.samples, now - c->begun_ns);
	}
	if (o.mode == MODE_IDLE && outcome == OUTCOME_OK) {
		c->state = STATE_HELD;
		o.held++;
		return;
	}
	conn_close(c);
	if (outcome != OUTCOME_OK)
		usleep(200); /* a dead peer must not make us spin */
	if (may_start())
		conn_start(c);
}

static void conn_start(struct conn *c)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	o.started++;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	nodelay(c->fd);
	o.live++;
	c->begun_ns = now_ns();
	c->state = STATE_CONNECT;
	c->have = 0;
	if (connect(c->fd, (struct sockaddr *)&o.dial, sizeof(o.dial)) && errno != EINPROGRESS) {
		o.outcomes[o.is_deny ? OUTCOME_OK : OUTCOME_REFUSED]++;
		conn_close(c);
		return;
	}
	epoll_ctl(o.epoll, EPOLL_CTL_ADD, c->fd, &ev);
}

/* All that is sent here fits an empty socket buffer: a short send is a failure. */
static bool conn_send(struct conn *c, const void *bytes, size_t len)
{
	return send(c->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool conn_ask(struct conn *c)
{
	uint8_t ask[ASK_BYTES] = {0x17, 3, 3, 0, 16};

	if (o.via == VIA_ABS) {
		c->state = STATE_HTTP_HEAD;
		c->have = 0;
		return conn_send(c, o.http, o.http_len);
	}
	memcpy(ask + 5, &o.bytes, sizeof(o.bytes));
	memset(ask + 13, 'x', 8);
	c->state = STATE_ANSWER;
	c->left = o.bytes;
	return conn_send(c, ask, sizeof(ask));
}

/* The connection is open: a ClientHello, or the HTTP request. */
static bool conn_greet(struct conn *c)
{
	if (o.via == VIA_ABS)
		return conn_ask(c);
	c->state = STATE_FLIGHT;
	c->left = FLIGHT_BYTES;
	return conn_send(c, o.hello, sizeof(o.hello));
}

/* The message was answered in full. True: another one is under way on the same connection. */
static bool conn_answered(struct conn *c)
{
	uint64_t now;

	if (o.mode != MODE_KEEP || o.is_deny) {
		conn_finish(c, OUTCOME_OK);
		return false;
	}
	now = now_ns();
	if (now <= o.end_ns || o.limit) {
		o.outcomes[OUTCOME_OK]++;
		samples_add(&o.samples, now - c->begun_ns);
	}
	if (!may_start()) {
		conn_close(c);
		return false;
	}
	o.started++;
	c->begun_ns = now;
	if (conn_ask(c))
		return true;
	conn_finish(c, OUTCOME_CLOSED);
	return false;
}

/* One step of a state that reads; false when nothing more can be done now. */
static bool read_head(struct conn *c)
{
	ssize_t got = recv(c->fd, c->head + c->have, sizeof(c->head) - 1 - c->have, 0);
	const char *end, *length;

	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0) {
		conn_finish(c, OUTCOME_CLOSED);
		return false;
	}
	c->have += (size_t)got;
	c->head[c->have] = 0;
	if (c->have >= 12 && strncmp(c->head + 9, "200", 3)) {
		conn_finish(c, OUTCOME_REFUSED);
		return false;
	}
	end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return true;
	if (c->state == STATE_CONNECT_REPLY) {
		if (conn_greet(c))
			return true;
		conn_finish(c, OUTCOME_CLOSED);
		return false;
	}
	length = strcasestr(c->head, "\r\ncontent-length:");
	if (!length) {
		conn_finish(c, OUTCOME_FAILED);
		return false;
	}
	c->left = strtoull(length + 17, NULL, 10) - (c->have - (size_t)(end + 4 - c->head));
	c->state = STATE_ANSWER;
	return c->left ? true : conn_answered(c);
}

static bool read_body(struct conn *c)
{
	bool is_flight = c->state == STATE_FLIGHT;
	size_t want = c->left < sizeof(o.sink) ? c->left : sizeof(o.sink);
	ssize_t got = recv(c->fd, o.sink, want, is_flight ? 0 : MSG_TRUNC);

	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0 || (is_flight && c->left == FLIGHT_BYTES && o.sink[0] == 21)) { /* an alert */
		conn_finish(c, OUTCOME_CLOSED);
		return false;
	}
	c->left -= (uint64_t)got;
	if (!is_flight)
		o.received += (uint64_t)got;
	if (c->left)
		return true;
	if (!is_flight)
		return conn_answered(c);
	if (conn_ask(c))
		return true;
	conn_finish(c, OUTCOME_CLOSED);
	return false;
}

static bool finish_connect(struct conn *c, uint32_t events)
{
	bool is_sent;

	if (events & (EPOLLERR | EPOLLHUP)) {
		conn_finish(c, o.is_deny ? OUTCOME_REFUSED : OUTCOME_FAILED);
		return false;
	}
	if (!(events & EPOLLOUT))
		return false;
	if (o.via == VIA_CONNECT) {
		c->state = STATE_CONNECT_REPLY;
		is_sent = conn_send(c, o.connect, o.connect_len);
	} else {
		is_sent = conn_greet(c);
	}
	if (!is_sent)
		conn_finish(c, OUTCOME_CLOSED);
	return is_sent;
}

static void conn_step(struct conn *c, uint32_t events)
{
	bool is_on = true;

	while (is_on) {
		switch (c->state) {
		case STATE_CONNECT:
			is_on = finish_connect(c, events);
			break;
		case STATE_CONNECT_REPLY:
		case STATE_HTTP_HEAD:
			is_on = read_head(c);
			break;
		case STATE_FLIGHT:
		case STATE_ANSWER:
			is_on = read_body(c);
			break;
		case STATE_HELD:
			if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
				o.held--;
				conn_close(c);
			}
			return;
		default:
			return;
		}
	}
}

/* Connections without an end for 10 s, and free slots that may be filled. */
static void scan(void)
{
	uint64_t now = now_ns();

	for (int i = 0; i < o.conc; i++) {
		struct conn *c = &o.conns[i];

		if (c->state == STATE_FREE && may_start())
			conn_start(c);
		else if (c->state != STATE_FREE && c->state != STATE_HELD && o.mode != MODE_BULK &&
			now - c->begun_ns > 10000000000ull)
			conn_finish(c, OUTCOME_TIMEOUT);
	}
}

static bool is_over(void)
{
	if (o.mode == MODE_IDLE)
		return !may_start() && o.live <= o.held;
	if (o.mode == MODE_BULK || o.limit)
		return !may_start() && !o.live;
	return now_ns() >= o.end_ns;
}

static void run(int width)
{
	struct epoll_event evs[256];
	uint64_t scanned_ns = now_ns();
	int next = 0;

	while (!is_over()) {
		while (next < o.conc && o.live - o.held < width && may_start())
			conn_start(&o.conns[next++]);
		int count = epoll_wait(o.epoll, evs, 256, 20);

		for (int i = 0; i < count; i++) {
			struct conn *c = evs[i].data.ptr;

			if (c->fd >= 0)
				conn_step(c, evs[i].events);
		}
		if (now_ns() - scanned_ns > 250000000ull) {
			if (o.mode != MODE_IDLE)
				scan();
			scanned_ns = now_ns();
		}
	}
}

static void report(void)
{
	double secs = (double)(now_ns() - o.begin_ns) / 1e9;
	struct rusage usage;
	uint64_t errors = 0;

	getrusage(RUSAGE_SELF, &usage);
	for (int i = OUTCOME_REFUSED; i <= OUTCOME_TIMEOUT; i++)
		errors += o.outcomes[i];
	printf("{\"ops\":%llu,\"secs\":%.4f,\"rate\":%.1f,\"bytes\":%llu,\"mibps\":%.1f,\"held\":%"
	       "d,",
		(unsigned long long)o.outcomes[OUTCOME_OK], secs,
		(double)o.outcomes[OUTCOME_OK] / secs, (unsigned long long)o.received,
		(double)o.received / secs / 1048576, o.held);
	samples_print(&o.samples);
	for (int i = OUTCOME_REFUSED; i <= OUTCOME_TIMEOUT; i++)
		if (o.outcomes[i])
			printf(",\"e_%s\":%llu", outcome_names[i],
				(unsigned long long)o.outcomes[i]);
	printf(",\"errors\":%llu,\"client_cpu\":%.3f}\n", (unsigned long long)errors,
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	fflush(stdout);
}

static void prepare(const struct args *args, const char *mode)
{
	const char *via = args_text(args, "via", "direct");
	int port = (int)args_number(args, "port", 443);

	o.mode = *mode == 't'  ? MODE_TUN
		: *mode == 'k' ? MODE_KEEP
		: *mode == 'b' ? MODE_BULK
			       : MODE_IDLE;
	o.via = *via == 'c' ? VIA_CONNECT : *via == 'a' ? VIA_ABS : VIA_DIRECT;
	o.is_deny = args_number(args, "deny", 0);
	o.conc = (int)args_number(args, "conc", 32);
	o.dial = args_addr(args, "dial");
	o.name = args_text(args, "name", "fake.bench.test");
	o.bytes = args_number(args, "bytes", 300);
	o.limit = args_number(args, "count", 0);
	hello_build(o.name, o.hello);
	o.connect_len = (size_t)snprintf(o.connect, sizeof(o.connect),
		"CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\nUser-Agent: load\r\n\r\n", o.name, port,
		o.name, port);
	o.http_len = (size_t)snprintf(o.http, sizeof(o.http),
		"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n",
		o.name, o.name);
	o.conns = calloc((size_t)o.conc, sizeof(*o.conns));
	o.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!o.conns || o.epoll < 0)
		die("out of memory");
	for (int i = 0; i < o.conc; i++)
		o.conns[i].fd = -1;
}

int client_main(const struct args *args, const char *mode)
{
	prepare(args, mode);
	o.begin_ns = now_ns();
	o.end_ns = o.begin_ns + (uint64_t)(args_real(args, "secs", 2) * 1e9);
	run((int)args_number(args, "width", o.mode == MODE_IDLE ? 32 : (uint64_t)o.conc));
	report();
	if (o.mode == MODE_IDLE) {
		struct pollfd in = {.fd = 0, .events = POLLIN};

		poll(&in, 1, 300000);
	}
	return 0;
}
