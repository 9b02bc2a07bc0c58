/* SPDX-License-Identifier: GPL-2.0-only */
/* Audit log, programs, worker and end of a sandbox; see stage.h. */
#include "stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../kernel/apply.h"
#include "describe.h"
#include "equip.h"
#include "prepare.h"
#include "record.h"
#include "state.h"

#define ROTATE_BYTES (256ull << 20)
#define ROTATE_KEEP 8
#define WORKER_READY_MS 20000

void stage_begin(struct sandbox *sb, const struct sandbox_options *options)
{
	*sb = (struct sandbox){
		.options = options,
		.lock_fd = -1,
		.netns_fd = -1,
		.id.slot_fd = -1,
		.cgroup.fd = -1,
		.worker = {0, -1, -1},
		.init = {0, -1, -1},
		.terminal.fd = -1,
		.refused_fd = -1,
		.anchors.fds = {-1, -1, -1},
		.companion_plan.secrets_fd = -1,
		.companion_plan.roots_fd = -1,
		.companion_plan.meters_fd = -1,
	};
	memset(sb->listeners.fds, -1, sizeof(sb->listeners.fds));
}

void stage_close_inherited(void)
{
	syscall(SYS_close_range, 3, ~0u, 0);
}

int stage_failed(int err, const char *what)
{
	log_error("%s: %s", what, strerror(-err));
	return SANDBOX_EXIT_FAILED;
}

/* --- the log, and what a dead supervisor left */

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
			return stage_failed(r, path);
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

int stage_open_log(struct sandbox *sb)
{
	struct audit_sink_options options = {
		.path = sb->audit_path,
		.sandbox = sb->name,
		.container = sb->container,
		.key_path = AUDIT_KEY_PATH,
		.rotate_bytes = ROTATE_BYTES,
		.rotate_keep = ROTATE_KEEP,
	};
	int r = audit_sink_open(&options, &sb->sink);

	if (r == -EBUSY) {
		log_error("the audit log %s is written by another sandbox", sb->audit_path);
		return SANDBOX_EXIT_FAILED;
	}
	if (r < 0)
		return stage_failed(r, sb->audit_path);
	/* What a dead supervisor left was decided by another policy: its records name none. */
	return open_rings(sb);
}

int stage_open_audit(struct sandbox *sb)
{
	int r = stage_open_log(sb);

	if (r)
		return r;
	audit_sink_set_policy(
		sb->sink, sb->generation, policy_sha256(sb->policy), prepare_lookup, sb);
	return 0;
}

/* --- the programs */

static void *load(void *arg)
{
	struct stage_loading *l = arg;

	object_collect(); /* pins of sandboxes whose cgroup is gone */
	l->result = object_load(l->sb->name, &l->sb->object, &l->error);
	/* The host's abstract sockets are in reach where its network namespace is; paths are masked,
	 * but not for processes that were there before. */
	if (l->result >= 0 && (l->sb->is_shared_net || l->sb->is_attached) &&
		object_load_unix(l->sb->object) == 0)
		l->sb->settings.flags |= NEJ_F_UNIX_PRIVATE;
	return NULL;
}

int stage_load(struct stage_loading *l, struct sandbox *sb)
{
	int r;

	*l = (struct stage_loading){.sb = sb};
	r = -pthread_create(&l->thread, NULL, load, l);
	l->is_started = r == 0;
	return r < 0 ? stage_failed(r, "a thread") : 0;
}

void stage_join(struct stage_loading *l)
{
	if (l->is_started)
		pthread_join(l->thread, NULL);
	l->is_started = false;
}

static int explain(int err, const struct object_error *error)
{
	log_error("%s: %s", error->what[0] ? error->what : strerror(-err), error->mend);
	return SANDBOX_EXIT_MISSING;
}

int stage_loaded(struct stage_loading *l)
{
	stage_join(l);
	return l->result < 0 ? explain(l->result, &l->error) : 0;
}

