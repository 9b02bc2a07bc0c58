/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the supervisor of a gateway holds: listening sockets, audit log and ring, and all that its
 * worker is started with; and its own records. Made once. Read gateway.c for what runs on it.
 */
#ifndef NEJ_SANDBOX_GATEWAY_EQUIP_H
#define NEJ_SANDBOX_GATEWAY_EQUIP_H

#include <limits.h>

#include "../audit/ring.h"
#include "../audit/sink.h"
#include "companion.h"
#include "gateway.h"
#include "tenants.h"

#define GATEWAY_EXIT_FAILED 125
#define GATEWAY_EXIT_USAGE 2

struct gateway {
	const struct gateway_options *options;
	char audit_path[PATH_MAX];
	struct audit_sink *sink;
	struct audit_ring *ring;
	struct policy *nothing; /* denies everything: for strangers */
	struct netns_listeners listeners;
	struct handoff_state *state;
	struct companion_plan plan;
	struct companion worker;
};

/* 0, or the exit status of a refusal; the message is out. */
int gateway_open(const struct gateway_options *options, struct gateway *ret);
void gateway_close(struct gateway *g);
void gateway_close_listeners(struct gateway *g);
/* The certificate, its chain and key in a sealed memfd; -1 where none are asked for. Also the first
 * time. 0, -EPERM (others may read the key) or other negative errno, with *ret_what. */
int gateway_read_pem(const struct gateway_options *options, int *ret_fd, const char **ret_what);
/* A worker that does not read is not waited for longer than a few seconds. 0 or negative errno. */
int gateway_limit_sends(int control);

void gateway_say_ready(const struct gateway *g, size_t n_sandboxes);
void gateway_record_policy(const struct gateway *g, const struct tenant *t);
void gateway_record_worker(const struct gateway *g);
void gateway_record_end(const struct gateway *g);

#endif
