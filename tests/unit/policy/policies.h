/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies from text for tests; include after cmocka.h. */
#ifndef TESTS_POLICIES_H
#define TESTS_POLICIES_H

#include <string.h>

#include "../../../user/policy/policy.h"

static inline struct policy *policy_of(const char *text)
{
	struct policy *p = NULL;
	struct err_list errs;

	err_init(&errs, "policy.yaml");
	if (policy_load_text(text, strlen(text), NULL, &errs, &p) < 0) {
		err_print(&errs, stderr);
		fail_msg("not loaded: %s", text);
	}
	return p;
}

static inline struct host host_of(const char *name)
{
	struct host h;

	assert_int_equal(host_parse(name, strlen(name), &h), 0);
	return h;
}

/* A connection whose URL is not known. */
static inline struct policy_decision ask_connection(
	const struct policy *p, enum policy_scheme scheme, const char *name, uint16_t port)
{
	struct host h = host_of(name);
	struct policy_ask ask = {.scheme = scheme, .host = &h, .port = port};
	struct policy_decision d;

	policy_decide(p, &ask, &d);
	return d;
}

static inline struct policy_decision ask_dns(const struct policy *p, const char *name)
{
	struct host h = host_of(name);
	struct policy_decision d;

	policy_decide_dns(p, &h, &d);
	return d;
}

static inline struct policy_decision ask_url(const struct policy *p, enum policy_scheme scheme,
	const char *name, uint16_t port, const char *method, const char *path)
{
	struct host h = host_of(name);
	struct policy_ask ask = {
		.scheme = scheme,
		.host = &h,
		.port = port,
		.has_url = true,
		.method = method,
		.method_len = strlen(method),
		.path = path,
		.path_len = strlen(path),
	};
	struct policy_decision d;

	policy_decide(p, &ask, &d);
	return d;
}

#endif
