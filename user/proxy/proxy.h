/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The companion proxy of one worker thread: accepts what the BPF hooks redirected and explicit
 * proxy requests, decides by name, relays or refuses. Read listen.c next, then conn.c.
 */
#ifndef NEJ_PROXY_PROXY_H
#define NEJ_PROXY_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../audit/ring.h"
#include "../base/loop.h"
#include "../dns/resolve.h"
#include "../dns/synth.h"
#include "../policy/decide.h"
#include "../wire/http1.h"
#include "quota.h"

struct meter;
struct proxy;
struct secret_store;
struct session;
struct session_io;

struct proxy_options {
	struct loop *loop;
	const struct policy *const *policy; /* the policy in force: read at each decision */
	const uint32_t *generation;         /* of that policy, for audit events */
	struct synth *synth;
	struct resolve *resolve;
	struct session_io *tls;       /* of this thread; NULL: TLS is never terminated */
	struct secret_store *secrets; /* NULL: the sandbox has none */
	struct audit_ring *ring;
	struct meter *meter;       /* of this thread; NULL: nobody watches */
	int flows_fd;              /* read-only, see kernel/origin.h */
	struct endpoint explicit4; /* a connection to this address itself is an explicit request */
	struct endpoint explicit6;
	const struct addr *host_addrs; /* the host's own addresses: never dialled */
	size_t n_host_addrs;
	/* May anything pass (audit writable, not halted)? NONE or the reason. */
	enum nej_reason (*may_pass)(void *arg);
	/* Of a request to the proxy itself: does it carry the right credentials? NULL: none needed */
	bool (*admits)(void *arg, const struct http1_head *head);
	void *arg;
	struct quota *quota; /* of the sandbox; NULL: the process's */
	/* A forward proxy outside the sandbox: loopback is never reached, rules of URLs are held
	 * inside, by the sandbox's own nej, and all goes straight. */
	bool is_gateway;
};

int proxy_new(const struct proxy_options *options, struct proxy **ret);

/* A listening, non-blocking TCP socket; owned by the proxy from now on. is_eager: the server may
 * speak first, so the destination is dialled without waiting for the client's bytes. */
int proxy_add_listener(struct proxy *proxy, int fd, bool is_eager);

/* adopt.c: a request to the proxy itself on an accepted socket; `first` is what was read of it: at least its
 * whole head, or more than a head may have. Socket and
 * session (NULL: plain) are the proxy's from now on. */
void proxy_adopt(
	struct proxy *proxy, int fd, struct session *tls, const char *first, size_t len_bytes);

/* The policy in force is another: ends what it does not allow. Returns how many connections. */
size_t proxy_review(struct proxy *proxy);
/* Once all threads have it: counters of rules that are no more are given up. */
void proxy_review_limits(struct proxy *proxy);
void proxy_cut(struct proxy *proxy); /* ends all connections */

size_t proxy_open_count(const struct proxy *proxy); /* connections open now; from any thread */
void proxy_free(struct proxy *proxy);

#endif
