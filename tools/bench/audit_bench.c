/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an audit record costs, in ns of CPU: put (worker), drain with encoding, chain and write
 * (supervisor), and verify. audit_bench [RECORDS] writes its log to a folder of its own in /tmp. After
 * `make`: cc -O2 -D_GNU_SOURCE -o audit_bench tools/bench/audit_bench.c build/obj/user/audit/?*.o \
 *	build/obj/user/base/?*.o -lcrypto -ljansson
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../user/audit/ring.h"
#include "../../user/audit/sink.h"
#include "../../user/audit/verify.h"
#include "../../user/base/clock.h"

#define BATCH 500 /* records a drain: 10,000 a second, drained every 50 ms */
#define SHA256 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char dir[] = "/tmp/nej-bench-XXXXXX";
static char log_path[64], key_path[64], ring_path[64];

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void lookup(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note)
{
	(void)arg, (void)generation, (void)rule, (void)ret_note;
	*ret_text = "allow: api.allowed.test";
	*ret_line = 3;
}

static struct audit_event an_event(void)
{
	static const char host[] = "api.allowed.test";
	struct audit_event e = {
		.kind = AUDIT_NETWORK_ALLOWED,
		.layer = AUDIT_LAYER_PROXY,
		.reason = NEJ_REASON_RULE,
		.app = AUDIT_APP_TLS,
		.proto = IPPROTO_TCP,
		.has_addr = 1,
		.port = 443,
		.rule = 2,
		.generation = 1,
		.pid = 4242,
		.uid = 1001,
		.cgroup_id = 12345,
		.count = 1,
		.time_us = clock_real_us(),
		.duration_us = 812,
		.addr = addr_from_v4(0xc6120007),
		.comm = "curl",
		.host = {host, sizeof(host) - 1},
	};

	return e;
}

struct ends {
	struct audit_sink *sink;
	struct audit_ring *reader, *writer;
	int wake_fd;
};

static int open_all(struct ends *ends)
{
	struct audit_sink_options o = {
		.path = log_path, .sandbox = "agent-1", .key_path = key_path};
	bool is_leftover;
	int r;

	snprintf(log_path, sizeof(log_path), "%s/audit.jsonl", dir);
	snprintf(key_path, sizeof(key_path), "%s/key", dir);
	snprintf(ring_path, sizeof(ring_path), "%s/ring", dir);
	ends->wake_fd = eventfd(0, EFD_NONBLOCK);
	r = audit_sink_open(&o, &ends->sink);
	if (r == 0)
		r = audit_ring_create(ring_path, &ends->reader, &is_leftover);
	if (r == 0)
		r = audit_ring_open(dup(audit_ring_fd(ends->reader)), ends->wake_fd, &ends->writer);
	if (r == 0)
		audit_sink_set_policy(ends->sink, 1, SHA256, lookup, NULL);
	return r;
}

static void run(struct ends *ends, unsigned int n)
{
	double put_ns = 0, drain_ns = 0;

	for (unsigned int done = 0; done < n; done += BATCH) {
		double start = cpu_ns(), middle;

		for (int i = 0; i < BATCH; i++) {
			struct audit_event e = an_event();

			audit_ring_put(ends->writer, &e, NULL);
		}
		middle = cpu_ns();
		audit_sink_drain(ends->sink, ends->reader);
		audit_sink_flush(ends->sink);
		put_ns += middle - start;
		drain_ns += cpu_ns() - middle;
	}
	printf("put            %6.0f ns/record\n", put_ns / n);
	printf("drain to file  %6.0f ns/record (encode, chain, write, heads)\n", drain_ns / n);
	printf("together       %6.0f ns/record\n", (put_ns + drain_ns) / n);
}

/* Refusals of a flood: one destination again and again, then a new name each time. */
static void flood(struct ends *ends, unsigned int n, bool is_distinct)
{
	double start = cpu_ns();

	for (unsigned int i = 0; i < n; i++) {
		struct audit_event e = an_event();
		char host[48];

		e.kind = AUDIT_DNS_BLOCKED;
		e.reason = NEJ_REASON_NO_RULE;
		e.rule = AUDIT_NO_RULE;
		if (is_distinct)
			snprintf(host, sizeof(host), "%08x.tunnel.evil.test", i);
		else
			snprintf(host, sizeof(host), "evil.test");
		e.host = (struct audit_text){host, (uint32_t)strlen(host)};
		audit_sink_add(ends->sink, &e);
		if (i % BATCH == 0)
			audit_sink_flush(ends->sink);
	}
	printf("%s %6.0f ns/refusal\n", is_distinct ? "distinct flood" : "flood         ",
		(cpu_ns() - start) / n);
}

static int check(void)
{
	struct verify_result *v = calloc(1, sizeof(*v));
	double start = cpu_ns(), ns;
	struct stat st;
	int r = v ? verify_log(log_path, NULL, v) : -1;

	ns = cpu_ns() - start;
	if (r == 0 && v->fault == VERIFY_GOOD && stat(log_path, &st) == 0)
		printf("verify         %6.0f ns/record, %.0f MB/s\n", ns / (double)v->n_records,
			(double)st.st_size / ns * 1e3);
	r = r == 0 && v->fault == VERIFY_GOOD ? 0 : 1;
	free(v);
	return r;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? (unsigned int)atoi(argv[1]) : 500000;
	char command[64];
	struct ends ends;
	int r;

	if (!mkdtemp(dir) || open_all(&ends) < 0)
		return 1;
	run(&ends, n);
	flood(&ends, n, false);
	flood(&ends, n, true);
	audit_ring_close(ends.writer);
	audit_ring_close(ends.reader);
	audit_sink_close(ends.sink);
	r = check();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || r;
}
