/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockets that go out past the proxy, judged by the policy: those that processes had before nej
 * came to them, or, at a reload and a halt, those that the kernel let straight out. What it allows goes
 * on, what it forbids ends. Read held.h and kernel/sockdiag.h for how sockets are found.
 */
#ifndef NEJ_SANDBOX_SWEEP_H
#define NEJ_SANDBOX_SWEEP_H

#include "../audit/event.h"
#include "../kernel/object.h"
#include "../policy/policy.h"
#include "held.h"

#define SWEEP_WHY_BYTES 256

enum sweep_occasion {
	SWEEP_ATTACH, /* meanwhile the cgroup's programs refuse everything, so nothing comes after it */
	SWEEP_RELOAD, /* the new policy is in the maps; its generation is not yet in the settings */
	SWEEP_CUT,    /* halted, and the worker has ended its part: what still leads to own_ports */
	SWEEP_HALT,   /* all that leaves the host ends, whatever the policy says */
};

struct sweep_plan {
	enum sweep_occasion occasion;
	uint32_t generation; /* of the policy */
	const struct cgroup *cgroup;
	const struct policy *policy;
	const struct object *object;
	int netns_fd; /* of the target: looked at even when no process is in it */
	bool has_uid;
	uid_t uid;                 /* only this user's sockets */
	bool is_everywhere;        /* in whatever cgroup */
	uint16_t port_be;          /* of the proxy: the bind hook refuses it */
	const uint16_t *own_ports; /* where our listeners are; ends with 0 */
	void (*on_cut)(void *arg, const struct audit_event *event); /* may be NULL */
	void *arg;
};

struct sweep_result {
	unsigned int n_kept; /* connections that go on */
	unsigned int n_cut;
	unsigned int n_silenced;   /* could not be ended: they just send and get nothing any more */
	unsigned int n_unreadable; /* descriptors that could not be looked at */
	unsigned int
		n_elsewhere; /* network namespaces besides the target's: of processes, of sockets */
	bool has_strangers;  /* others listen, or may, on a loopback that it reaches */
};

/* 0; -EPERM with a sentence why: a process holds a socket that no hook covers, and nothing was cut;
 * other negative errno. The calling thread is in its own network namespace again. */
int sweep(
	const struct sweep_plan *plan, struct sweep_result *ret, char why[static SWEEP_WHY_BYTES]);

#endif
