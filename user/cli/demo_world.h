/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The internet of `nej demo`: a network namespace with a resolver, an honest web server and an evil
 * one, and the host's namespace with a route to it. Nothing of it touches the machine's own
 * network, and all of it is gone when its processes are.
 */
#ifndef NEJ_CLI_DEMO_WORLD_H
#define NEJ_CLI_DEMO_WORLD_H

#include <sys/types.h>

/* Ordinary global addresses: special ones nej would refuse for being special. */
#define DEMO_RESOLVER "9.9.9.9"
#define DEMO_OTHER_RESOLVER "8.8.8.8"
#define DEMO_GOOD_ADDR "93.184.216.34"
#define DEMO_EVIL_ADDR "45.33.32.156"
#define DEMO_GOOD_NAME "api.example.com"
#define DEMO_EVIL_NAME "evil.example.net"

/* What the other side noticed, in memory shared with its processes. */
struct demo_seen {
	unsigned int good_requests;
	unsigned int evil_connections;
	unsigned int evil_questions; /* DNS questions about the evil name or below it */
};

struct demo_world {
	pid_t server;
	struct demo_seen *seen;
};

/* Moves the calling process into the host's namespace and starts the servers. 0 or negative errno;
 * ret_what then says what could not be made. */
int demo_world_start(struct demo_world *world, const char **ret_what);
void demo_world_stop(struct demo_world *world);

#endif
