/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: nothing is open between the stages, and what takes long runs side by side.
 *   1. prepare.c decides. What an earlier supervisor of the name left is ended.
 *   2. init is cloned into the new cgroup (while we have one thread) and makes its namespaces and
 *      masks, while a thread loads the BPF programs, and the worker starts with its listeners.
 *   3. Links are attached and pinned: settings of zero deny everything. The policy goes into the
 *      maps, the settings become active.
 *   4. The worker has locked itself in, the start is on record: only now init gets the word to go.
 * A failure anywhere before takes all of it down and nothing has run.
 */
#include "launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../kernel/apply.h"
#include "describe.h"
#include "environment.h"
#include "equip.h"
#include "prepare.h"
#include "record.h"
#include "state.h"
#include "supervise.h"

#define KEY_PATH "/var/lib/nej/audit.key"
#define ROTATE_BYTES (256ull << 20)
#define ROTATE_KEEP 8
#define WORKER_READY_MS 20000

static int failed(int err, const char *what)
{
	log_error("%s: %s", what, strerror(-err));
	return SANDBOX_EXIT_FAILED;
}

/* --- what an earlier supervisor left */

static int open_cgroup(struct sandbox *sb)
{
	bool is_old, is_pinned = object_is_pinned(sb->name);
	int r = cgroup_open(sb->name, &sb->cgroup, &is_old);

	if (r == -ENOENT) {
		log_error("cgroup2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup/unified");
		return SANDBOX_EXIT_MISSING;
	}
	if (r < 0) {
		failed(r, "cannot make a cgroup");
		return SANDBOX_EXIT_MISSING;
	}
	sb->is_leftover = is_old || is_pinned;
	return 0;
}

/* Rings of a dead supervisor hold what it could not write any more. */
static int open_rings(struct sandbox *sb)
{
	char path[PATH_MAX], file[32];
	uint64_t n_records = 0;
	bool is_leftover = sb->is_leftover;

	for (unsigned int i = 0; i < HANDOFF_MAX_THREADS; i++)
		sb->companion_plan.ring_fds[i] = -1;
	for (unsigned int i = 0; i < sb->options->n_threads; i++) {
		bool is_old = false;
		int r;

		snprintf(file, sizeof(file), "ring.%u", i);
		state_path(sb->name, file, path, sizeof(path));
		r = audit_ring_create(path, &sb->rings[i], &is_old);
		if (r < 0)
			return failed(r, path);
		is_leftover |= is_old;
		while (is_old && audit_ring_has_more(sb->rings[i]))
			n_records += (uint64_t)audit_sink_drain(sb->sink, sb->rings[i]);
		sb->companion_plan.ring_fds[i] = audit_ring_fd(sb->rings[i]);
	}
	sb->has_rings = true;
	if (is_leftover) {
		log_notice("an earlier supervisor of %s died: what it left is taken over and ended",
			sb->name);
		record_adopted(sb, n_records);
	}
	return 0;
}

static int open_audit(struct sandbox *sb)
{
	struct audit_sink_options options = {
		.path = sb->audit_path,
		.sandbox = sb->name,
		.key_path = KEY_PATH,
		.rotate_bytes = ROTATE_BYTES,
		.rotate_keep = ROTATE_KEEP,
	};
	int r = audit_sink_open(&options, &sb->sink);

	if (r == -EBUSY) {
		log_error("the audit log %s is written by another sandbox", sb->audit_path);
		return SANDBOX_EXIT_FAILED;
	}
	if (r < 0)
		return failed(r, sb->audit_path);
	/* What a dead supervisor left was decided by another policy: its records name none. */
	r = open_rings(sb);
	audit_sink_set_policy(
		sb->sink, sb->generation, policy_sha256(sb->policy), prepare_lookup, sb);
	return r;
}

/* --- the parts */

struct loading {
	struct sandbox *sb;
	pthread_t thread;
	bool is_started;
	int result;
	struct object_error error;
};

