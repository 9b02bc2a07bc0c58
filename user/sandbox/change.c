/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: the maps are the new policy's first, then the sockets that may go on get its
 * generation and the others are ended, then the generation changes for the programs. From there on a
 * packet of a socket with an older one is judged once more, so what could not be ended (no inet_diag) or
 * was missed falls silent. See packet.bpf.c, sweep.c.
 */
#include "change.h"

#include <fcntl.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../kernel/apply.h"
#include "../policy/overlay.h"
#include "sweep.h"

static void on_cut(void *arg, const struct audit_event *event)
{
	struct sandbox *sb = arg;
	struct audit_event of_sandbox = *event;

	of_sandbox.generation = sb->generation; /* the next one is not yet known to the log */
	audit_sink_add(sb->sink, &of_sandbox);
}

/* A namespace of its own has no way out but the worker. */
static bool has_direct(const struct sandbox *sb)
{
	return sb->is_attached || sb->options->is_host_net;
}

/* Of the processes: what was attached to, or with --net=host our own. */
static int open_netns(const struct sandbox *sb)
{
	return sb->netns_fd >= 0 ? fcntl(sb->netns_fd, F_DUPFD_CLOEXEC, 3)
				 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static struct sweep_plan plan_of(const struct sandbox *sb, enum sweep_occasion occasion, int netns)
{
	static const uint16_t none[] = {0};

	return (struct sweep_plan){
		.occasion = occasion,
		.generation = sb->generation,
		.cgroup = &sb->cgroup,
		.policy = sb->policy,
		.object = sb->object,
		.netns_fd = netns,
		.has_uid = sb->settings.flags & NEJ_F_SCOPE_UID,
		.uid = sb->settings.scope_uid,
		.is_everywhere = sb->is_attached && sb->options->is_uid_guard,
		.own_ports = none,
	};
}

static int look(struct sandbox *sb, enum sweep_occasion occasion, const struct policy *policy,
	uint32_t generation)
{
	_cleanup_close_ int netns = has_direct(sb) ? open_netns(sb) : -1;
	struct sweep_plan plan = plan_of(sb, occasion, netns);
	char why[SWEEP_WHY_BYTES] = "";
	struct sweep_result result = {0};
	int r;

	if (!has_direct(sb))
		return 0;
	plan.policy = policy;
	plan.generation = generation;
	plan.on_cut = occasion == SWEEP_RELOAD ? on_cut : NULL;
	plan.arg = sb;
	r = sweep(&plan, &result, why);
	if (r < 0)
		log_warning("cannot end connections that went straight out: %s; nothing of them "
			    "passes any more",
			strerror(-r));
	return (int)result.n_cut;
}

int change_policy(struct sandbox *sb, const struct policy *next)
{
	struct nej_settings settings = sb->settings;
	int r = apply_policy(sb->object, next, &settings), n_cut;

	if (r < 0) {
		(void)apply_policy(sb->object, sb->policy, &sb->settings);
		return r;
	}
	n_cut = look(sb, SWEEP_RELOAD, next, sb->generation + 1);
	settings.generation = sb->generation + 1;
	r = object_settings(sb->object, &settings);
	if (r < 0) {
		/* No socket may stay ahead of a policy that did not come. */
		(void)apply_policy(sb->object, sb->policy, &sb->settings);
		(void)look(sb, SWEEP_RELOAD, sb->policy, sb->generation);
		return r;
	}
	sb->settings = settings;
	return n_cut;
}

/* The kernel's list first: what has ended is over before anything else is done. */
static int write_grants(struct sandbox *sb)
{
	struct nej_settings settings = sb->settings;
	int r = apply_grants(sb->object, sb->policy);

	if (r >= 0)
		r = apply_policy(sb->object, sb->policy, &settings);
	if (r < 0 || memcmp(&settings, &sb->settings, sizeof(settings)) == 0)
		return r;
	r = object_settings(sb->object, &settings);
	if (r >= 0)
		sb->settings = settings;
	return r;
}

int change_grants(struct sandbox *sb, struct policy *overlay, bool has_ended)
{
	struct policy *before = overlay_lay(sb->policy, overlay);
	int r = write_grants(sb);

	if (r < 0) {
		overlay = overlay_lay(sb->policy, before);
		(void)write_grants(sb);
		policy_free(overlay);
		return r;
	}
	policy_free(before);
	return has_ended ? look(sb, SWEEP_RELOAD, sb->policy, sb->generation) : 0;
}

int change_cut(struct sandbox *sb)
{
	return look(sb, SWEEP_HALT, sb->policy, sb->generation);
}

void change_cut_inside(struct sandbox *sb)
{
	const struct netns_listeners *l = &sb->listeners;
	const uint16_t ports[] = {l->proxy_port, l->eager_port, l->stub_port, 0};
	_cleanup_close_ int netns = netns_of_listeners(l);
	struct sweep_plan plan = plan_of(sb, SWEEP_CUT, netns);
	char why[SWEEP_WHY_BYTES] = "";
	struct sweep_result result = {0};

	plan.own_ports = ports;
	if (netns >= 0)
		(void)sweep(&plan, &result, why);
}
