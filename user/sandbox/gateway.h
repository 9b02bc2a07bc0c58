/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `nej gateway`: a forward proxy for many sandboxes, each with its own policy and password. This is
 * the supervisor: it reads the folder, listens, writes the audit log, and starts the worker, which
 * does the rest (gatehouse.c).
 */
#ifndef NEJ_SANDBOX_GATEWAY_H
#define NEJ_SANDBOX_GATEWAY_H

#include "handoff.h"

#define GATEWAY_COMMAND "gateway-worker" /* the worker's, hidden */
#define GATEWAY_NAME "+gateway"          /* whose records are no sandbox's; none can be called so */

struct gateway_options {
	struct endpoint listen[HANDOFF_LISTENER_COUNT];
	size_t n_listen;
	const char *policies;   /* the folder */
	const char *audit_path; /* NULL: /var/log/nej/gateway.jsonl */
	const char *user;       /* whom the worker becomes: name or uid; NULL: one of its own */
	const char *tls_cert, *tls_key; /* PEM files; NULL: plain HTTP */
	struct endpoint resolvers[HANDOFF_MAX_SERVERS];
	size_t n_resolvers;
};

/* Serves until it is told to end; an exit status. */
int gateway_run(const struct gateway_options *options);

#endif
