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

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "environment.h"
#include "prepare.h"
#include "record.h"
#include "stage.h"
#include "supervise.h"

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
		stage_failed(r, "cannot make a cgroup");
		return SANDBOX_EXIT_MISSING;
	}
	/* Links on another cgroup than ours: taking them over would let its processes go. */
	if (is_pinned && !is_old) {
		log_error("a dead supervisor of `nej attach -n %s` left processes cut off: choose "
			  "another name, or `nej detach %s`",
			sb->name, sb->name);
		return SANDBOX_EXIT_FAILED;
	}
	sb->is_leftover = is_old || is_pinned;
	return 0;
}

/* Before anything is in it. */
static int set_resources(struct sandbox *sb)
{
	char why[RESOURCES_WHY_BYTES];
	int r = resources_set(&sb->cgroup, sb->options->limits, why);

	if (r >= 0)
		return 0;
	log_error("%s", why);
	return SANDBOX_EXIT_MISSING;
}

static void tell_resources(struct sandbox *sb)
{
	resources_events(&sb->cgroup, &sb->resources);
	if (sb->resources.n_oom_kills)
		log_error("%s needed more than its --memory: all of it was killed", sb->name);
	if (sb->resources.n_pids_refused)
		log_warning("%s could not make %llu processes or threads more than its --pids",
			sb->name, (unsigned long long)sb->resources.n_pids_refused);
}

/* --- the parts */

/* In the host's namespace before there is an init: its environment names the ports. */
static int open_listeners_here(struct sandbox *sb)
{
	int r = sb->is_shared_net ? netns_listen_here(&sb->listeners) : 0;

	return r < 0 ? stage_failed(r, "no free port outside net.ipv4.ip_local_port_range") : 0;
}

static int open_listeners(struct sandbox *sb)
{
	char path[64];
	_cleanup_close_ int ns = -1;
	int r;

	if (sb->is_shared_net)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", sb->init.pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	r = ns < 0 ? -errno : netns_listen_in(ns, &sb->listeners);
	return r < 0 ? stage_failed(r, "cannot listen inside the sandbox") : 0;
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
		.workspace = sb->workspace.n_writable ? &sb->workspace : NULL,
		.cwd = sb->cwd[0] ? sb->cwd : NULL,
	};
	struct environment_facts facts = {
		.sandbox = sb->name,
		.user = sb->id.name,
		.home = sb->id.home,
		.shell = sb->id.is_own ? sb->id.shell : NULL,
		.proxy_port = sb->is_shared_net ? sb->listeners.proxy_port : NETNS_PROXY_PORT,
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
		.wants_netns = !sb->is_shared_net,
		.wants_terminal = terminal_wants_command(&sb->terminal),
		.signals = sb->signals,
	};
	int r = plan.env && unix_open && files ? spawn_init(&plan, sb->joins_itself, &sb->init)
					       : -ENOMEM;

	environment_free(plan.env);
	if (r < 0) {
		stage_failed(
			r, "cannot make a sandbox's first process (pid, mount and ipc namespaces)");
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
static int expect_namespaces(struct sandbox *sb, struct stage_loading *l)
{
	char what[120];
	int r = spawn_expect(&sb->init, INIT_NAMESPACES, NULL, what);

	if (r == -EPIPE) {
		stage_join(l);
		spawn_done(&sb->init);
		sb->joins_itself = true;
		r = start_init(sb);
		if (r)
			return r;
		r = spawn_expect(&sb->init, INIT_NAMESPACES, NULL, what);
	}
	if (r >= 0)
		return 0;
	stage_failed(r, what);
	return SANDBOX_EXIT_MISSING;
}

static int go(struct sandbox *sb)
{
	char what[120] = "";
	int r = spawn_expect(&sb->init, INIT_MASKED, NULL, what);

	if (r < 0) {
		log_error("cannot mask the file system (%s): %s", what, strerror(-r));
		return SANDBOX_EXIT_FAILED;
	}
	r = stage_record(sb);
	if (!r)
		r = stage_describe(sb);
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
	struct stage_loading loading = {.sb = sb};
	int r = open_cgroup(sb);

	if (!r)
		r = set_resources(sb);
	if (!r)
		r = open_listeners_here(sb);
	if (!r)
		r = stage_open_anchors(sb);
	if (!r)
		r = start_init(sb);
	if (!r)
		r = stage_load(&loading, sb);
	if (!r)
		r = stage_open_audit(sb);
	if (!r)
		r = expect_namespaces(sb, &loading);
	if (!r)
		r = open_listeners(sb);
	if (!r)
		r = stage_start_worker(sb);
	if (!r)
		r = stage_loaded(&loading);
	stage_join(&loading);
	if (!r)
		r = stage_hook(sb);
	if (!r)
		r = stage_apply(sb);
	if (!r)
		r = stage_enforce(sb);
	if (!r)
		r = stage_finish_worker(sb);
	return r ? r : go(sb);
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
	static struct sandbox sb;
	int r;

	stage_close_inherited();
	stage_begin(&sb, options);
	sb.is_shared_net = options->is_host_net;
	supervise_block_signals(&sb);
	r = prepare(&sb);
	if (!r) {
		terminal_open(&sb.terminal);
		r = start(&sb);
	}
	if (!r && supervise(&sb, NULL, NULL) < 0)
		r = SANDBOX_EXIT_FAILED;
	if (!r) {
		tell_resources(&sb);
		record_finished(&sb);
		audit_sink_flush(sb.sink);
	}
	stage_take_apart(&sb);
	return r ? r : pass_status_on(sb.wait_status);
}
