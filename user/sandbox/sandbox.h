/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that one running sandbox is made of, in the supervisor. launch.c fills it stage by stage and
 * takes it apart; supervise.c runs it. Plain data with one owner.
 */
#ifndef NEJ_SANDBOX_SANDBOX_H
#define NEJ_SANDBOX_SANDBOX_H

#include <limits.h>
#include <stdbool.h>

#include "../audit/ring.h"
#include "../audit/sink.h"
#include "../kernel/object.h"
#include "../policy/policy.h"
#include "anchors.h"
#include "cgroup.h"
#include "companion.h"
#include "grants.h"
#include "identity.h"
#include "options.h"
#include "resources.h"
#include "secrets.h"
#include "spawn.h"
#include "terminal.h"

struct sandbox {
	const struct sandbox_options *options;
	char name[64];
	char policy_path[PATH_MAX]; /* resolved; empty: everything is denied */
	char audit_path[PATH_MAX];
	char cwd[PATH_MAX]; /* empty: not to be had */
	int lock_fd;
	struct identity id;
	struct policy *policy;
	struct grants grants;
	struct policy *policy_before; /* records of it may still come; NULL */
	bool is_attached;             /* to processes that were there before: there is no init */
	bool is_shared_net;           /* loopback is not the sandbox's own */
	bool is_halted, is_audit_failed;
	bool is_broken; /* halted by the canary: it did not refuse what it must */
	uint64_t canary_refused
		[NEJ_REASON_COUNT]; /* by the kernel; in its counters, not on record */
	bool can_tls;               /* the worker was started with TLS at all */
	bool can_inspect;           /* started with an authority, and programs that trust it */
	struct secrets secrets;
	struct workspace workspace;
	struct anchors anchors; /* if the policy inspects */
	char container[65];     /* id of what was attached to; empty */
	pid_t target_pid;       /* one of its processes; 0 */
	int netns_fd;           /* of what was attached to; -1: nej's own, or nothing leaves it */
	uint32_t generation;
	uint64_t started_us; /* CLOCK_REALTIME */
	struct cgroup cgroup;
	bool is_leftover; /* an earlier supervisor of this name died */
	struct object *object;
	struct nej_settings settings;
	struct audit_sink *sink;
	struct audit_ring *rings[HANDOFF_MAX_THREADS];
	bool has_rings; /* all are open, and what was left in them is in the log */
	struct netns_listeners listeners;
	struct companion_plan companion_plan;
	struct handoff_state *state; /* shared with the worker, which only reads */
	const struct meter
		*meters; /* HANDOFF_MAX_THREADS, which the worker writes: numbers, no more */
	struct companion worker;
	struct spawn init;
	bool joins_itself; /* init is not cloned into the cgroup */
	struct terminal terminal;
	int refused_fd;               /* of the command's filter; -1 */
	uint64_t n_families, n_types; /* sockets its filter refused, when it has ended */
	sigset_t signals;             /* mask at start, the command's */
	const char *ended_by;         /* what let an attach go, or ended a command; NULL: itself */
	struct resources_events resources;
	int wait_status; /* of the command, when it has ended */
};

#endif
