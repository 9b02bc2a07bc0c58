/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the hooks cost: connect() redirected, let through and refused, and a refused datagram,
 * against the same calls without BPF. Rounds are interleaved; medians of rounds and their ratios
 * are printed. Not a test: `bench_connect [ROUNDS [CALLS]]` as root.
 */
#include "world.h"

#include <sys/prctl.h>

#define MAX_ROUNDS 201

enum bench_case {
	BENCH_NONE,           /* outside the cgroup, to the listener itself */
	BENCH_REDIRECT,       /* inside, to an outside address */
	BENCH_PASS,           /* inside, to a listener of the sandbox's own loopback */
	BENCH_REFUSED,        /* inside, one port no rule names */
	BENCH_REFUSED_SPREAD, /* inside, another port each time: an event each */
	BENCH_DATAGRAM,       /* inside, a refused datagram, another port each time */
	BENCH_CASES,
};

static const char *const case_names[] = {"no BPF", "redirected", "let through",
	"refused, one place", "refused, many places", "datagram refused, many places"};

static struct world world;
static int n_calls = 2000;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One connect of a fresh socket, timed alone; accepted and reset. */
static uint64_t connect_once(const struct sockaddr_storage *to, socklen_t len, int listener)
{
	const struct linger reset = {.l_onoff = 1};
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
	uint64_t begin = now_ns(), end;
	int r = connect(fd, (const struct sockaddr *)to, len);

	end = now_ns();
	if (r == 0) {
		peer = accept(listener, NULL, NULL);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		close(peer);
	} else {
		close(fd);
	}
	return end - begin;
}

static uint64_t run_connects(const char *addr, uint16_t port, bool is_spread, int listener)
{
	struct target t = {.addr = addr, .port = port};
	uint64_t total = 0;

	for (int i = 0; i < n_calls; i++) {
		struct sockaddr_storage to;
		socklen_t len;

		if (is_spread)
			t.port = (uint16_t)(10000 + i % 20000);
		len = target_sockaddr(&t, &to);
		total += connect_once(&to, len, listener);
	}
	return total / (uint64_t)n_calls;
}

static uint64_t run_datagrams(void)
{
	struct target t = {.addr = "93.184.216.34", .type = SOCK_DGRAM};
	int fd = target_socket(&t);
	uint64_t total = 0;

	for (int i = 0; i < n_calls; i++) {
		struct sockaddr_storage to;
		socklen_t len;
		uint64_t begin;

		t.port = (uint16_t)(10000 + i % 20000);
		len = target_sockaddr(&t, &to);
		begin = now_ns();
		sendto(fd, "canary", 6, 0, (struct sockaddr *)&to, len);
		total += now_ns() - begin;
	}
	close(fd);
	return total / (uint64_t)n_calls;
}

static uint64_t run_case(enum bench_case c)
{
	switch (c) {
	case BENCH_NONE:
		return run_connects("127.0.0.1", PROXY_PORT, false, world.proxy4);
	case BENCH_REDIRECT:
		return run_connects("93.184.216.34", 443, false, world.proxy4);
	case BENCH_PASS:
		return run_connects("127.0.0.1", 8000, false, world.eager4);
	case BENCH_REFUSED:
		return run_connects("93.184.216.34", 25, false, -1);
	case BENCH_REFUSED_SPREAD:
		return run_connects("93.184.216.34", 0, true, -1);
	default:
		return run_datagrams();
	}
}

struct bench_worker {
	int ask[2], answer[2];
	pid_t pid;
};

static void start_worker(struct bench_worker *w, bool is_inside)
{
	if (pipe(w->ask) < 0 || pipe(w->answer) < 0)
		exit(1);
	w->pid = fork();
	if (w->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_inside)
		world_enter(&world);
	for (;;) {
		uint64_t ns;
		char c;

		if (read(w->ask[0], &c, 1) != 1)
			_exit(0);
		ns = run_case((enum bench_case)c);
		if (write(w->answer[1], &ns, sizeof(ns)) != sizeof(ns))
			_exit(0);
	}
}

static uint64_t ask_worker(struct bench_worker *w, enum bench_case c)
{
	char byte = (char)c;
	uint64_t ns = 0;

	if (write(w->ask[1], &byte, 1) != 1 || read(w->answer[0], &ns, sizeof(ns)) != sizeof(ns))
		exit(1);
	return ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	static double ns[BENCH_CASES][MAX_ROUNDS], ratio[BENCH_CASES][MAX_ROUNDS];
	int n_rounds = argc > 1 ? atoi(argv[1]) : 31;
	struct bench_worker inside, outside;

	n_calls = argc > 2 ? atoi(argv[2]) : n_calls;
	if (n_rounds < 1 || n_rounds > MAX_ROUNDS || n_calls < 1 || !is_root())
		return 2;
	world_open(&world, NEJ_F_OWN_NETNS);
	/* A listener on a port that is the sandbox's own, made outside so that both ends compare. */
	close(world.eager4);
	world.eager4 = world_listen(AF_INET, SOCK_STREAM, 8000);
	fcntl(world.eager4, F_SETFL, 0);
	fcntl(world.proxy4, F_SETFL, 0);
	start_worker(&inside, true);
	start_worker(&outside, false);
	for (int r = 0; r < n_rounds; r++)
		for (int c = 0; c < BENCH_CASES; c++) {
			ns[c][r] = (double)ask_worker(
				c == BENCH_NONE ? &outside : &inside, (enum bench_case)c);
			ratio[c][r] = ns[c][r] / ns[BENCH_NONE][r];
		}
	for (int c = 0; c < BENCH_CASES; c++)
		printf("%-30s %8.0f ns  x %.2f\n", case_names[c], median(ns[c], n_rounds),
			median(ratio[c], n_rounds));
	kill(inside.pid, SIGKILL);
	kill(outside.pid, SIGKILL);
	waitpid(inside.pid, NULL, 0);
	waitpid(outside.pid, NULL, 0);
	world_close(&world);
	return 0;
}
