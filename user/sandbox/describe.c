/* SPDX-License-Identifier: GPL-2.0-only */
/* From a sandbox to its state file; see describe.h. */
#include "describe.h"

#include <stdio.h>
#include <unistd.h>

#include "state.h"

int describe(const struct sandbox *sb)
{
	struct state s = {
		.pid = getpid(),
		.pid_start = state_pid_start(getpid()),
		.started_us = sb->started_us,
		.uid = sb->id.uid,
		.generation = sb->generation,
		.proxy_port = sb->listeners.proxy_port,
		.is_host_net = sb->is_shared_net,
		.is_attached = sb->is_attached,
		.inspects = sb->can_inspect,
	};

	snprintf(s.name, sizeof(s.name), "%s", sb->name);
	snprintf(s.user, sizeof(s.user), "%s", sb->id.name);
	snprintf(s.home, sizeof(s.home), "%s", sb->id.home);
	snprintf(s.policy_sha256, sizeof(s.policy_sha256), "%s", policy_sha256(sb->policy));
	snprintf(s.policy, sizeof(s.policy), "%s", sb->policy_path);
	snprintf(s.audit, sizeof(s.audit), "%s", sb->audit_path);
	snprintf(s.cgroup, sizeof(s.cgroup), "%s", sb->cgroup.path);
	snprintf(s.container, sizeof(s.container), "%s", sb->container);
	return state_write(&s);
}
