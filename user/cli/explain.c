/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the decision of each request; see explain.h. The decision is user/policy's. */
#include "explain.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/log.h"
#include "../policy/policy.h"
#include "../policy/request.h"

#define EXIT_NO 1
#define EXIT_USAGE 2
#define MAX_JSON_BYTES (1u << 20)

struct arguments {
	const char *policy;
	char **requests;
	int n_requests;
	bool is_json;
};

static const struct argp_option options[] = {
	{.name = "policy", .key = 'p', .arg = "POLICY", .doc = "The policy file"},
	{.name = "json", .key = 'j', .doc = "One JSON object a line"},
	{0},
};

static const char doc[] =
	"Says what a policy decides on each REQUEST: [METHOD ]URL, HOST:PORT, tcp://HOST:PORT, "
	"udp://ADDR:PORT, or dns:NAME.";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'p':
		a->policy = arg;
		return 0;
	case 'j':
		a->is_json = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->requests = state->argv + state->next;
		a->n_requests = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (!a->policy)
			argp_error(state, "which policy? -p POLICY");
		if (!a->n_requests)
			argp_error(state, "which request?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct {
	const char *word, *sentence;
} reasons[] = {
#define X(id, word, sentence) {word, sentence},
	NEJ_REASONS(X)
#undef X
};

static const char *const transports[] = {
	[POLICY_TRANSPORT_DIRECT] = "direct",
	[POLICY_TRANSPORT_UPSTREAM] = "upstream",
	[POLICY_TRANSPORT_KERNEL] = "kernel",
};

static void add_json(struct buf *b, const char *text)
{
	buf_add_json(b, text, strlen(text), MAX_JSON_BYTES);
}

static int print_json(const struct policy *p, const char *request, const struct policy_decision *d)
{
	struct policy_rule_info rule;
	struct buf b;
	bool is_failed;

	buf_init(&b);
	buf_add_str(&b, "{\"request\":");
	add_json(&b, request);
	buf_printf(&b, ",\"verdict\":\"%s\",\"reason\":\"%s\",\"rule\":",
		d->verdict == POLICY_DENY ? "deny" : "allow", reasons[d->reason].word);
	if (policy_rule(p, d->rule, &rule)) {
		buf_printf(&b, "{\"line\":%u,\"text\":", rule.line);
		add_json(&b, rule.text);
		if (rule.note) {
			buf_add_str(&b, ",\"note\":");
			add_json(&b, rule.note);
		}
		buf_add_char(&b, '}');
	} else {
		buf_add_str(&b, "null");
	}
	buf_printf(&b, ",\"transport\":\"%s\",\"inspect\":%s}\n", transports[d->transport],
		d->is_inspect ? "true" : "false");
	is_failed = b.is_failed;
	if (!is_failed)
		fwrite(b.data, 1, b.len, stdout);
	buf_done(&b);
	return is_failed ? -ENOMEM : 0;
}

static void print_text(const struct policy *p, const char *request, const struct policy_decision *d)
{
	struct policy_rule_info rule;

	printf("%-5s %s\n", d->verdict == POLICY_DENY ? "deny" : "allow", request);
	if (policy_rule(p, d->rule, &rule)) {
		printf("      line %u: %s\n", rule.line, rule.text);
		if (rule.note)
			printf("      note: %s\n", rule.note);
	}
	if (d->reason == NEJ_REASON_RULE && d->rule == POLICY_NO_RULE)
		printf("      host_ports opens this port of the host\n");
	if (d->reason == NEJ_REASON_NO_RULE && d->verdict == POLICY_ALLOW)
		printf("      no rule denies it, and the policy's default is allow\n");
	else if (d->reason != NEJ_REASON_RULE)
		printf("      %s: %s\n", reasons[d->reason].word, reasons[d->reason].sentence);
	if (d->is_inspect)
		printf("      TLS is opened for it\n");
	if (d->verdict != POLICY_DENY && policy_rule_has_mcp(p, d->rule))
		printf("      MCP: only the tools of the rule may be called\n");
	if (d->verdict != POLICY_DENY && policy_denies_hosted_tools(p, d->rule))
		printf("      hosted tools: no search or fetch on the provider's side\n");
	if (d->verdict != POLICY_DENY && d->transport != POLICY_TRANSPORT_DIRECT)
		printf("      transport: %s\n", transports[d->transport]);
}

static int explain_all(const struct arguments *a, const struct policy *p)
{
	int status = 0;

	for (int i = 0; i < a->n_requests; i++) {
		struct policy_decision d;

		if (request_explain(p, a->requests[i], &d) < 0) {
			log_error("`%s` is no request; write [METHOD ]URL, HOST:PORT, "
				  "tcp://HOST:PORT, udp://ADDR:PORT or dns:NAME",
				a->requests[i]);
			return EXIT_USAGE;
		}
		if (a->is_json && print_json(p, a->requests[i], &d) < 0)
			return EXIT_USAGE;
		if (!a->is_json)
			print_text(p, a->requests[i], &d);
		if (d.verdict == POLICY_DENY)
			status = EXIT_NO;
	}
	return status;
}

DEFINE_CLEANUP(struct policy, policy_free);

int cli_explain(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "REQUEST...",
		.doc = doc,
	};
	_cleanup_(policy_free_ptr)
	struct policy *p = NULL;
	struct arguments a = {0};
	struct err_list errs;
	int r;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	err_init(&errs, a.policy);
	r = policy_load(a.policy, &errs, &p);
	if (r < 0) {
		if (errs.n_errors)
			err_print(&errs, stderr);
		else
			log_error("%s: %s", a.policy, strerror(-r));
		return EXIT_USAGE;
	}
	return explain_all(&a, p);
}
