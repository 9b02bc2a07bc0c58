/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the options of `nej gateway`; all else is sandbox/gateway.c's. */
#include "gateway.h"

#include <argp.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../sandbox/gatehouse.h"
#include "../sandbox/gateway.h"

#define EXIT_USAGE 2

enum option_key {
	KEY_LISTEN = 256,
	KEY_POLICIES,
	KEY_AUDIT,
	KEY_RESOLVER,
	KEY_CERT,
	KEY_KEY,
};

static const struct argp_option options[] = {
	{"listen", KEY_LISTEN, "ADDR:PORT", 0, "Listen there; may be given several times", 0},
	{"policies", KEY_POLICIES, "DIR", 0,
		"The sandboxes: NAME.yaml is a policy, NAME.secret its password", 0},
	{"tls-cert", KEY_CERT, "FILE", 0, "Speak HTTPS, with this certificate and its chain (PEM)",
		0},
	{"tls-key", KEY_KEY, "FILE", 0, "The certificate's private key (PEM)", 0},
	{"audit", KEY_AUDIT, "FILE", 0, "The audit log (default: /var/log/nej/gateway.jsonl)", 0},
	{"resolver", KEY_RESOLVER, "IP[:PORT]", 0, "Resolve there; may be given several times", 0},
	{"user", 'u', "USER", 0, "Serve clients as this user (default: one of its own)", 0},
	{0},
};

static void take_endpoint(struct argp_state *state, const char *option, const char *text,
	uint16_t default_port, struct endpoint *list, size_t *n, size_t max)
{
	if (*n == max)
		argp_error(state, "--%s: at most %zu", option, max);
	else if (endpoint_parse(text, default_port, &list[*n]) < 0 || !list[*n].port)
		argp_error(state, "--%s: `%s` is no address and port", option, text);
	else
		++*n;
}

static void check(const struct gateway_options *o, struct argp_state *state)
{
	if (!o->n_listen)
		argp_error(state, "--listen is missing");
	else if (!o->policies)
		argp_error(state, "--policies is missing");
	else if (!o->tls_cert != !o->tls_key)
		argp_error(state, "--tls-cert and --tls-key go together");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct gateway_options *o = state->input;

	switch (key) {
	case KEY_LISTEN:
		take_endpoint(
			state, "listen", arg, 0, o->listen, &o->n_listen, HANDOFF_LISTENER_COUNT);
		break;
	case KEY_RESOLVER:
		take_endpoint(state, "resolver", arg, 53, o->resolvers, &o->n_resolvers,
			HANDOFF_MAX_SERVERS);
		break;
	case KEY_POLICIES:
		o->policies = arg;
		break;
	case KEY_AUDIT:
		o->audit_path = arg;
		break;
	case KEY_CERT:
		o->tls_cert = arg;
		break;
	case KEY_KEY:
		o->tls_key = arg;
		break;
	case 'u':
		o->user = arg;
		break;
	case ARGP_KEY_END:
		check(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cli_gateway(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.doc = "A forward proxy for many sandboxes: each has a name, a password and a "
		       "policy, by which every request is checked again."};
	struct gateway_options o = {0};

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	return gateway_run(&o);
}

int cli_gateway_worker(int argc, char **argv)
{
	(void)argc;
	if (geteuid() != 0 || fcntl(HANDOFF_FD_SETTINGS, F_GET_SEALS) < 0) {
		fprintf(stderr, "%s is started by `nej gateway` alone\n", argv[0]);
		return EXIT_USAGE;
	}
	return gatehouse_main();
}
