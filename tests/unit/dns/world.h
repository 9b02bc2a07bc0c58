/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stub in a thread of its own, between sockets of the test and an upstream server of the test, all
 * on loopback; the policy is a real one. Included by exactly one file a test program.
 */
#ifndef NEJ_TEST_DNS_WORLD_H
#define NEJ_TEST_DNS_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/clock.h"
#include "../../../user/dns/stub.h"
#include "../../../user/policy/policy.h"
#include "../../../user/wire/dnsmsg.h"

#define WAIT_MS 6000

/* What the upstream server says of a name and type. */
struct row {
	const char *name;
	uint16_t type;
	uint8_t rcode;
	bool is_silent;
	bool is_cut;       /* UDP: TC and nothing; TCP: the answer */
	const char *alias; /* a CNAME stands before the records */
	const char *addrs[70];
	const char *rdata; /* of one record of another type */
	size_t rdata_len;
};

struct denial {
	char name[256];
	bool has_name;
	uint16_t type;
	enum nej_reason reason;
	uint8_t proto;
};

static struct world {
	const struct row *rows;
	int up_udp, up_tcp, stop_fd;
	uint16_t up_port, port;
	pthread_t upstream, runner;
	struct loop *loop;
	struct loop_io stop;
	struct policy *policy;
	const struct policy *in_force;
	struct synth *synth;
	struct resolve *resolve;
	struct stub *stub;
	struct learn *learn;
	struct meter meter;
	int learn_fds[2]; /* the worker's end, the supervisor's */
	pthread_mutex_t lock;
	struct denial denials[1024];
	size_t n_denials;
	_Atomic int n_questions, n_by_tcp;
	char asked[4096]; /* `name/type ` of each question upstream */
	_Atomic int shut; /* enum nej_reason of may_answer */
	_Atomic bool is_ending;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- messages */

static size_t put_name(uint8_t *out, const char *name)
{
	size_t n = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		out[n++] = (uint8_t)label;
		memcpy(out + n, name, label);
		n += label;
		name += label + (name[label] == '.');
	}
	out[n++] = 0;
	return n;
}

static size_t put16(uint8_t *out, unsigned int v)
{
	out[0] = (uint8_t)(v >> 8);
	out[1] = (uint8_t)v;
	return 2;
}