static void *load(void *arg)
{
	struct loading *l = arg;

	object_collect(); /* pins of sandboxes whose cgroup is gone */
	l->result = object_load(l->sb->name, &l->sb->object, &l->error);
	/* The host's abstract sockets are in reach where its network namespace is; paths are masked. */
	if (l->result >= 0 && l->sb->options->is_host_net && object_load_unix(l->sb->object) == 0)
		l->sb->settings.flags |= NEJ_F_UNIX_PRIVATE;
	return NULL;
}

static int explain(int err, const struct object_error *error)
{
	log_error("%s: %s", error->what[0] ? error->what : strerror(-err), error->mend);
	return SANDBOX_EXIT_MISSING;
}

static int attach(struct sandbox *sb, struct loading *l)
{
	int r;

	if (l->is_started)
		pthread_join(l->thread, NULL);
	l->is_started = false;
	if (l->result < 0)
		return explain(l->result, &l->error);
	r = object_attach(sb->object, sb->cgroup.fd, &l->error);
	if (r < 0)
		return explain(r, &l->error);
	sb->settings.generation = sb->generation;
	sb->settings.flags |= NEJ_F_ACTIVE;
	if (!sb->options->is_host_net)
		sb->settings.flags |= NEJ_F_OWN_NETNS;
	if (!(sb->listeners.has & 1u << HANDOFF_PROXY6))
		sb->settings.flags |= NEJ_F_V4_ONLY;
	if (policy_denies_inbound(sb->policy))
		sb->settings.flags |= NEJ_F_INBOUND_DENY;
	sb->settings.cgroup_id = sb->cgroup.id;
	sb->settings.proxy_port_be = htons(sb->listeners.proxy_port);
	sb->settings.eager_port_be = htons(sb->listeners.eager_port);
	sb->settings.stub_port_be = htons(sb->listeners.stub_port);
	sb->settings.deny_errno = EACCES;
	r = apply_policy(sb->object, sb->policy, &sb->settings);
	if (r == -ENOSPC) {
		log_error("the policy has more ports or ranges than the kernel maps hold");
		return SANDBOX_EXIT_USAGE;
	}
	if (r >= 0)
		r = object_settings(sb->object, &sb->settings);
	return r < 0 ? failed(r, "cannot write the policy into the kernel maps") : 0;
}

/* In the host's namespace before there is an init: its environment names the ports. */
static int open_listeners_here(struct sandbox *sb)
{
	int r = sb->options->is_host_net ? netns_listen_here(&sb->listeners) : 0;

	return r < 0 ? failed(r, "no free port outside net.ipv4.ip_local_port_range") : 0;
}

static int open_listeners(struct sandbox *sb)
{
	char path[64];
	_cleanup_close_ int ns = -1;
	int r;

	if (sb->options->is_host_net)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", sb->init.pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	r = ns < 0 ? -errno : netns_listen_in(ns, &sb->listeners);
	return r < 0 ? failed(r, "cannot listen inside the sandbox") : 0;
}

static int start_worker(struct sandbox *sb)
{
	int r = equip_worker(sb);

	if (r >= 0)
		r = equip_start(sb);
	return r < 0 ? failed(r, "cannot start the worker") : 0;
}

static int finish_worker(struct sandbox *sb)
{
	_cleanup_close_ int flows = object_flows_fd(sb->object);
	struct companion_ready ready;
	int r = flows < 0 ? flows : companion_give_flows(&sb->worker, flows);

	if (r >= 0)
		r = companion_wait_ready(&sb->worker, WORKER_READY_MS, &ready);
	if (r < 0)
		return failed(r, "the worker does not start");
	r = equip_finish(sb, &ready);
	return r < 0 ? failed(r, "cannot write the trust files") : 0;
}

static int open_anchors(struct sandbox *sb)
{
	int r = policy_inspects(sb->policy) ? anchors_open(&sb->anchors, sb->name) : 0;

	return r < 0 ? failed(r, "cannot make the trust files in " STATE_ROOT) : 0;
}

/* --- the command */

/* The policy's open sockets as a list; the array is the caller's to free. */
static const char **list_open_sockets(const struct policy *p)
{
	size_t n = 0;
	const char **list;

	while (policy_unix_path(p, n))
		n++;
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		list[i] = policy_unix_path(p, i);
	return list;
}

