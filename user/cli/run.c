/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the options of `nej run`; all else is sandbox/launch.c's. */
#include "run.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

#include "../base/log.h"
#include "../base/num.h"
#include "../sandbox/hostconf.h"
#include "../sandbox/launch.h"

enum option_key {
	KEY_NET = 256,
	KEY_AUDIT,
	KEY_RESOLVER,
	KEY_THREADS,
	KEY_CA,
	KEY_WORKSPACE,
	KEY_WRITE,
	KEY_READ,
	KEY_LIMIT, /* and one for each limit behind it */
};

static const struct argp_option options[] = {
	{"policy", 'p', "POLICY", 0, "The policy (default: .nej.yaml here or above)", 0},
	{"name", 'n', "NAME", 0, "Name of the sandbox (default: run-PID)", 0},
	{"user", 'u', "USER", 0, "Run as this user (default: who called sudo, else one of its own)",
		0},
	{"net", KEY_NET, "none|host", 0,
		"A network namespace of its own with nothing in it (default), or the host's", 0},
	{"audit", KEY_AUDIT, "FILE", 0, "The audit log (default: /var/log/nej/NAME.jsonl)", 0},
	{"resolver", KEY_RESOLVER, "IP[:PORT]", 0, "Resolve there; may be given several times", 0},
	{"ca", KEY_CA, "FILE", 0,
		"Trust these certificate authorities (PEM) too, inside and for servers; may be "
		"given several times",
		0},
	{"threads", KEY_THREADS, "N", 0, "Threads of the proxy (default: 1)", 0},
	{"workspace", KEY_WORKSPACE, "DIR", 0,
		"It writes there and to a /tmp of its own alone, and finds no credentials", 0},
	{"write", KEY_WRITE, "PATH", 0, "With --workspace: there too; may be given several times",
		0},
	{"read", KEY_READ, "PATH", 0,
		"With --workspace: credentials that it finds all the same, such as ~/.npmrc; may "
		"be "
		"given several times",
		0},
	{"memory", KEY_LIMIT + LIMIT_MEMORY, "SIZE", 0,
		"Its processes may use so much together; then they are all killed", 0},
	{"pids", KEY_LIMIT + LIMIT_PIDS, "N", 0, "So many processes and threads at most", 0},
	{"cpus", KEY_LIMIT + LIMIT_CPUS, "N", 0, "So many CPUs' time at most, 0.5 say", 0},
	{"idle", KEY_LIMIT + LIMIT_IDLE, "TIME", 0,
		"End it when it had no connection and no byte of the terminal for so long", 0},
	{"grace", KEY_LIMIT + LIMIT_GRACE, "TIME", 0,
		"Kill what is still there so long after SIGTERM", 0},
	{0},
};

static void take_resolver(struct sandbox_options *o, const char *text, struct argp_state *state)
{
	if (o->n_resolvers == HANDOFF_MAX_SERVERS)
		argp_error(state, "at most %d resolvers", HANDOFF_MAX_SERVERS);
	else if (endpoint_parse(text, 53, &o->resolvers[o->n_resolvers]) < 0)
		argp_error(state, "--resolver: `%s` is no IP[:PORT]", text);
	else
		o->n_resolvers++;
}

static void take_ca(struct sandbox_options *o, const char *path, struct argp_state *state)
{
	if (o->n_cas == SANDBOX_MAX_CAS)
		argp_error(state, "at most %d files of --ca", SANDBOX_MAX_CAS);
	else
		o->ca_paths[o->n_cas++] = path;
}

static void take_threads(struct sandbox_options *o, const char *text, struct argp_state *state)
{
	uint64_t n = 0;

	if (num_parse_u64(text, strlen(text), HANDOFF_MAX_THREADS, &n) < 0 || !n)
		argp_error(state, "--threads: a number from 1 to %d", HANDOFF_MAX_THREADS);
	o->n_threads = (unsigned int)n;
}

struct paths {
	const char *writable[WORKSPACE_MAX_PATHS], *readable[WORKSPACE_MAX_PATHS];
};

/* The lists lie where the options point to. */
static struct paths paths;

static void take_path(const char **list, size_t *n, const char *path, struct argp_state *state)
{
	if (*n == WORKSPACE_MAX_PATHS - 1)
		argp_error(state, "at most %d paths", WORKSPACE_MAX_PATHS - 1);
	else
		list[(*n)++] = path;
}

static void check(const struct sandbox_options *o, struct argp_state *state)
{
	if (!o->workspace.dir && (o->workspace.n_writable || o->workspace.n_readable))
		argp_error(state, "--write and --read go with --workspace");
}

static void take_limit(
	struct sandbox_options *o, enum limit which, const char *text, struct argp_state *state)
{
	if (limit_parse(which, text, &o->limits[which]) < 0)
		argp_error(
			state, "--%s: `%s` is not %s", limit_word(which), text, limit_forms(which));
}

static void take_net(struct sandbox_options *o, const char *text, struct argp_state *state)
{
	if (strcmp(text, "host") != 0 && strcmp(text, "none") != 0)
		argp_error(state, "--net: none or host");
	o->is_host_net = strcmp(text, "host") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sandbox_options *o = state->input;

	switch (key) {
	case 'p':
		o->policy_path = arg;
		break;
	case 'n':
		o->name = arg;
		break;
	case 'u':
		o->user = arg;
		break;
	case KEY_NET:
		take_net(o, arg, state);
		break;
	case KEY_AUDIT:
		o->audit_path = arg;
		break;
	case KEY_RESOLVER:
		take_resolver(o, arg, state);
		break;
	case KEY_CA:
		take_ca(o, arg, state);
		break;
	case KEY_THREADS:
		take_threads(o, arg, state);
		break;
	case KEY_WORKSPACE:
		o->workspace.dir = arg;
		break;
	case KEY_WRITE:
		take_path(paths.writable, &o->workspace.n_writable, arg, state);
		break;
	case KEY_READ:
		take_path(paths.readable, &o->workspace.n_readable, arg, state);
		break;
	case KEY_LIMIT ... KEY_LIMIT + LIMIT_COUNT - 1:
		take_limit(o, (enum limit)(key - KEY_LIMIT), arg, state);
		break;
	case ARGP_KEY_ARG:
		/* the command and all behind it, options too, are its own */
		o->argv = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a command is missing");
		break;
	case ARGP_KEY_END:
		check(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cli_run(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.args_doc = "CMD [ARG...]",
		.doc = "Runs CMD in a sandbox that reaches only what the policy names."};
	struct sandbox_options o = {.n_threads = 1,
		.workspace = {.writable = paths.writable, .readable = paths.readable}};
	int r;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0)
		return SANDBOX_EXIT_USAGE;
	r = hostconf_apply(o.limits);
	return r ? r : launch(&o);
}
