/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modes query and resolve: DNS questions over UDP. query keeps `window` of them in flight over
 * `socks` connected sockets, batched, so that the client costs less than any server. Names are
 * NAME with %d replaced by 0 … names-1, or those of a file. Read echo in origin.c for the yardstick.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define MAX_SOCKS 16
#define MAX_BATCH 64

struct question {
	uint8_t bytes[300];
	size_t len;
};

struct sock {
	int fd, in_flight;
	uint16_t next_id;
	uint64_t sent_ns[65536]; /* by id; 0: not awaited */
};

static struct {
	struct question *questions;
	size_t n_questions;
	struct sock socks[MAX_SOCKS];
	int n_socks, per_sock;
	uint64_t issued, answered, lost, rcodes[16], with_answers, random;
	struct samples samples;
} q = {.random = 88172645463325252ull};

static void question_build(struct question *question, const char *name)
{
	static const uint8_t head[12] = {0, 0, 1, 0, 0, 1}, tail[5] = {0, 0, 1, 0, 1};
	size_t at = sizeof(head);

	memcpy(question->bytes, head, sizeof(head));
	while (*name) {
		size_t len = strcspn(name, ".");

		if (at + len + 1 + sizeof(tail) > sizeof(question->bytes) || len > 63)
			die("%s is no name", name);
		question->bytes[at++] = (uint8_t)len;
		memcpy(question->bytes + at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	memcpy(question->bytes + at, tail, sizeof(tail));
	question->len = at + sizeof(tail);
}

static void questions_add(const char *name)
{
	if (!(q.n_questions & (q.n_questions - 1))) { /* grows at powers of two */
		size_t room = q.n_questions ? 2 * q.n_questions : 1;

		q.questions = realloc(q.questions, room * sizeof(*q.questions));
		if (!q.questions)
			die("out of memory");
	}
	question_build(&q.questions[q.n_questions++], name);
}

static void questions_load(const struct args *args)
{
	const char *file = args_text(args, "file", NULL),
		   *name = args_text(args, "name", "a.bench.test");
	uint64_t names = args_number(args, "names", 1);
	char line[300];
	FILE *in;

	if (!file) {
		const char *mark = strstr(name, "%d");

		for (uint64_t i = 0; i < names; i++) {
			if (mark)
				snprintf(line, sizeof(line), "%.*s%llu%s", (int)(mark - name), name,
					(unsigned long long)i, mark + 2);
			questions_add(mark ? line : name);
		}
		return;
	}
	in = fopen(file, "r");
	if (!in)
		die("%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = 0;
		if (*line)
			questions_add(line);
	}
	fclose(in);
}

static const struct question *question_pick(void)
{
	q.random ^= q.random << 13;
	q.random ^= q.random >> 7;
	q.random ^= q.random << 17;
	return &q.questions[q.random % q.n_questions];
}

static void sock_send(struct sock *s)
{
	struct mmsghdr messages[MAX_BATCH];
	struct iovec parts[MAX_BATCH][2];
	uint8_t ids[MAX_BATCH][2];
	int count = q.per_sock - s->in_flight, sent;
	uint64_t now = now_ns();

	if (count > MAX_BATCH)
		count = MAX_BATCH;
	if (count <= 0)
		return;
	for (int i = 0; i < count; i++) {
		const struct question *question = question_pick();
		uint16_t id = s->next_id++;

		ids[i][0] = (uint8_t)(id >> 8);
		ids[i][1] = (uint8_t)id;
		parts[i][0] = (struct iovec){ids[i], 2};
		parts[i][1] = (struct iovec){(uint8_t *)question->bytes + 2, question->len - 2};
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = parts[i], .msg_iovlen = 2}};
		s->sent_ns[id] = now;
	}
	sent = sendmmsg(s->fd, messages, (unsigned)count, 0);
	if (sent < 0)
		sent = 0;
	s->in_flight += sent;
	q.issued += (uint64_t)sent;
	s->next_id = (uint16_t)(s->next_id - (count - sent));
}

static void answer_count(struct sock *s, const uint8_t *bytes, size_t len, uint64_t now)
{
	uint16_t id = (uint16_t)(bytes[0] << 8 | bytes[1]);

	if (len < 12 || !s->sent_ns[id])
		return;
	samples_add(&q.samples, now - s->sent_ns[id]);
	s->sent_ns[id] = 0;
	s->in_flight--;
	q.answered++;
	q.rcodes[bytes[3] & 15]++;
	q.with_answers += bytes[6] || bytes[7];
}

