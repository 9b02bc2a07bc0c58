/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the options of `nej attach`; all else is sandbox/attach.c's. */
#include "attach.h"

#include <argp.h>
#include <limits.h>
#include <string.h>

#include "../base/num.h"
#include "../sandbox/attach.h"

enum option_key {
	KEY_CGROUP = 256,
	KEY_PID,
	KEY_GUARD,
	KEY_AUDIT,
	KEY_RESOLVER,
	KEY_THREADS,
	KEY_BACKGROUND,
};

static const struct argp_option options[] = {
	{"cgroup", KEY_CGROUP, "PATH", 0, "Confine the processes of this cgroup and those below it",
		0},
	{"pid", KEY_PID, "PID", 0, "The cgroup of this process", 0},
	{"user", 'u', "USER", 0, "Only this user's sockets (name or number, as the host has it)",
		0},
	{"uid-guard", KEY_GUARD, NULL, 0,
		"With -u: that user's sockets in every cgroup of the machine", 0},
	{"policy", 'p', "POLICY", 0, "The policy", 0},
	{"name", 'n', "NAME", 0, "Name of the sandbox (default: attach-PID)", 0},
	{"audit", KEY_AUDIT, "FILE", 0, "The audit log (default: /var/log/nej/NAME.jsonl)", 0},
	{"resolver", KEY_RESOLVER, "IP[:PORT]", 0, "Resolve there; may be given several times", 0},
	{"threads", KEY_THREADS, "N", 0, "Threads of the proxy (default: 1)", 0},
	{"background", KEY_BACKGROUND, NULL, 0, "Return when it is enforced, and go on alone", 0},
	{0},
};

static void take_number(
	const char *text, uint64_t max, const char *what, struct argp_state *state, uint64_t *ret)
{
	if (num_parse_u64(text, strlen(text), max, ret) < 0 || !*ret)
		argp_error(state, "%s: a number from 1 to %llu", what, (unsigned long long)max);
}

static void take_resolver(struct sandbox_options *o, const char *text, struct argp_state *state)
{
	if (o->n_resolvers == HANDOFF_MAX_SERVERS)
		argp_error(state, "at most %d resolvers", HANDOFF_MAX_SERVERS);
	else if (endpoint_parse(text, 53, &o->resolvers[o->n_resolvers]) < 0)
		argp_error(state, "--resolver: `%s` is no IP[:PORT]", text);
	else
		o->n_resolvers++;
}

static void check(const struct sandbox_options *o, struct argp_state *state)
{
	if (o->is_uid_guard && (!o->user || o->cgroup_path || o->pid))
		argp_error(state, "--uid-guard goes with -u USER alone");
	else if (!o->is_uid_guard && !o->cgroup_path == !o->pid)
		argp_error(state, "one of --cgroup and --pid is needed");
	else if (!o->policy_path)
		argp_error(state, "a policy is needed: -p FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sandbox_options *o = state->input;
	uint64_t n = 0;

	switch (key) {
	case KEY_CGROUP:
		o->cgroup_path = arg;
		break;
	case KEY_PID:
		take_number(arg, INT_MAX, "--pid", state, &n);
		o->pid = (pid_t)n;
		break;
	case 'u':
		o->user = arg;
		break;
	case KEY_GUARD:
		o->is_uid_guard = true;
		break;
	case 'p':
		o->policy_path = arg;
		break;
	case 'n':
		o->name = arg;
		break;
	case KEY_AUDIT:
		o->audit_path = arg;
		break;
	case KEY_RESOLVER:
		take_resolver(o, arg, state);
		break;
	case KEY_THREADS:
		take_number(arg, HANDOFF_MAX_THREADS, "--threads", state, &n);
		o->n_threads = (unsigned int)n;
		break;
	case KEY_BACKGROUND:
		o->is_background = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "`%s`: attach runs no command", arg);
		break;
	case ARGP_KEY_END:
		check(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cli_attach(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.args_doc = "(--cgroup PATH | --pid PID) -p POLICY",
		.doc = "Confines processes that run already, and those that join them, until "
		       "`nej detach`, a signal, or the end of their cgroup."};
	struct sandbox_options o = {.n_threads = 1};

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return SANDBOX_EXIT_USAGE;
	return attach(&o);
}