static unsigned int get16(const uint8_t *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

/* edns_size 0: no OPT. */
static size_t put_query(
	uint8_t *out, unsigned int id, const char *name, unsigned int type, unsigned int edns_size)
{
	size_t n = 12;

	memset(out, 0, 12);
	put16(out, id);
	out[2] = 1; /* RD */
	out[5] = 1;
	n += put_name(out + n, name);
	n += put16(out + n, type);
	n += put16(out + n, 1);
	if (edns_size) {
		static const uint8_t opt[] = {0, 0, 41};

		out[11] = 1;
		memcpy(out + n, opt, 3);
		n += 3;
		n += put16(out + n, edns_size);
		memset(out + n, 0, 6);
		n += 6;
	}
	return n;
}

/* --- upstream */

static size_t put_record(
	uint8_t *out, const char *owner, unsigned int type, const void *rdata, size_t len)
{
	size_t n = put_name(out, owner);

	n += put16(out + n, type);
	n += put16(out + n, 1);
	n += put16(out + n, 0);
	n += put16(out + n, 60);
	n += put16(out + n, (unsigned int)len);
	memcpy(out + n, rdata, len);
	return n + len;
}

static const struct row *find_row(const char *name, uint16_t type, bool *ret_has_name)
{
	*ret_has_name = false;
	for (const struct row *r = w.rows; r && r->name; r++) {
		if (strcmp(r->name, name))
			continue;
		*ret_has_name = true;
		if (r->type == type)
			return r;
	}
	return NULL;
}

static void put_row(const struct row *row, uint8_t *out, size_t *n)
{
	const char *owner = row->alias ? row->alias : row->name;
	uint8_t rdata[260];

	if (row->alias) {
		*n += put_record(
			out + *n, row->name, DNSMSG_CNAME, rdata, put_name(rdata, row->alias));
		out[7]++;
	}
	if (row->rdata) {
		*n += put_record(out + *n, owner, row->type, row->rdata, row->rdata_len);
		out[7]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(row->addrs) && row->addrs[i]; i++) {
		struct addr a;

		assert_int_equal(addr_parse(row->addrs[i], strlen(row->addrs[i]), &a), 0);
		*n += put_record(out + *n, owner, row->type, addr_is_v4(&a) ? a.b + 12 : a.b,
			addr_is_v4(&a) ? 4 : 16);
		out[7]++;
	}
}

/* 0: no reply. */
static size_t upstream_reply(const uint8_t *msg, size_t len, bool is_tcp, uint8_t *out)
{
	struct dnsmsg_query q;
	const struct row *row;
	bool has_name;
	size_t n;

	if (dnsmsg_parse_query(msg, len, &q) < 0)
		return 0;
	pthread_mutex_lock(&w.lock);
	n = strlen(w.asked);
	snprintf(w.asked + n, sizeof(w.asked) - n, "%s/%u ", q.name, q.type);
	pthread_mutex_unlock(&w.lock);
	w.n_questions++;
	w.n_by_tcp += is_tcp;
	row = find_row(q.name, q.type, &has_name);
	if (row && row->is_silent)
		return 0;
	n = DNSMSG_HEAD_BYTES + q.question_len;
	memcpy(out, msg, n);
	out[2] = 0x81;
	out[3] = (uint8_t)(0x80 | (row ? row->rcode : has_name ? 0 : 3));
	memset(out + 6, 0, 6);
	if (row && row->is_cut && !is_tcp)
		out[2] |= 2;
	else if (row)
		put_row(row, out, &n);
	return n;
}

static void *run_upstream(void *arg)
{
	static uint8_t msg[4096], out[65536];

	while (!w.is_ending) {
		struct pollfd p[] = {{w.up_udp, POLLIN, 0}, {w.up_tcp, POLLIN, 0}};
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		ssize_t n;

		if (poll(p, 2, 20) <= 0)
			continue;
		if (p[1].revents) {
			int fd = accept(w.up_tcp, NULL, NULL);
			uint8_t head[2];

			if (fd >= 0 && recv(fd, head, 2, MSG_WAITALL) == 2) {
				n = recv(fd, msg, get16(head), MSG_WAITALL);
				n = n > 0 ? (ssize_t)upstream_reply(msg, (size_t)n, true, out + 2)
					  : 0;
				put16(out, (unsigned int)n);
				if (n)
					send(fd, out, (size_t)n + 2, MSG_NOSIGNAL);
			}
			close(fd);
		}
		if (!p[0].revents)
			continue;
		n = recvfrom(w.up_udp, msg, sizeof(msg), 0, (struct sockaddr *)&from, &from_len);
		n = n > 0 ? (ssize_t)upstream_reply(msg, (size_t)n, false, out) : 0;
		if (n)
			sendto(w.up_udp, out, (size_t)n, 0, (struct sockaddr *)&from, from_len);
	}
	return arg;
}

/* --- the stub */

static int open_loopback(int type, uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(*port)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 64) < 0)) {
		close(fd);
		return -1;
	}
	getsockname(fd, (struct sockaddr *)&sa, &len);
	*port = ntohs(sa.sin_port);
	return fd;
}

static void open_pair(int *ret_udp, int *ret_tcp, uint16_t *ret_port)
{
	do {
		*ret_port = 0;
		*ret_udp = open_loopback(SOCK_DGRAM, ret_port);
		*ret_tcp = open_loopback(SOCK_STREAM, ret_port);
		if (*ret_tcp < 0)
			close(*ret_udp);
	} while (*ret_tcp < 0);
}