int stage_hook(struct sandbox *sb)
{
	struct object_error error = {0};
	int r = object_attach(sb->object, sb->cgroup.fd, &error);

	return r < 0 ? explain(r, &error) : 0;
}

int stage_apply(struct sandbox *sb)
{
	struct nej_settings *s = &sb->settings;
	int r;

	s->generation = sb->generation;
	s->flags |= NEJ_F_ACTIVE;
	if (!sb->is_shared_net)
		s->flags |= NEJ_F_OWN_NETNS;
	if (!(sb->listeners.has & 1u << HANDOFF_PROXY6))
		s->flags |= NEJ_F_V4_ONLY;
	s->cgroup_id = sb->cgroup.id;
	s->proxy_port_be = htons(sb->listeners.proxy_port);
	s->eager_port_be = htons(sb->listeners.eager_port);
	s->stub_port_be = htons(sb->listeners.stub_port);
	s->deny_errno = EACCES;
	r = apply_policy(sb->object, sb->policy, s);
	if (r == -ENOSPC) {
		log_error("the policy has more ports or ranges than the kernel maps hold");
		return SANDBOX_EXIT_USAGE;
	}
	return r < 0 ? stage_failed(r, "cannot write the policy into the kernel maps") : 0;
}

int stage_enforce(struct sandbox *sb)
{
	int r = object_settings(sb->object, &sb->settings);

	return r < 0 ? stage_failed(r, "cannot write the settings into the kernel map") : 0;
}

/* --- the worker */

int stage_start_worker(struct sandbox *sb)
{
	int r = equip_worker(sb);

	if (r >= 0)
		r = equip_start(sb);
	return r < 0 ? stage_failed(r, "cannot start the worker") : 0;
}

int stage_finish_worker(struct sandbox *sb)
{
	_cleanup_close_ int flows = object_flows_fd(sb->object);
	struct companion_ready ready;
	int r = flows < 0 ? flows : companion_give_flows(&sb->worker, flows);

	if (r >= 0)
		r = companion_wait_ready(&sb->worker, WORKER_READY_MS, &ready);
	if (r < 0)
		return stage_failed(r, "the worker does not start");
	r = equip_finish(sb, &ready);
	return r < 0 ? stage_failed(r, "cannot write the trust files") : 0;
}

int stage_open_anchors(struct sandbox *sb)
{
	int r = policy_inspects(sb->policy) ? anchors_open(&sb->anchors, sb->name) : 0;

	return r < 0 ? stage_failed(r, "cannot make the trust files in " STATE_ROOT) : 0;
}

/* --- what others see */

int stage_describe(struct sandbox *sb)
{
	int r;

	sb->started_us = clock_real_us();
	r = describe(sb);
	return r < 0 ? stage_failed(r, "cannot write " STATE_ROOT) : 0;
}

int stage_record(struct sandbox *sb)
{
	record_started(sb);
	audit_sink_flush(sb->sink);
	if (!audit_sink_is_failed(sb->sink) || !policy_fails_closed(sb->policy))
		return 0;
	log_error("the audit log %s cannot be written", sb->audit_path);
	return SANDBOX_EXIT_FAILED;
}

/* --- the end */

void stage_take_apart(struct sandbox *sb)
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
	if (sb->cgroup.fd >= 0 && !sb->is_attached && cgroup_kill(&sb->cgroup) == 0)
		cgroup_remove(&sb->cgroup);
	cgroup_close(&sb->cgroup);
	netns_listeners_close(&sb->listeners);
	secrets_done(&sb->secrets);
	anchors_done(&sb->anchors);
	workspace_done(&sb->workspace);
	policy_free(sb->policy);
	grants_done(&sb->grants);
	if (sb->lock_fd >= 0)
		state_remove(sb->name, !sb->has_rings);
	identity_done(&sb->id);
}
