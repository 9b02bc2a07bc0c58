/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Picks the mode, and what all modes share. Results are one JSON object on stdout.
 * Read client.c next.
 */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const struct mode {
	const char *name;
	int (*main)(const struct args *args, const char *mode);
} modes[] = {
	{"tun", client_main},      /* a new connection for each operation */
	{"keep", client_main},     /* kept connections, an operation is one message */
	{"bulk", client_main},     /* conc connections, bytes each */
	{"idle", client_main},     /* conc connections made and held until stdin ends */
	{"connect", calls_main},   /* duration of connect() that succeeds */
	{"refused", calls_main},   /* duration of calls that the kernel refuses */
	{"query", query_main},     /* DNS questions over UDP */
	{"resolve", resolve_main}, /* prints the address of a name */
	{"origin", origin_main},   /* TLS-like and HTTP origin, DNS upstream */
	{"echo", echo_main},       /* bare UDP echo */
	{"pour", pour_main},       /* tunnels that carry data until they are cut */
	{"mirror", mirror_main},   /* the origin of these */
	{"refusal", refusal_main}, /* prints when the first connect() is refused */
	{"relay", relay_main},     /* lean relay to one destination, without any policy */
};

const char *args_text(const struct args *args, const char *key, const char *otherwise)
{
	size_t len = strlen(key);

	for (int i = 0; i < args->count; i++)
		if (!strncmp(args->words[i], key, len) && args->words[i][len] == '=')
			return args->words[i] + len + 1;
	return otherwise;
}

uint64_t args_number(const struct args *args, const char *key, uint64_t otherwise)
{
	const char *text = args_text(args, key, NULL);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

double args_real(const struct args *args, const char *key, double otherwise)
{
	const char *text = args_text(args, key, NULL);

	return text ? strtod(text, NULL) : otherwise;
}

struct sockaddr_in args_addr(const struct args *args, const char *key)
{
	const char *text = args_text(args, key, NULL);

	if (!text)
		die("%s=ADDRESS:PORT is needed", key);
	return addr_parse(text);
}

void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("load: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

struct sockaddr_in addr_parse(const char *text)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN];

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		die("%s: an address is A.B.C.D:PORT", text);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = 0;
	addr.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &addr.sin_addr) != 1)
		die("%s: an address is A.B.C.D:PORT", text);
	return addr;
}

void nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int tcp_listen(const struct sockaddr_in *addr)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	nodelay(fd);
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 4096))
		die("listen: %s", strerror(errno));
	return fd;
}

void raise_nofile(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void run_threads(int count, void *(*body)(void *), void *arg)
{
	pthread_t threads[16];

	for (int i = 0; i < count && i < 16; i++)
		if (pthread_create(&threads[i], NULL, body, arg))
			die("cannot start a thread");
	for (int i = 0; i < count && i < 16; i++)
		pthread_join(threads[i], NULL);
}

void samples_add(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->capacity) {
		samples->capacity = samples->capacity ? 2 * samples->capacity : 65536;
		samples->values = realloc(samples->values, samples->capacity * sizeof(uint32_t));
		if (!samples->values)
			die("out of memory");
	}
	samples->values[samples->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int samples_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void samples_print(struct samples *samples)
{
	static const struct {
		const char *name;
		double at;
	} rows[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}};

	if (samples->count)
		qsort(samples->values, samples->count, sizeof(uint32_t), samples_compare);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t slot = (size_t)(rows[i].at * (double)(samples->count - 1) + 0.5);

		printf("%s\"%s\":%.2f", i ? "," : "", rows[i].name,
			samples->count ? samples->values[slot] / 1000.0 : 0.0);
	}
}

int main(int argc, char **argv)
{
	struct args args = {.count = argc - 2, .words = argv + 2};

	signal(SIGPIPE, SIG_IGN);
	raise_nofile();
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].main(&args, argv[1]);
	fputs("usage: load MODE [KEY=VALUE...]; modes:", stderr);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		fprintf(stderr, " %s", modes[i].name);
	fputc('\n', stderr);
	return 2;
}