static void on_denial(void *arg, const struct stub_denial *d)
{
	struct denial *to;

	(void)arg;
	pthread_mutex_lock(&w.lock);
	if (w.n_denials < ARRAY_SIZE(w.denials)) {
		to = &w.denials[w.n_denials++];
		*to = (struct denial){.has_name = d->name,
			.type = d->type,
			.reason = d->reason,
			.proto = d->proto};
		if (d->name)
			snprintf(to->name, sizeof(to->name), "%s", d->name->name);
	}
	pthread_mutex_unlock(&w.lock);
}

static enum nej_reason may_answer(void *arg)
{
	(void)arg;
	return (enum nej_reason)w.shut;
}

static void on_stop(struct loop_io *io, uint32_t events)
{
	(void)io;
	(void)events;
	loop_stop(w.loop, 0);
}

static void *run_stub(void *arg)
{
	loop_run(w.loop);
	return arg;
}

static void start_upstream(const struct row *rows)
{
	w.rows = rows;
	w.n_denials = 0;
	w.n_questions = w.n_by_tcp = w.shut = 0;
	w.asked[0] = '\0';
	w.is_ending = false;
	open_pair(&w.up_udp, &w.up_tcp, &w.up_port);
	assert_int_equal(pthread_create(&w.upstream, NULL, run_upstream, NULL), 0);
}

static void stop_upstream(void)
{
	w.is_ending = true;
	pthread_join(w.upstream, NULL);
	close(w.up_udp);
	close(w.up_tcp);
}

static void load_policy(const char *text)
{
	struct err_list errs;

	err_init(&errs, "policy.yaml");
	if (policy_load_text(text, strlen(text), NULL, &errs, &w.policy) < 0) {
		err_print(&errs, stderr);
		fail();
	}
	w.in_force = w.policy;
}

/* policy: the text behind `version: 1`. */
static inline void start(const char *policy, const struct row *rows)
{
	static const uint8_t net6[8] = {0xfd, 1, 2, 3, 4, 5, 6, 7};
	struct endpoint server = {.addr = addr_from_v4(INADDR_LOOPBACK)};
	struct stub_options o = {
		.policy = &w.in_force, .on_denial = on_denial, .may_answer = may_answer};
	char text[2048];
	int udp, tcp;

	snprintf(text, sizeof(text), "version: 1\n%s", policy);
	load_policy(text);
	start_upstream(rows);
	server.port = w.up_port;
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(synth_new(net6, &w.synth), 0);
	assert_int_equal(resolve_new(w.loop, &server, 1, &w.resolve), 0);
	o.loop = w.loop;
	o.synth = w.synth;
	o.resolve = w.resolve;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, w.learn_fds), 0);
	assert_int_equal(learn_new(w.loop, w.learn_fds[0], &w.learn), 0);
	o.learn = w.learn;
	w.meter = (struct meter){0};
	o.meter = &w.meter;
	assert_int_equal(stub_new(&o, &w.stub), 0);
	open_pair(&udp, &tcp, &w.port);
	assert_int_equal(stub_add_udp(w.stub, udp), 0);
	assert_int_equal(stub_add_tcp(w.stub, tcp), 0);
	w.stop_fd = eventfd(0, EFD_CLOEXEC);
	w.stop.on_ready = on_stop;
	assert_int_equal(loop_add(w.loop, &w.stop, w.stop_fd, EPOLLIN), 0);
	assert_int_equal(pthread_create(&w.runner, NULL, run_stub, NULL), 0);
}

static inline void stop(void)
{
	uint64_t one = 1;

	assert_int_equal(write(w.stop_fd, &one, 8), 8);
	pthread_join(w.runner, NULL);
	stub_free(w.stub);
	learn_free(w.learn);
	close(w.learn_fds[0]);
	close(w.learn_fds[1]);
	resolve_free(w.resolve);
	synth_free(w.synth);
	loop_free(w.loop);
	policy_free(w.policy);
	close(w.stop_fd);
	stop_upstream();
}

