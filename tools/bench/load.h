/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The load generator's shared parts: arguments, sockets, clock, samples. One binary with a mode a
 * file: client.c, calls.c, query.c make load; origin.c answers; relay.c and echo are yardsticks.
 * No part of nej, links nothing of it. Read README.md for the modes, client.c for the work.
 */
#ifndef NEJ_BENCH_LOAD_H
#define NEJ_BENCH_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLIGHT_BYTES 1400 /* the origin's canned answer to a ClientHello */
#define ASK_BYTES 21      /* a request: record header, count of bytes wanted, 8 more */
#define HELLO_BYTES 517   /* the usual size of a padded ClientHello */

/* Arguments are KEY=VALUE words after the mode. */
struct args {
	int count;
	char **words;
};

const char *args_text(const struct args *args, const char *key, const char *otherwise);
uint64_t args_number(const struct args *args, const char *key, uint64_t otherwise);
double args_real(const struct args *args, const char *key, double otherwise);
struct sockaddr_in args_addr(const struct args *args, const char *key); /* must be there */

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
uint64_t now_ns(void);
struct sockaddr_in addr_parse(const char *text);
int tcp_listen(const struct sockaddr_in *addr);
void nodelay(int fd);
void raise_nofile(void);
void run_threads(int count, void *(*body)(void *), void *arg); /* returns when all have ended */

/* Durations in ns, up to 4 s. */
struct samples {
	uint32_t *values;
	size_t count, capacity;
};

void samples_add(struct samples *samples, uint64_t ns);
/* Sorts and prints `"p50":…,"p90":…,"p99":…,"max":…` in us. */
void samples_print(struct samples *samples);

/* A ClientHello of HELLO_BYTES with this SNI (at most 200 bytes). */
void hello_build(const char *name, uint8_t ret[HELLO_BYTES]);

int client_main(const struct args *args, const char *mode);
int calls_main(const struct args *args, const char *mode);
int query_main(const struct args *args, const char *mode);
int resolve_main(const struct args *args, const char *mode);
int origin_main(const struct args *args, const char *mode);
int echo_main(const struct args *args, const char *mode);
int pour_main(const struct args *args, const char *mode);
int mirror_main(const struct args *args, const char *mode);
int refusal_main(const struct args *args, const char *mode);
int relay_main(const struct args *args, const char *mode);

#endif
