/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The door of a gateway: accepts clients of many sandboxes, reads the head of each one's first
 * request, asks whose it is, and hands the connection to that sandbox's proxy (proxy_adopt), which
 * does all the rest. Knows no credentials itself. Read sandbox/gatehouse.c for who answers.
 */
#ifndef NEJ_PROXY_FRONT_H
#define NEJ_PROXY_FRONT_H

#include "proxy.h"

#define FRONT_LIMIT_MS 10000  /* from accept to the end of the head */
#define FRONT_MAX_GUESTS 1024 /* whose first head is not complete: the oldest gives way */

struct front;

struct front_options {
	struct loop *loop;
	/* Whose request is it? NULL head: it is none. Never NULL: a proxy that admits nobody. */
	struct proxy *(*find)(void *arg, const struct http1_head *head);
	void *arg;
	struct session_io *tls; /* NULL: plain HTTP; see front_set_tls */
};

/* Another certificate from now on; the one before must stay while its connections do. */
void front_set_tls(struct front *front, struct session_io *tls);
int front_new(const struct front_options *options, struct front **ret);
/* A listening, non-blocking TCP socket; owned by the front from now on. */
int front_add_listener(struct front *front, int fd);
/* No more clients; those that are here go on. */
void front_close(struct front *front);
size_t front_count(const struct front *front); /* guests that are here */
void front_free(struct front *front);

#endif
