/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker as the supervisor sees it: an exec of ourselves that gets the descriptors of
 * handoff.h. The map of flows comes later over the control socket, so that its start overlaps with
 * the loading of the BPF programs. What it does is runtime.c's.
 */
#ifndef NEJ_SANDBOX_COMPANION_H
#define NEJ_SANDBOX_COMPANION_H

#include <sys/types.h>

#include "anchors.h"
#include "handoff.h"
#include "netns.h"

#define COMPANION_COMMAND "worker" /* the hidden command */

struct companion {
	pid_t pid; /* 0: none */
	int pidfd;
	int control; /* SOCK_SEQPACKET */
};

struct companion_plan {
	const char *command; /* hidden command; NULL: COMPANION_COMMAND */
	const char *name;    /* of the sandbox, for ps */
	int settings_fd, state_fd, policy_fd, wake_fd;
	int grants_fd, secrets_fd, roots_fd, meters_fd; /* -1: none */
	int ring_fds[HANDOFF_MAX_THREADS];              /* -1 behind the last */
	const struct netns_listeners *listeners;
};

struct companion_ready {
	size_t ca_len; /* 0: it has no authority */
	uint8_t ca_der[ANCHORS_MAX_DER];
};

/* 0 or negative errno. */
int companion_start(const struct companion_plan *plan, struct companion *ret);
int companion_give_flows(const struct companion *c, int flows_fd);
/* Waits until it serves, locked in. 0, -EPIPE when it ended, -ETIMEDOUT. ret: what it says. */
int companion_wait_ready(const struct companion *c, int timeout_ms, struct companion_ready *ret);
/* Ends it: it writes its last events when the control socket closes; killed when it takes longer
 * than this. Also reaps. */
void companion_stop(struct companion *c, int timeout_ms);

/* The worker's side. take_flows waits and puts the descriptor at a number: 0, or -EPIPE. */
int companion_take_flows(int control, int at_fd);
/* ca_der: the certificate of its authority; NULL when it inspects nothing. */
int companion_say_ready(int control, const void *ca_der, size_t ca_len);

#endif