/* Files that would tell the sandbox what is not for it. */
static const char **list_hidden_files(const struct sandbox *sb)
{
	const char **list = calloc(sb->secrets.n + 3, sizeof(*list));
	size_t n = 0;

	if (!list)
		return NULL;
	if (sb->policy_path[0])
		list[n++] = sb->policy_path;
	list[n++] = sb->audit_path;
	for (size_t i = 0; i < sb->secrets.n; i++)
		if (policy_secret_source(sb->policy, i) == POLICY_SOURCE_FILE)
			list[n++] = policy_secret_arg(sb->policy, i, 0);
	return list;
}

/* A JVM whose own store is covered needs no variable; one that nej does not know of does. */
static void ignore(void *arg, const char *path)
{
	(void)arg;
	(void)path;
}

static int start_init(struct sandbox *sb)
{
	_cleanup_free_ const char **unix_open = list_open_sockets(sb->policy);
	_cleanup_free_ const char **files = list_hidden_files(sb);
	struct mask_plan mask = {
		.id = &sb->id,
		.files = files,
		.anchors_of = policy_inspects(sb->policy) ? sb->name : NULL,
		.unix_open = unix_open,
		.cwd = sb->cwd[0] ? sb->cwd : NULL,
	};
	struct environment_facts facts = {
		.sandbox = sb->name,
		.user = sb->id.name,
		.home = sb->id.home,
		.shell = sb->id.is_own ? sb->id.shell : NULL,
		.proxy_port =
			sb->options->is_host_net ? sb->listeners.proxy_port : NETNS_PROXY_PORT,
		.has_anchors = policy_inspects(sb->policy),
		.wants_java = policy_inspects(sb->policy) && !anchors_each_java(ignore, NULL),
	};
	struct init_plan plan = {
		.id = &sb->id,
		.mask = &mask,
		.argv = sb->options->argv,
		.env = environment_make(environ, &facts),
		.cgroup_fd = sb->cgroup.fd,
		.tty_fd = sb->terminal.fd,
		.wants_netns = !sb->options->is_host_net,
		.wants_terminal = terminal_wants_command(&sb->terminal),
		.signals = sb->signals,
	};
	int r = plan.env && unix_open && files ? spawn_init(&plan, sb->joins_itself, &sb->init)
					       : -ENOMEM;

	environment_free(plan.env);
	if (r < 0) {
		failed(r, "cannot make a sandbox's first process (pid, mount and ipc namespaces)");
		return SANDBOX_EXIT_MISSING;
	}
	sb->terminal.is_given = plan.wants_terminal;
	return 0;
}

/*
 * Since 6.13 the kernel kills who is cloned into a cgroup whose kill count differs from that of our
 * own cgroup: ours was emptied by cgroup.kill once. Then init joins by itself, which is slower. Only
 * with one thread may we clone, so the loading comes to its end first.
 */
static int expect_namespaces(struct sandbox *sb, struct loading *l)
{
	char what[120];
	int r = spawn_expect(&sb->init, INIT_NAMESPACES, NULL, what);

	if (r == -EPIPE) {
		pthread_join(l->thread, NULL);
		l->is_started = false;
		spawn_done(&sb->init);
		sb->joins_itself = true;
		r = start_init(sb);
		if (r)
			return r;
		r = spawn_expect(&sb->init, INIT_NAMESPACES, NULL, what);
	}
	if (r >= 0)
		return 0;
	failed(r, what);
	return SANDBOX_EXIT_MISSING;
}

static int write_state(struct sandbox *sb)
{
	int r;

	sb->started_us = clock_real_us();
	r = describe(sb);
	return r < 0 ? failed(r, "cannot write " STATE_ROOT) : 0;
}

/* The start is on record before anything runs. */
static int put_start_on_record(struct sandbox *sb)
{
	record_started(sb);
	audit_sink_flush(sb->sink);
	if (!audit_sink_is_failed(sb->sink) || !policy_fails_closed(sb->policy))
		return 0;
	log_error("the audit log %s cannot be written", sb->audit_path);
	return SANDBOX_EXIT_FAILED;
}

