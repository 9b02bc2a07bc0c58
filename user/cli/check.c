/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a policy and prints what is wrong with it; see check.h. The work is user/policy's. */
#include "check.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/log.h"
#include "../policy/policy.h"

#define EXIT_NO 1
#define EXIT_USAGE 2
#define MAX_JSON_BYTES 4096

struct arguments {
	const char *policy;
	bool is_json;
};

static const struct argp_option options[] = {
	{.name = "json", .key = 'j', .doc = "One JSON object a line"},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'j':
		a->is_json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->policy)
			argp_error(state, "one policy at a time");
		a->policy = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which policy?");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void add_json(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, ",\"%s\":", key);
	buf_add_json(b, text, strlen(text), MAX_JSON_BYTES);
}

static void print_json_findings(const struct err_list *errs, const char *file)
{
	for (size_t i = 0; i < errs->n_items; i++) {
		const struct err *e = &errs->items[i];
		struct buf b;

		buf_init(&b);
		buf_add_str(&b, "{\"file\":");
		buf_add_json(&b, file, strlen(file), MAX_JSON_BYTES);
		buf_printf(&b, ",\"line\":%u,\"column\":%u,\"severity\":\"%s\"", e->line, e->column,
			e->is_warning ? "warning" : "error");
		add_json(&b, "what", e->what);
		add_json(&b, "mend", e->mend);
		printf("%s}\n", b.data ? b.data : "");
		buf_done(&b);
	}
}

static void print_json_summary(
	const struct err_list *errs, const char *file, const struct policy *p)
{
	size_t rules = 0, hosts = 0;
	struct buf b;

	if (p)
		policy_count(p, &rules, &hosts);
	buf_init(&b);
	buf_add_str(&b, "{\"policy\":");
	buf_add_json(&b, file, strlen(file), MAX_JSON_BYTES);
	buf_printf(&b, ",\"ok\":%s,\"errors\":%zu,\"warnings\":%zu,\"rules\":%zu,\"hosts\":%zu",
		p ? "true" : "false", errs->n_errors, errs->n_warnings, rules, hosts);
	if (p)
		add_json(&b, "sha256", policy_sha256(p));
	printf("%s}\n", b.data ? b.data : "");
	buf_done(&b);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_summary(const struct err_list *errs, const char *file, const struct policy *p)
{
	size_t rules, hosts;

	if (!p) {
		printf("%s: refused, %zu error%s\n", file, errs->n_errors, plural(errs->n_errors));
		return;
	}
	policy_count(p, &rules, &hosts);
	printf("%s: ok, %zu rule%s, %zu host%s", file, rules, plural(rules), hosts, plural(hosts));
	if (errs->n_warnings)
		printf(", %zu warning%s", errs->n_warnings, plural(errs->n_warnings));
	putchar('\n');
}

DEFINE_CLEANUP(struct policy, policy_free);

int cli_check(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "POLICY",
		.doc = "Prints every error and warning of a policy.",
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
	if (r < 0 && !errs.n_errors) {
		log_error("%s: %s", a.policy, strerror(-r));
		return EXIT_USAGE;
	}
	if (a.is_json) {
		print_json_findings(&errs, a.policy);
		print_json_summary(&errs, a.policy, p);
	} else {
		err_print(&errs, stdout);
		print_summary(&errs, a.policy, p);
	}
	return p ? 0 : EXIT_NO;
}
