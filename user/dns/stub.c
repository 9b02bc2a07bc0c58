/* SPDX-License-Identifier: GPL-2.0-only */
/* The stub's sockets: UDP in batches, TCP with many questions a connection; see stub.h. */
/*
 * Theory of operation. UDP: a batch is received, each question answered into the batch's own
 * buffers, and all answers sent with one call; answers that come later are sent alone. Sockets are
 * level-triggered, one batch an event, so that a flood does not keep the loop from the proxy.
 * TCP: bytes are gathered until a question is whole; answers go out in the order they are ready
 * (RFC 7766 section 6.2.1.1); a client that does not read its answers is not read from. A
 * connection ends at its FIN, after its idle limit, or when a question is not one.
 */
#include "stub.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "answer.h"

#define BATCH 64
#define QUERY_BYTES 1232 /* longer questions hold nothing but padding */
#define OUT_BYTES 65536
#define MAX_TCP 128
#define TCP_IDLE_MS 30000
#define TCP_QUERY_BYTES 4096
#define TCP_OUT_BYTES 262144
#define TCP_REPLY_BYTES 65535
#define PAUSE_MS 100 /* without descriptors nobody is accepted meanwhile */

struct socket {
	struct loop_io io;
	struct stub *stub;
	struct socket *next;
	struct loop_timer pause; /* TCP: until accepting is tried again */
};

struct session {
	struct loop_io io;
	struct loop_timer timer;
	struct stub *stub;
	struct session *next, **prev;
	struct endpoint from;
	struct buf in, out;
	bool is_out_watched, is_eof, is_broken;
	int n_owed; /* answers that are still to come */
};

/* One batch. Answers stand behind one another in `out`: a slot of the largest size each would put
 * all of them into the same few lines of the cache. */
struct batch {
	uint8_t in[BATCH][QUERY_BYTES];
	uint8_t out[OUT_BYTES];
	size_t out_len;
	unsigned int n_out;
	int fd; /* whose round it is; -1: none */
	uint64_t since_ns;
	uint64_t n_answers[METER_LATENCY_COUNT]; /* of the round, by how they came out */
	struct sockaddr_in6 from[BATCH], to[BATCH];
	struct iovec in_iov[BATCH], out_iov[BATCH];
	struct mmsghdr received[BATCH], sent[BATCH];
};

struct stub {
	struct loop *loop;
	struct answer answer;
	struct socket *udp, *tcp;
	struct session *sessions;
	size_t n_sessions;
	struct batch *batch;
	uint8_t *reply; /* TCP_REPLY_BYTES */
};

/* --- UDP */

static enum meter_latency outcome_of(const uint8_t *reply)
{
	switch (reply[3] & 0xf) {
	case DNSMSG_NOERROR:
		return METER_DNS_NOERROR;
	case DNSMSG_NXDOMAIN:
		return METER_DNS_NXDOMAIN;
	default:
		return METER_DNS_OTHER;
	}
}

/* Two looks at the clock for all of a round. */
static void time_round(struct meter *m, struct batch *b)
{
	uint64_t now = clock_monotonic_ns();

	for (int i = METER_DNS_NOERROR; i <= METER_DNS_OTHER; i++) {
		meter_time_many(m, (enum meter_latency)i, b->since_ns, now, b->n_answers[i]);
		b->n_answers[i] = 0;
	}
}

static void flush_udp(struct batch *b)
{
	struct mmsghdr *msgs = b->sent;

	while (b->n_out) {
		int sent = sendmmsg(b->fd, msgs, b->n_out, MSG_NOSIGNAL | MSG_DONTWAIT);

		/* a full socket loses answers, as a network would: the client asks again */
		if (sent < 0 && errno == EAGAIN)
			break;
		if (sent <= 0)
			sent = 1; /* that one cannot be sent */
		msgs += sent;
		b->n_out -= (unsigned int)sent;
	}
	b->n_out = 0;
	b->out_len = 0;
}

