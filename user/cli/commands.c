/* SPDX-License-Identifier: GPL-2.0-only */
/* One row a command; each is one file of this directory. */
#include "commands.h"

#include <stddef.h>
#include <string.h>

#include "change.h"
#include "attach.h"
#include "check.h"
#include "demo.h"
#include "demo_client.h"
#include "detach.h"
#include "doctor.h"
#include "env.h"
#include "explain.h"
#include "gateway.h"
#include "grant.h"
#include "import.h"
#include "log.h"
#include "oci_hook.h"
#include "run.h"
#include "status.h"
#include "suggest.h"
#include "trust.h"
#include "verify.h"
#include "watch.h"
#include "worker.h"

const struct command commands[] = {
	{"run", cli_run, "run a command in a sandbox"},
	{"attach", cli_attach, "confine processes that run already"},
	{"detach", cli_detach, "let the processes of an attach go"},
	{"check", cli_check, "check a policy: errors and warnings"},
	{"trust", cli_trust, "approve a policy that the sandbox's user could write"},
	{"explain", cli_explain, "say what a policy decides on a request, and by which rule"},
	{"import", cli_import, "print the policy of another tool as one of nej"},
	{"log", cli_log, "print an audit log for people"},
	{"suggest", cli_suggest, "print the policy lines that would have allowed what was denied"},
	{"verify", cli_verify, "check the chain of an audit log"},
	{"status", cli_status, "list running sandboxes and their counters"},
	{"reload", cli_reload, "put another policy in force in a running sandbox"},
	{"halt", cli_halt, "refuse all traffic of a sandbox at once"},
	{"resume", cli_resume, "let a halted sandbox's policy decide again"},
	{"grant", cli_grant, "allow a running sandbox something for a while"},
	{"revoke", cli_revoke, "end grants before their time"},
	{"watch", cli_watch, "show what a running sandbox is refused, and grant it by a key"},
	{"env", cli_env, "print the variables a sandbox sets"},
	{"oci-hook", cli_oci_hook, "confine a container from a hook of its runtime"},
	{"gateway", cli_gateway, "serve many sandboxes as their forward proxy"},
	{"doctor", cli_doctor, "say what this machine has of what nej uses"},
	{"demo", demo_main, "show a sandbox at work in a made-up internet"},
	{"worker", cli_worker, NULL},
	{"gateway-worker", cli_gateway_worker, NULL},
	{"demo-client", demo_client_main, NULL},
	{NULL, NULL, NULL},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}