static int go(struct sandbox *sb)
{
	char what[120] = "";
	int r = spawn_expect(&sb->init, INIT_MASKED, NULL, what);

	if (r < 0) {
		log_error("cannot mask the file system (%s): %s", what, strerror(-r));
		return SANDBOX_EXIT_FAILED;
	}
	r = put_start_on_record(sb);
	if (!r)
		r = write_state(sb);
	if (r)
		return r;
	terminal_lend_streams(&sb->terminal, sb->id.uid);
	r = init_send(sb->init.socket, INIT_GO, 0, sb->anchors.hash, -1);
	if (r >= 0)
		r = spawn_expect(&sb->init, INIT_READY, &sb->refused_fd, what);
	if (r < 0) {
		log_error("cannot confine the command (%s): %s", what, strerror(-r));
		return SANDBOX_EXIT_FAILED;
	}
	terminal_let_go_of_streams();
	return 0;
}

/* --- all of it */

static int start(struct sandbox *sb)
{
	struct loading loading = {.sb = sb};
	int r = open_cgroup(sb);

	if (!r)
		r = open_listeners_here(sb);
	if (!r)
		r = open_anchors(sb);
	if (!r)
		r = start_init(sb);
	if (!r) {
		r = -pthread_create(&loading.thread, NULL, load, &loading);
		loading.is_started = r == 0;
		r = r < 0 ? failed(r, "a thread") : 0;
	}
	if (!r)
		r = open_audit(sb);
	if (!r)
		r = expect_namespaces(sb, &loading);
	if (!r)
		r = open_listeners(sb);
	if (!r)
		r = start_worker(sb);
	if (!r)
		r = attach(sb, &loading);
	if (loading.is_started)
		pthread_join(loading.thread, NULL);
	if (!r)
		r = finish_worker(sb);
	return r ? r : go(sb);
}

static void take_apart(struct sandbox *sb)
{
	spawn_done(&sb->init);
	companion_stop(&sb->worker, 0);
	terminal_take_back(&sb->terminal);
	terminal_return_streams(&sb->terminal);
	for (size_t i = 0; i < HANDOFF_MAX_THREADS; i++)
		if (sb->rings[i])
			audit_ring_close(sb->rings[i]);
	if (sb->sink)
		audit_sink_close(sb->sink);
	object_free(sb->object);
	if (sb->cgroup.fd >= 0 && cgroup_kill(&sb->cgroup) == 0)
		cgroup_remove(&sb->cgroup);
	cgroup_close(&sb->cgroup);
	netns_listeners_close(&sb->listeners);
	secrets_done(&sb->secrets);
	anchors_done(&sb->anchors);
	policy_free(sb->policy);
	if (sb->lock_fd >= 0)
		state_remove(sb->name, !sb->has_rings);
	identity_done(&sb->id);
}

/* Ends as the command did, so that a shell sees an interrupted loop as interrupted. */
static int pass_status_on(int status)
{
	struct rlimit no_core = {0, 0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int launch(const struct sandbox_options *options)
{
	static struct sandbox sb = {
		.lock_fd = -1,
		.id.slot_fd = -1,
		.cgroup.fd = -1,
		.worker = {0, -1, -1},
		.init = {0, -1, -1},
		.terminal.fd = -1,
		.refused_fd = -1,
		.anchors.fds = {-1, -1, -1},
		.companion_plan.secrets_fd = -1,
		.companion_plan.roots_fd = -1,
	};
	int r;

	/* what our caller left open is neither the worker's nor the command's */
	syscall(SYS_close_range, 3, ~0u, 0);
	sb.options = options;
	memset(sb.listeners.fds, -1, sizeof(sb.listeners.fds));
	supervise_block_signals(&sb);
	r = prepare(&sb);
	if (!r) {
		terminal_open(&sb.terminal);
		r = start(&sb);
	}
	if (!r && supervise(&sb) < 0)
		r = SANDBOX_EXIT_FAILED;
	if (!r) {
		record_finished(&sb);
		audit_sink_flush(sb.sink);
	}
	take_apart(&sb);
	return r ? r : pass_status_on(sb.wait_status);
}