/* Takes the answer that stands at the end of `out`. */
static void push_udp(struct batch *b, const void *to, socklen_t to_len, size_t len)
{
	unsigned int i = b->n_out++;

	b->n_answers[outcome_of(b->out + b->out_len)]++;
	memcpy(&b->to[i], to, to_len);
	b->out_iov[i] = (struct iovec){b->out + b->out_len, len};
	b->sent[i].msg_hdr.msg_namelen = to_len;
	b->out_len += len;
	if (b->n_out == BATCH || OUT_BYTES - b->out_len < DNSMSG_MAX_UDP_BYTES)
		flush_udp(b);
}

/* An answer that came later, or out of the cache while its round lasts. */
static void send_udp(const struct answer_client *client, const uint8_t *msg, size_t len)
{
	struct socket *s = client->owner;
	struct batch *b = s->stub->batch;
	struct sockaddr_storage to;
	socklen_t to_len = endpoint_to_sockaddr(&client->from, &to);

	if (s->io.fd == b->fd && len <= DNSMSG_MAX_UDP_BYTES) {
		memcpy(b->out + b->out_len, msg, len);
		push_udp(b, &to, to_len, len);
		return;
	}
	meter_time(s->stub->answer.o.meter, outcome_of(msg), client->since_ns);
	sendto(s->io.fd, msg, len, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, to_len);
}

static void prepare_batch(struct batch *b)
{
	memset(b->received, 0, sizeof(b->received));
	memset(b->sent, 0, sizeof(b->sent));
	b->fd = -1;
	b->n_out = 0;
	b->out_len = 0;
	for (int i = 0; i < BATCH; i++) {
		b->in_iov[i] = (struct iovec){b->in[i], QUERY_BYTES};
		b->received[i].msg_hdr = (struct msghdr){.msg_name = &b->from[i],
			.msg_namelen = sizeof(b->from[i]),
			.msg_iov = &b->in_iov[i],
			.msg_iovlen = 1};
		b->sent[i].msg_hdr = (struct msghdr){
			.msg_name = &b->to[i], .msg_iov = &b->out_iov[i], .msg_iovlen = 1};
	}
}

static void on_udp(struct loop_io *io, uint32_t events)
{
	struct socket *s = CONTAINER_OF(io, struct socket, io);
	struct batch *b = s->stub->batch;
	struct answer_client client = {.proto = IPPROTO_UDP, .owner = s};
	int n;

	(void)events;
	n = recvmmsg(io->fd, b->received, BATCH, MSG_DONTWAIT, NULL);
	b->fd = io->fd;
	b->since_ns = client.since_ns = clock_monotonic_ns();
	for (int i = 0; i < n; i++) {
		struct msghdr *got = &b->received[i].msg_hdr;
		size_t len = 0;

		if (!(got->msg_flags & MSG_TRUNC) &&
			endpoint_from_sockaddr(got->msg_name, &client.from) == 0)
			len = answer_query(&s->stub->answer, b->in[i], b->received[i].msg_len,
				&client, send_udp, b->out + b->out_len, DNSMSG_MAX_UDP_BYTES);
		if (len)
			push_udp(b, got->msg_name, got->msg_namelen, len);
		got->msg_namelen = sizeof(b->from[i]);
	}
	flush_udp(b);
	time_round(s->stub->answer.o.meter, b);
	b->fd = -1;
}

/* --- TCP */

static void session_free(struct session *t)
{
	struct stub *stub = t->stub;
	int fd = t->io.fd;

	answer_forget(&stub->answer, t);
	loop_timer_del(stub->loop, &t->timer);
	loop_del(stub->loop, &t->io, false);
	close(fd);
	buf_done(&t->in);
	buf_done(&t->out);
	*t->prev = t->next;
	if (t->next)
		t->next->prev = t->prev;
	stub->n_sessions--;
	free(t);
}

static void queue_tcp(struct session *t, uint64_t since_ns, const uint8_t *msg, size_t len)
{
	char head[2] = {(char)(len >> 8), (char)len};

	meter_time(t->stub->answer.o.meter, outcome_of(msg), since_ns);
	buf_add(&t->out, head, 2);
	buf_add(&t->out, msg, len);
	if (t->out.is_failed)
		t->is_broken = true;
}