/* --- the client */

struct reply {
	uint8_t msg[65536];
	size_t len; /* 0: none came */
	unsigned int rcode, n_answers;
	bool is_cut;
	int ede; /* -1: none */
	char ede_text[512];
	char addrs[70][ADDR_TEXT_BYTES];
	size_t n_addrs;
};

static int dial(int type)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(w.port)};
	struct timeval wait = {.tv_sec = WAIT_MS / 1000};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

/* The OPT record stands last and alone. */
static void read_opt(struct reply *r, size_t at)
{
	const uint8_t *p = r->msg + at;
	size_t len;

	assert_true(at + 11 <= r->len);
	assert_int_equal(get16(p + 1), 41);
	r->rcode |= (unsigned int)p[5] << 4;
	len = get16(p + 9);
	assert_int_equal(at + 11 + len, r->len);
	if (len < 6)
		return;
	assert_int_equal(get16(p + 11), 15);
	r->ede = (int)get16(p + 15);
	memcpy(r->ede_text, p + 17, len - 6);
	r->ede_text[len - 6] = '\0';
}

static void read_reply(struct reply *r)
{
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;

	r->ede = -1;
	r->ede_text[0] = '\0';
	r->n_addrs = 0;
	assert_true(r->len >= 12);
	assert_true(r->msg[2] & 0x80);  /* QR */
	assert_false(r->msg[3] & 0x20); /* AD */
	r->rcode = r->msg[3] & 15u;
	r->is_cut = r->msg[2] & 2;
	r->n_answers = get16(r->msg + 6);
	assert_int_equal(get16(r->msg + 8), 0);
	if (!get16(r->msg + 4))
		return;
	assert_true(r->msg[3] & 0x80); /* RA */
	assert_int_equal(dnsmsg_read_start(&reader, r->msg, r->len), 0);
	while (dnsmsg_read_next(&reader, &rec) > 0) {
		struct addr a;

		if (rec.type == DNSMSG_A)
			a = addr_from_v4(ntohl(
				*(uint32_t *)memcpy(&(uint32_t){0}, r->msg + rec.rdata_at, 4)));
		else if (rec.type == DNSMSG_AAAA)
			memcpy(a.b, r->msg + rec.rdata_at, 16);
		else
			continue;
		addr_print(&a, r->addrs[r->n_addrs++]);
	}
	if (get16(r->msg + 10))
		read_opt(r, reader.at);
	else
		assert_int_equal(reader.at, r->len);
}

static void ask_bytes(const uint8_t *msg, size_t len, struct reply *ret)
{
	int fd = dial(SOCK_DGRAM);
	ssize_t n;

	assert_int_equal(send(fd, msg, len, 0), len);
	n = recv(fd, ret->msg, sizeof(ret->msg), 0);
	close(fd);
	assert_true(n > 0);
	ret->len = (size_t)n;
	read_reply(ret);
}

static void ask_sized(const char *name, unsigned int type, unsigned int edns, struct reply *ret)
{
	uint8_t msg[600];
	size_t len = put_query(msg, 0x1234, name, type, edns);

	ask_bytes(msg, len, ret);
	assert_int_equal(get16(ret->msg), 0x1234);
	if (get16(ret->msg + 4)) /* the question, byte for byte */
		assert_memory_equal(ret->msg + 12, msg + 12, len - 12 - (edns ? 11 : 0));
}

static inline void ask(const char *name, unsigned int type, struct reply *ret)
{
	ask_sized(name, type, 1232, ret);
}

static inline bool was_asked(const char *question)
{
	bool was;

	pthread_mutex_lock(&w.lock);
	was = strstr(w.asked, question);
	pthread_mutex_unlock(&w.lock);
	return was;
}

#endif
