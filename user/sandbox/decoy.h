/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that plays an escaping program: in the sandbox's cgroup and network namespace it tries
 * what must be refused at each layer, and says by its exit status what was not. Its starter is
 * canary.c.
 */
#ifndef NEJ_SANDBOX_DECOY_H
#define NEJ_SANDBOX_DECOY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DECOY_COMM "nej canary"
#define DECOY_LIMIT_MS 1000 /* it has ended by then, or is ended */

/* X(id, for people) */
#define DECOY_TRIES(X)                                                                             \
	X(SOCKET, "a raw socket")                                                                  \
	X(CONNECT4, "a connect to a link-local IPv4 address")                                      \
	X(CONNECT6, "a connect to a link-local IPv6 address")                                      \
	X(DATAGRAM4, "a datagram to a link-local IPv4 address")                                    \
	X(DATAGRAM6, "a datagram to a link-local IPv6 address")                                    \
	X(NAME, "the name that no rule allows")                                                    \
	X(REQUEST, "a CONNECT request for a host that no rule allows")

enum decoy_try {
#define X(id, text) DECOY_##id,
	DECOY_TRIES(X)
#undef X
		DECOY_TRY_COUNT
};

/* Exit status. */
enum decoy_end {
	DECOY_REFUSED,     /* everything was, as it must be */
	DECOY_LATE,        /* no answer in time */
	DECOY_UNABLE,      /* it could not get there */
	DECOY_PASSED = 16, /* and the number of the try that did */
};

struct decoy_plan {
	int netns_fd;  /* -1: it is in the right one */
	int cgroup_fd; /* to join; -1: is in it already */
	uint32_t uid;
	bool asks_name, asks_proxy; /* the policy denies `name`: ask for it */
	uint16_t proxy_port;
	struct in_addr addr4; /* link-local: refused by the hooks whatever the policy says */
	struct in6_addr addr6;
	uint16_t port;
	char name[64];
};

_Noreturn void decoy_main(const struct decoy_plan *plan);
const char *decoy_text(enum decoy_try what);

#endif
