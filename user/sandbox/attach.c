/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: the target is examined and nothing of it touched (target.c). Then
 *   1. programs load, the worker starts, the listeners open in the target's network namespace;
 *   2. the policy stands in the maps and the settings say `halted`: with the links everything is
 *      refused, for the user that is meant if it is for one alone;
 *   3. the sockets from before are judged (sweep.c);
 *   4. the worker serves, the start is on record: the settings let the policy decide.
 * A failure on the way, a socket that nothing covers among them, takes it all down again: the target is
 * as it was. So does the end; a killed supervisor leaves the links, and everything refused.
 */
#include "attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "background.h"
#include "notify.h"
#include "prepare.h"
#include "record.h"
#include "stage.h"
#include "supervise.h"
#include "sweep.h"
#include "target.h"

#define WHY_BYTES 512

struct attachment {
	struct sandbox sb;
	struct target target;
	struct sweep_result swept;
	bool has_own_addrs; /* lo of the target's namespace got ours */
	bool is_on_record;
	int caller; /* whoever waits for us to be in the background; -1 */
};

/* --- the target and its user */

static int find_target(struct attachment *a)
{
	const struct sandbox_options *o = a->sb.options;
	const struct target_plan plan = {
		.cgroup_path = o->cgroup_path,
		.pid = o->pid,
		.pod_uid = o->pod_uid,
		.name = a->sb.name,
		.has_uid = a->sb.settings.flags & NEJ_F_SCOPE_UID,
		.uid = a->sb.settings.scope_uid,
		.is_everywhere = o->is_uid_guard,
	};
	char why[WHY_BYTES] = "";
	int r = target_find(&plan, &a->target, why, sizeof(why));

	a->sb.cgroup = a->target.cgroup;
	if (r < 0) {
		log_error("%s", why);
		return SANDBOX_EXIT_USAGE;
	}
	a->sb.is_leftover = a->target.is_leftover;
	a->sb.is_shared_net = a->target.net != TARGET_NET_NONE;
	a->sb.target_pid = a->target.pid;
	a->sb.netns_fd = a->target.netns_fd;
	snprintf(a->sb.container, sizeof(a->sb.container), "%s",
		o->container ? o->container : a->target.container);
	return 0;
}

/* -u: the one whose sockets are meant. */
static int find_user(struct attachment *a)
{
	struct sandbox *sb = &a->sb;
	char why[WHY_BYTES];
	int r;

	if (!sb->options->user)
		return 0;
	r = identity_find(sb->options->user, sb->name, &sb->id, why, sizeof(why));
	if (r < 0) {
		log_error("-u %s: %s", sb->options->user,
			r == -EPERM ? "root can become any other user, so it cannot be confined as "
				      "one: leave -u out to confine all"
				    : why);
		return SANDBOX_EXIT_USAGE;
	}
	sb->settings.flags |= NEJ_F_SCOPE_UID;
	sb->settings.scope_uid = sb->id.uid;
	return 0;
}

/* Without -u: whose processes are there, for the records and the worker. */
static int find_owner(struct attachment *a)
{
	int r = a->sb.options->user ? 0 : identity_of(a->target.uid, a->sb.name, &a->sb.id);

	return r < 0 ? stage_failed(r, "no user for the worker") : 0;
}

static void warn_of_policy(const struct sandbox *sb)
{
	if (policy_inspects(sb->policy))
		log_notice("the policy looks inside TLS: programs must be told to trust " STATE_ROOT
			   "/%s/ca.pem, which a running process cannot be",
			sb->name);
}

/* --- parts */

static int open_listeners(struct attachment *a)
{
	struct netns_listeners *l = &a->sb.listeners;
	int r = a->target.net == TARGET_NET_HOST ? netns_listen_here(l)
						 : netns_listen_among(a->target.netns_fd, l);

	return r < 0 ? stage_failed(r, "cannot listen in the network namespace of the target") : 0;
}

/* A namespace with nothing but lo: what AI_ADDRCONFIG wants to see. */
static int set_up_lo(struct attachment *a)
{
	int r;

	if (a->target.net != TARGET_NET_NONE)
		return 0;
	a->has_own_addrs = true;
	r = netns_set_up_lo(a->target.netns_fd);
	return r < 0 ? stage_failed(r, "cannot bring lo up in the network namespace of the target")
		     : 0;
}

/* Everything is refused from here on, without an opening between this and the policy. */
static int close_gate(struct sandbox *sb)
{
	int r;

	sb->settings.flags |= NEJ_F_HALTED;
	r = stage_enforce(sb);
	sb->settings.flags &= ~(uint32_t)NEJ_F_HALTED;
	return r ? r : stage_hook(sb);
}

/* --- what was there before */

static void on_cut(void *arg, const struct audit_event *event)
{
	struct sandbox *sb = arg;
	struct audit_event of_sandbox = *event;

	of_sandbox.generation = sb->generation;
	audit_sink_add(sb->sink, &of_sandbox);
}

