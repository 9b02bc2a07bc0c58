/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `POLICY NUL REQUEST LF REQUEST...`: any text loads or is refused with errors, and what loads
 * decides any request without a verdict that contradicts itself.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/policy/policy.h"
#include "../../user/policy/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets the buffer of a quoted scalar that never ends. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml";
}

static void check_decision(const struct policy *p, const struct policy_decision *d)
{
	struct policy_rule_info rule;

	assert(d->verdict == POLICY_DENY || d->verdict == POLICY_ALLOW);
	assert(d->reason > NEJ_REASON_NONE && d->reason < NEJ_REASON_COUNT);
	assert(d->rule == POLICY_NO_RULE || policy_rule(p, d->rule, &rule));
	if (d->reason == NEJ_REASON_RULE && d->verdict == POLICY_DENY)
		assert(d->rule != POLICY_NO_RULE);
	if (d->verdict == POLICY_ALLOW)
		assert(d->reason == NEJ_REASON_RULE || policy_is_default_allow(p));
	if (d->verdict == POLICY_ALLOW && d->reason == NEJ_REASON_NO_RULE)
		assert(d->rule == POLICY_NO_RULE);
}

static void explain_lines(const struct policy *p, char *text)
{
	struct policy_decision d;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int r = request_explain(p, line, &d);

		assert(r == 0 || r == -EINVAL);
		if (!r)
			check_decision(p, &d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul ? (size_t)(nul - data) : size;
	struct policy *p = NULL;
	struct err_list errs;
	int r;

	err_init(&errs, "policy.yaml");
	r = policy_load_text((const char *)data, len, "/nonexistent", &errs, &p);
	assert(r == 0 ? !errs.n_errors && p : !p);
	assert(r != -EINVAL || errs.n_errors);
	if (!r && nul) {
		char *text = strndup((const char *)nul + 1, size - len - 1);

		assert(text);
		explain_lines(p, text);
		free(text);
	}
	policy_free(p);
	return 0;
}
