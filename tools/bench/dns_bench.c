/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU of the stub alone, a question, beside a bare UDP echo: one thread each, measured by the
 * thread's own CPU clock, in turns, with 64 questions in flight on loopback. No hooks, no audit:
 * those are suites.py's. Build: see README.md. Arguments: hosts in the policy (default 100, at least 64).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../user/dns/stub.h"
#include "../../user/policy/policy.h"

#define IN_FLIGHT 64
#define ROUNDS 7
#define PER_ROUND 200000

enum server {
	ECHO,
	ECHO_BATCH,
	STUB,
	SERVERS,
};

static struct {
	int fd[SERVERS];
	struct sockaddr_in addr[SERVERS];
	pthread_t thread[SERVERS];
	clockid_t clock[SERVERS];
	const struct policy *policy;
	struct loop *loop;
	struct stub *stub;
	uint64_t n_denied;
	size_t stride; /* between the hosts that are asked for */
} b;

static void die(const char *what)
{
	fprintf(stderr, "dns_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_server(struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, len) < 0 ||
		getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		die("socket");
	return fd;
}

/* --- yardsticks */

static void *run_echo(void *arg)
{
	uint8_t msg[1232];

	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n =
			recvfrom(b.fd[ECHO], msg, sizeof(msg), 0, (struct sockaddr *)&from, &len);

		if (n > 0)
			sendto(b.fd[ECHO], msg, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
	return arg;
}

static void *run_echo_batch(void *arg)
{
	static uint8_t bytes[IN_FLIGHT][1232];
	static struct sockaddr_in from[IN_FLIGHT];
	static struct iovec iov[IN_FLIGHT];
	static struct mmsghdr msgs[IN_FLIGHT];

	for (;;) {
		int n;

		for (int i = 0; i < IN_FLIGHT; i++) {
			iov[i] = (struct iovec){bytes[i], sizeof(bytes[i])};
			msgs[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
				.msg_namelen = sizeof(from[i]),
				.msg_iov = &iov[i],
				.msg_iovlen = 1};
		}
		n = recvmmsg(b.fd[ECHO_BATCH], msgs, IN_FLIGHT, MSG_WAITFORONE, NULL);
		for (int i = 0; i < n; i++)
			iov[i].iov_len = msgs[i].msg_len;
		if (n > 0)
			sendmmsg(b.fd[ECHO_BATCH], msgs, (unsigned int)n, 0);
	}
	return arg;
}

/* --- the stub */

static void on_denial(void *arg, const struct stub_denial *denial)
{
	(void)arg;
	(void)denial;
	b.n_denied++;
}

static enum nej_reason may_answer(void *arg)
{
	(void)arg;
	return NEJ_REASON_NONE;
}

static void *run_stub(void *arg)
{
	loop_run(b.loop);
	return arg;
}

static void write_list(const char *path, size_t n_hosts)
{
	FILE *f = fopen(path, "we");

	if (!f)
		die(path);
	for (size_t i = 0; i < n_hosts; i++)
		fprintf(f, "host%zu.pkg.test\n", i);
	if (fclose(f))
		die(path);
}

static struct policy *load_policy(size_t n_hosts)
{
	static const char text[] = "version: 1\nrules: [allow: {list: hosts}]\n";
	char dir[] = "/tmp/dns_bench.XXXXXX", path[64];
	struct policy *p = NULL;
	struct err_list errs;

	if (!mkdtemp(dir))
		die(dir);
	snprintf(path, sizeof(path), "%s/hosts", dir);
	write_list(path, n_hosts);
	err_init(&errs, "policy");
	if (policy_load_text(text, sizeof(text) - 1, dir, &errs, &p) < 0) {
		err_print(&errs, stderr);
		exit(1);
	}
	unlink(path);
	rmdir(dir);
	return p;
}

static void start_stub(void)
{
	static const uint8_t net6[8] = {0xfd};
	struct stub_options o = {
		.policy = &b.policy, .on_denial = on_denial, .may_answer = may_answer};

	if (loop_new(&b.loop) < 0 || synth_new(net6, &o.synth) < 0 ||
		resolve_new(b.loop, NULL, 0, &o.resolve) < 0)
		die("stub");
	o.loop = b.loop;
	if (stub_new(&o, &b.stub) < 0 || stub_add_udp(b.stub, b.fd[STUB]) < 0)
		die("stub");
}

/* --- the client */

static size_t build(uint8_t *msg, bool is_denied, size_t i)
{
	static const uint8_t tail[] = {0, 0, 1, 0, 1};
	char label[32];
	size_t n = 12, len;

	memset(msg, 0, 12);
	msg[2] = 1;
	msg[5] = 1;
	len = (size_t)snprintf(label, sizeof(label), "host%zu", i * b.stride);
	msg[n++] = (uint8_t)len;
	memcpy(msg + n, label, len);
	n += len;
	memcpy(msg + n, is_denied ? "\3bad\4test" : "\3pkg\4test", 9);
	n += 9;
	memcpy(msg + n, tail, sizeof(tail));
	return n + sizeof(tail);
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Nanoseconds of the server's CPU a question. */
static double measure(enum server server, bool is_denied)
{
	static uint8_t out[IN_FLIGHT][64], in[IN_FLIGHT][1232];
	static struct iovec out_iov[IN_FLIGHT], in_iov[IN_FLIGHT];
	static struct mmsghdr sent[IN_FLIGHT], got[IN_FLIGHT];
	int fd = socket(AF_INET, SOCK_DGRAM, 0), n;
	struct timeval wait = {.tv_usec = 200000};
	uint64_t began = cpu_ns(b.clock[server]), done = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)&b.addr[server], sizeof(b.addr[0])) < 0)
		die("client");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		out_iov[i] = (struct iovec){out[i], build(out[i], is_denied, i)};
		sent[i].msg_hdr = (struct msghdr){.msg_iov = &out_iov[i], .msg_iovlen = 1};
		in_iov[i] = (struct iovec){in[i], sizeof(in[i])};
		got[i].msg_hdr = (struct msghdr){.msg_iov = &in_iov[i], .msg_iovlen = 1};
	}
	n = sendmmsg(fd, sent, IN_FLIGHT, 0);
	while (done < PER_ROUND && n > 0) {
		n = recvmmsg(fd, got, IN_FLIGHT, MSG_WAITFORONE, NULL);
		if (n > 0 && sendmmsg(fd, sent, (unsigned int)n, 0) < 0)
			die("send");
		done += n > 0 ? (uint64_t)n : 0;
	}
	close(fd);
	return done ? (double)(cpu_ns(b.clock[server]) - began) / (double)done : 0;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, c = *(const double *)y;

	return (a > c) - (a < c);
}

int main(int argc, char **argv)
{
	static void *(*const run[])(void *arg) = {run_echo, run_echo_batch, run_stub};
	static const char *const names[] = {
		"udp-echo", "udp-echo-batch", "stub allowed", "stub denied"};
	size_t n_hosts = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	double us[4][ROUNDS];

	b.policy = load_policy(n_hosts);
	b.stride = n_hosts / IN_FLIGHT;
	for (int i = 0; i < SERVERS; i++)
		b.fd[i] = open_server(&b.addr[i]);
	start_stub();
	for (int i = 0; i < SERVERS; i++)
		if (pthread_create(&b.thread[i], NULL, run[i], NULL) ||
			pthread_getcpuclockid(b.thread[i], &b.clock[i]))
			die("thread");
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < 4; i++)
			us[i][round] = measure(i < STUB ? (enum server)i : STUB, i == 3) / 1000;
	for (int i = 0; i < 4; i++) {
		qsort(us[i], ROUNDS, sizeof(us[i][0]), by_value);
		printf("%-16s %.2f us CPU a question (%.2f-%.2f)\n", names[i], us[i][ROUNDS / 2],
			us[i][0], us[i][ROUNDS - 1]);
	}
	return 0;
}
