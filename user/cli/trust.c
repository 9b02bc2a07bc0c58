/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej trust POLICY`: what it means is sandbox/trust.c's. */
#include "trust.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "../sandbox/options.h"
#include "../sandbox/prepare.h"
#include "../sandbox/trust.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*path)
			argp_error(state, "one policy at a time");
		*path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a policy is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_trust(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse,
		.args_doc = "POLICY",
		.doc = "Approves the present content of POLICY and of the lists it names, although "
		       "the "
		       "sandbox's user could write it. Read it before."};
	struct policy *policy = NULL;
	const char *path = NULL;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &path) != 0)
		return SANDBOX_EXIT_USAGE;
	if (geteuid() != 0) {
		log_error("what is trusted is for root to say: run it with sudo");
		return SANDBOX_EXIT_USAGE;
	}
	r = prepare_policy(path, false, &policy);
	if (r)
		return r;
	r = trust_add(path, policy_sha256(policy));
	if (r < 0)
		log_error("cannot write " TRUST_ROOT ": %s", strerror(-r));
	else
		printf("%s is trusted as it is now (sha256 %s)\n", path, policy_sha256(policy));
	policy_free(policy);
	return r < 0 ? SANDBOX_EXIT_MISSING : 0;
}