static int judge_sockets(struct attachment *a)
{
	struct sandbox *sb = &a->sb;
	const uint16_t ports[] = {
		sb->listeners.proxy_port, sb->listeners.eager_port, sb->listeners.stub_port, 0};
	const struct sweep_plan plan = {
		.occasion = SWEEP_ATTACH,
		.generation = sb->settings.generation,
		.cgroup = &sb->cgroup,
		.policy = sb->policy,
		.object = sb->object,
		.netns_fd = a->target.netns_fd,
		.has_uid = sb->settings.flags & NEJ_F_SCOPE_UID,
		.uid = sb->settings.scope_uid,
		.is_everywhere = sb->options->is_uid_guard,
		.port_be = sb->settings.proxy_port_be,
		.own_ports = ports,
		.on_cut = on_cut,
		.arg = sb,
	};
	char why[SWEEP_WHY_BYTES] = "";
	int r = sweep(&plan, &a->swept, why);

	if (r == -EPERM) {
		log_error("%s", why);
		return SANDBOX_EXIT_FAILED;
	}
	if (r < 0)
		return stage_failed(r, "cannot judge the sockets that are open already");
	/* Loopback is not the sandbox's own where others listen on it. */
	if (a->swept.has_strangers) {
		sb->is_shared_net = true;
		sb->settings.flags &= ~(uint32_t)NEJ_F_OWN_NETNS;
	}
	return 0;
}

/* What stays open, for whoever reads it. */
static void report(const struct attachment *a)
{
	const struct sweep_result *s = &a->swept;

	if (s->n_silenced)
		log_warning("%u connections could not be ended (CONFIG_INET_DIAG_DESTROY): nothing "
			    "of theirs passes any more, but they are not told",
			s->n_silenced);
	if (s->n_unreadable)
		log_warning("%u descriptors could not be looked at (pidfd_getfd, Linux 5.6): a "
			    "socket that was passed in from outside would not be seen",
			s->n_unreadable);
	if (s->n_elsewhere)
		log_warning("processes or sockets are in %u other network namespaces: from there "
			    "nothing reaches nej's proxy, so nothing at all; --pid names the "
			    "process whose namespace is meant",
			s->n_elsewhere);
	if (a->target.n_raw && a->target.net != TARGET_NET_NONE)
		log_warning("%u processes have CAP_NET_RAW: packet sockets (AF_PACKET) pass every "
			    "hook; start them without it (--cap-drop NET_RAW)",
			a->target.n_raw);
	if (!(a->sb.settings.flags & NEJ_F_UNIX_PRIVATE))
		log_warning("this kernel has no connect_unix hook (6.7): Unix sockets of the host "
			    "that the processes can see, such as a container engine's, are open "
			    "to them");
	log_notice("%s is enforced on %s%s%s: %u connections ended, %u go on", a->sb.name,
		a->sb.cgroup.path, a->sb.container[0] ? ", container " : "", a->sb.container,
		s->n_cut, s->n_kept);
}

/* --- all of it */

static int prepare_attachment(struct attachment *a)
{
	int r = prepare_begin(&a->sb);

	if (!r)
		r = find_user(a);
	if (!r)
		r = find_target(a);
	if (!r)
		r = find_owner(a);
	if (!r)
		r = prepare_rest(&a->sb);
	if (!r)
		warn_of_policy(&a->sb);
	return r;
}

static int start_parts(struct attachment *a, struct stage_loading *loading)
{
	struct sandbox *sb = &a->sb;
	int r = stage_open_anchors(sb);

	if (!r)
		r = stage_load(loading, sb);
	if (!r)
		r = stage_open_audit(sb);
	if (!r)
		r = set_up_lo(a);
	if (!r)
		r = open_listeners(a);
	if (!r)
		r = stage_start_worker(sb);
	if (!r)
		r = stage_loaded(loading);
	stage_join(loading);
	return r;
}

static int start(struct attachment *a)
{
	struct sandbox *sb = &a->sb;
	struct stage_loading loading = {.sb = sb};
	/* Whoever unmounts where we were started must not find it busy. All paths are whole by now. */
	int r = chdir("/") < 0 ? stage_failed(-errno, "/") : start_parts(a, &loading);

	if (!r)
		r = stage_apply(sb);
	if (!r)
		r = stage_record(sb);
	a->is_on_record = !r;
	if (!r)
		r = close_gate(sb);
	if (!r)
		r = judge_sockets(a);
	if (!r)
		r = stage_finish_worker(sb);
	audit_sink_flush(sb->sink);
	if (!r)
		r = stage_describe(sb);
	return r ? r : stage_enforce(sb);
}

static void take_apart(struct attachment *a)
{
	if (a->is_on_record) {
		record_finished(&a->sb);
		audit_sink_flush(a->sb.sink);
	}
	stage_take_apart(&a->sb);
	if (a->has_own_addrs && netns_tidy_lo(a->target.netns_fd) < 0)
		log_warning("the two addresses that lo got stay");
	if (a->target.netns_fd >= 0)
		close(a->target.netns_fd);
}

/* Whoever waits may go on, and ask for anything: a detach, a halt. */
static void on_ready(void *arg)
{
	struct attachment *a = arg;

	report(a);
	background_ready(a->caller);
	notify_ready();
}

int attach(const struct sandbox_options *options)
{
	static struct attachment a = {.target.netns_fd = -1, .caller = -1};
	int r;

	stage_close_inherited();
	stage_begin(&a.sb, options);
	a.sb.is_attached = true;
	if (options->is_background) {
		r = background_begin(&a.caller);
		if (r >= 0)
			return r;
	}
	supervise_block_signals(&a.sb);
	r = prepare_attachment(&a);
	if (!r)
		r = start(&a);
	if (!r) {
		r = supervise(&a.sb, on_ready, &a) < 0 ? SANDBOX_EXIT_FAILED : 0;
	}
	take_apart(&a);
	return r;
}
