/* SPDX-License-Identifier: GPL-2.0-only */
/* What `nej run` or `nej attach` was asked for, as plain data. Read launch.h next. */
#ifndef NEJ_SANDBOX_OPTIONS_H
#define NEJ_SANDBOX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/addr.h"
#include "handoff.h"
#include "limits.h"
#include "workspace.h"

#define SANDBOX_EXIT_FAILED 125 /* nej itself failed before the command started */
#define SANDBOX_EXIT_CANNOT_EXEC 126
#define SANDBOX_EXIT_NOT_FOUND 127
#define SANDBOX_EXIT_USAGE 2
#define SANDBOX_EXIT_MISSING 3 /* this kernel or machine cannot */

#define SANDBOX_MAX_CAS 16

struct sandbox_options {
	const char *policy_path; /* NULL: .nej.yaml upwards, else everything is denied */
	const char *name;        /* NULL: `run-PID` */
	const char *user;        /* name or uid; NULL: who called sudo, else one of its own */
	const char *audit_path;  /* NULL: /var/log/nej/NAME.jsonl */
	bool is_host_net;
	unsigned int n_threads; /* of the worker */
	struct endpoint resolvers[HANDOFF_MAX_SERVERS];
	size_t n_resolvers;
	const char *ca_paths[SANDBOX_MAX_CAS]; /* PEM: trusted inside, and for origins */
	size_t n_cas;
	struct workspace_ask workspace;
	uint64_t limits[LIMIT_COUNT]; /* 0: none */
	char **argv;                  /* the command, NULL-terminated; NULL: attach */
	/* nej attach */
	const char *cgroup_path; /* NULL: that of pid */
	pid_t pid;
	const char *
		container; /* its id, as its runtime has it; NULL: looked for in the cgroup's path */
	const char *pod_uid;   /* the cgroup of the pod that pid is in, where it has one; NULL */
	bool is_uid_guard;     /* the user's sockets wherever they are */
	bool is_policy_hidden; /* who named it may not read it: errors show nothing of it */
	bool is_background;    /* our caller goes on when it is enforced */
	bool is_until_empty;   /* ends with the cgroup's last process, not with the cgroup */
};

#endif