static void flush_tcp(struct session *t)
{
	bool wants_out;
	ssize_t n = 0;

	if (t->out.len) {
		n = send(t->io.fd, t->out.data, t->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			t->is_broken = true;
		else if (n > 0)
			buf_drop_front(&t->out, (size_t)n);
	}
	wants_out = t->out.len > 0;
	if (wants_out != t->is_out_watched && !t->is_broken) {
		t->is_out_watched = wants_out;
		loop_mod(t->stub->loop, &t->io, wants_out ? EPOLLOUT : EPOLLIN);
	}
}

/* A session's end is decided by its own events only; here it is woken for that. */
static void send_tcp(const struct answer_client *client, const uint8_t *msg, size_t len)
{
	struct session *t = client->owner;

	t->n_owed--;
	queue_tcp(t, client->since_ns, msg, len);
	flush_tcp(t);
	loop_timer_set(t->stub->loop, &t->timer, t->is_eof || t->is_broken ? 0 : TCP_IDLE_MS);
}

static bool has_question(const struct session *t, size_t *ret_len)
{
	if (t->in.len < 2)
		return false;
	*ret_len = (size_t)(uint8_t)t->in.data[0] << 8 | (uint8_t)t->in.data[1];
	return t->in.len >= 2 + *ret_len || *ret_len > TCP_QUERY_BYTES;
}

static void answer_tcp(struct session *t)
{
	struct answer_client client = {.from = t->from,
		.proto = IPPROTO_TCP,
		.owner = t,
		.since_ns = clock_monotonic_ns()};
	size_t len, n;

	while (!t->is_broken && t->out.len < TCP_OUT_BYTES && has_question(t, &len)) {
		if (len > TCP_QUERY_BYTES) {
			t->is_broken = true;
			return;
		}
		t->n_owed++; /* send_tcp takes it back, perhaps before answer_query returns */
		n = answer_query(&t->stub->answer, (uint8_t *)t->in.data + 2, len, &client,
			send_tcp, t->stub->reply, TCP_REPLY_BYTES);
		if (n) {
			t->n_owed--;
			queue_tcp(t, client.since_ns, t->stub->reply, n);
		} else if (len < DNSMSG_HEAD_BYTES || t->in.data[4] & 0x80) {
			t->n_owed--;
			t->is_broken = true; /* not DNS: nothing that follows can be trusted */
		}
		buf_drop_front(&t->in, 2 + len);
	}
}

static void read_tcp(struct session *t)
{
	char bytes[4096];
	ssize_t n = recv(t->io.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN)
		t->is_broken = true;
	if (n == 0)
		t->is_eof = true;
	if (n > 0)
		buf_add(&t->in, bytes, (size_t)n);
	if (t->in.is_failed)
		t->is_broken = true;
}

static void on_session(struct loop_io *io, uint32_t events)
{
	struct session *t = CONTAINER_OF(io, struct session, io);
	size_t len;

	if (events & EPOLLERR)
		t->is_broken = true;
	if (events & (EPOLLIN | EPOLLHUP) && !t->is_eof && !t->is_broken)
		read_tcp(t);
	do {
		answer_tcp(t);
		if (!t->is_broken)
			flush_tcp(t);
	} while (!t->is_broken && !t->out.len && has_question(t, &len));
	if (t->is_broken || (t->is_eof && !t->out.len && t->n_owed <= 0)) {
		session_free(t);
		return;
	}
	if (t->is_eof && !t->is_out_watched)
		loop_mod(t->stub->loop, &t->io, 0); /* only the answers that are owed */
	loop_timer_set(t->stub->loop, &t->timer, TCP_IDLE_MS);
}

static void on_session_timeout(struct loop_timer *timer)
{
	struct session *t = CONTAINER_OF(timer, struct session, timer);

	if (t->is_eof && !t->is_broken && (t->out.len || t->n_owed > 0))
		loop_timer_set(t->stub->loop, timer, TCP_IDLE_MS);
	else
		session_free(t);
}

/* The session longest without a word gives way: one program's idle connections are not to keep
 * others from asking. */
static bool evict(struct stub *stub)
{
	struct session *oldest = NULL;

	/* the list begins with the newest: of equals the last is the oldest */
	for (struct session *t = stub->sessions; t; t = t->next)
		if (!oldest || t->timer.due_ms <= oldest->timer.due_ms)
			oldest = t;
	if (oldest)
		session_free(oldest);
	return oldest;
}

static void session_new(struct stub *stub, int fd, const struct sockaddr *from)
{
	struct session *t;

	if (stub->n_sessions >= MAX_TCP)
		evict(stub);
	t = calloc(1, sizeof(*t));
	if (!t || endpoint_from_sockaddr(from, &t->from) < 0) {
		free(t);
		close(fd);
		return;
	}
	t->stub = stub;
	t->io.on_ready = on_session;
	t->timer.on_timeout = on_session_timeout;
	if (loop_add(stub->loop, &t->io, fd, EPOLLIN) < 0) {
		close(fd);
		free(t);
		return;
	}
	t->next = stub->sessions;
	t->prev = &stub->sessions;
	if (t->next)
		t->next->prev = &t->next;
	stub->sessions = t;
	stub->n_sessions++;
	loop_timer_set(stub->loop, &t->timer, TCP_IDLE_MS);
}

/* Out of descriptors or memory: the listener would be ready for ever. */
static void pause_accept(struct socket *s)
{
	if (evict(s->stub))
		return;
	if (loop_timer_set(s->stub->loop, &s->pause, PAUSE_MS) == 0)
		loop_mod(s->stub->loop, &s->io, 0);
}

static void on_pause_end(struct loop_timer *timer)
{
	struct socket *s = CONTAINER_OF(timer, struct socket, pause);

	loop_mod(s->stub->loop, &s->io, EPOLLIN);
}

static void on_accept(struct loop_io *io, uint32_t events)
{
	struct socket *s = CONTAINER_OF(io, struct socket, io);

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		int fd = accept4(
			io->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
				pause_accept(s);
			return;
		}
		session_new(s->stub, fd, (struct sockaddr *)&from);
	}
}