static int sock_receive(struct sock *s)
{
	static uint8_t buffers[MAX_BATCH][1500];
	struct mmsghdr messages[MAX_BATCH];
	struct iovec parts[MAX_BATCH];
	uint64_t now;
	int count;

	for (int i = 0; i < MAX_BATCH; i++) {
		parts[i] = (struct iovec){buffers[i], sizeof(buffers[i])};
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
	}
	count = recvmmsg(s->fd, messages, MAX_BATCH, MSG_DONTWAIT, NULL);
	now = now_ns();
	for (int i = 0; i < count; i++)
		answer_count(s, buffers[i], messages[i].msg_len, now);
	return count;
}

static void give_up(void)
{
	for (int i = 0; i < q.n_socks; i++) {
		q.lost += (uint64_t)q.socks[i].in_flight;
		q.socks[i].in_flight = 0;
		memset(q.socks[i].sent_ns, 0, sizeof(q.socks[i].sent_ns));
	}
}

static void query_run(uint64_t end_ns, uint64_t limit)
{
	struct pollfd polls[MAX_SOCKS];
	uint64_t progress_ns = now_ns();

	for (int i = 0; i < q.n_socks; i++)
		polls[i] = (struct pollfd){.fd = q.socks[i].fd, .events = POLLIN};
	while (limit ? q.answered + q.lost < limit : now_ns() < end_ns) {
		for (int i = 0; i < q.n_socks; i++)
			if (!limit || q.issued < limit)
				sock_send(&q.socks[i]);
		poll(polls, (nfds_t)q.n_socks, 20);
		for (int i = 0; i < q.n_socks; i++)
			if ((polls[i].revents & POLLIN) && sock_receive(&q.socks[i]) > 0)
				progress_ns = now_ns();
		if (now_ns() - progress_ns > 500000000ull) {
			give_up();
			progress_ns = now_ns();
		}
	}
}

static int udp_connect(const struct sockaddr_in *server)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (connect(fd, (const struct sockaddr *)server, sizeof(*server)))
		die("connect: %s", strerror(errno));
	return fd;
}

int query_main(const struct args *args, const char *mode)
{
	struct sockaddr_in server = args_addr(args, "server");
	int window = (int)args_number(args, "window", 64);
	uint64_t begin;
	double secs;

	(void)mode;
	questions_load(args);
	q.n_socks = (int)args_number(args, "socks", 8);
	if (q.n_socks > window)
		q.n_socks = window;
	if (q.n_socks > MAX_SOCKS)
		q.n_socks = MAX_SOCKS;
	q.per_sock = window / q.n_socks;
	for (int i = 0; i < q.n_socks; i++)
		q.socks[i].fd = udp_connect(&server);
	begin = now_ns();
	query_run(begin + (uint64_t)(args_real(args, "secs", 2) * 1e9),
		args_number(args, "count", 0));
	secs = (double)(now_ns() - begin) / 1e9;
	printf("{\"ops\":%llu,\"secs\":%.4f,\"rate\":%.1f,\"lost\":%llu,\"noerror\":%llu,"
	       "\"nxdomain\":%llu,"
	       "\"servfail\":%llu,\"answers\":%llu,",
		(unsigned long long)q.answered, secs, (double)q.answered / secs,
		(unsigned long long)q.lost, (unsigned long long)q.rcodes[0],
		(unsigned long long)q.rcodes[3], (unsigned long long)q.rcodes[2],
		(unsigned long long)q.with_answers);
	samples_print(&q.samples);
	puts("}");
	return 0;
}

int resolve_main(const struct args *args, const char *mode)
{
	struct sockaddr_in server = args_addr(args, "server");
	struct timeval wait = {.tv_sec = 2};
	struct question question;
	char text[INET_ADDRSTRLEN];
	uint8_t answer[512];
	ssize_t len;
	int fd = udp_connect(&server);

	(void)mode;
	question_build(&question, args_text(args, "name", "fake.bench.test"));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (send(fd, question.bytes, question.len, 0) < 0)
		die("send: %s", strerror(errno));
	len = recv(fd, answer, sizeof(answer), 0);
	/* The one A record follows the question: compressed name, type, class, TTL, length. */
	if (len < (ssize_t)question.len + 16 || !answer[7])
		die("no address: %zd bytes, rcode %d", len, len > 3 ? answer[3] & 15 : -1);
	puts(inet_ntop(AF_INET, answer + question.len + 12, text, sizeof(text)));
	close(fd);
	return 0;
}