/* --- the stub */

int stub_new(const struct stub_options *options, struct stub **ret)
{
	struct stub *stub = calloc(1, sizeof(*stub));

	if (!stub)
		return -ENOMEM;
	stub->loop = options->loop;
	stub->batch = malloc(sizeof(*stub->batch));
	stub->reply = malloc(TCP_REPLY_BYTES);
	if (!stub->batch || !stub->reply) {
		free(stub->batch);
		free(stub->reply);
		free(stub);
		return -ENOMEM;
	}
	prepare_batch(stub->batch);
	answer_init(&stub->answer, options);
	*ret = stub;
	return 0;
}

static void free_sockets(struct stub *stub, struct socket *s)
{
	while (s) {
		struct socket *next = s->next;
		int fd = s->io.fd;

		loop_timer_del(stub->loop, &s->pause);
		loop_del(stub->loop, &s->io, true);
		close(fd);
		free(s);
		s = next;
	}
}

void stub_free(struct stub *stub)
{
	if (!stub)
		return;
	while (stub->sessions)
		session_free(stub->sessions);
	answer_done(&stub->answer);
	free_sockets(stub, stub->udp);
	free_sockets(stub, stub->tcp);
	free(stub->batch);
	free(stub->reply);
	free(stub);
}

static int add(struct stub *stub, struct socket **list, int fd,
	void (*on_ready)(struct loop_io *io, uint32_t events))
{
	struct socket *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (s) {
		s->stub = stub;
		s->io.on_ready = on_ready;
		s->pause.on_timeout = on_pause_end;
		r = loop_add(stub->loop, &s->io, fd, EPOLLIN);
	}
	if (r < 0) {
		free(s);
		close(fd);
		return r;
	}
	s->next = *list;
	*list = s;
	return 0;
}

int stub_add_udp(struct stub *stub, int fd)
{
	return add(stub, &stub->udp, fd, on_udp);
}

int stub_add_tcp(struct stub *stub, int fd)
{
	return add(stub, &stub->tcp, fd, on_accept);
}
