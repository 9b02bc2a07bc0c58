/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The executable examples of the policy language: every file of tests/cases/policy, a policy each
 * with requests and their verdicts, or with the error it must raise.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/policy/request.h"
#include "../../../user/policy/policy.h"

#define CASES "tests/cases/policy/*.json"

static const char *const words[] = {
#define X(id, word, sentence) word,
	NEJ_REASONS(X)
#undef X
};

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* True when the decision is the one the case asks for; prints the difference. */
static bool is_expected(const struct policy *p, const json_t *want, const char *file)
{
	static const char *const transports[] = {"direct", "upstream", "kernel"};
	const char *request = text_of(want, "request"), *transport = text_of(want, "transport");
	const json_t *line = json_object_get(want, "line");
	const json_t *inspect = json_object_get(want, "inspect");
	struct policy_decision d;
	struct policy_rule_info rule = {0};
	bool is_good;

	if (request_explain(p, request, &d) < 0) {
		print_error("%s: %s: no request\n", file, request);
		return false;
	}
	policy_rule(p, d.rule, &rule);
	is_good = !strcmp(text_of(want, "verdict"), d.verdict == POLICY_DENY ? "deny" : "allow") &&
		!strcmp(text_of(want, "reason"), words[d.reason]) &&
		(!line || json_integer_value(line) == rule.line) &&
		(!inspect || json_is_true(inspect) == d.is_inspect) &&
		(!transport || !strcmp(transport, transports[d.transport]));
	if (!is_good)
		print_error("%s: %s: verdict %d, reason %s, line %u, inspect %d\n", file, request,
			d.verdict, words[d.reason], rule.line, d.is_inspect);
	return is_good;
}

static bool has_error(const struct err_list *errs, const json_t *want, const char *file)
{
	const json_t *line = json_object_get(want, "line"),
		     *column = json_object_get(want, "column");

	for (size_t i = 0; i < errs->n_items; i++) {
		const struct err *e = &errs->items[i];
		const json_t *word;
		bool is_match = !e->is_warning && (!line || json_integer_value(line) == e->line) &&
			(!column || json_integer_value(column) == e->column);
		size_t k;

		json_array_foreach(json_object_get(want, "mentions"), k, word) is_match =
			is_match &&
			(strstr(e->what, json_string_value(word)) ||
				strstr(e->mend, json_string_value(word)));
		if (is_match)
			return true;
	}
	print_error("%s: the error is not there; these are:\n", file);
	err_print(errs, stderr);
	return false;
}

static bool run_case(const char *file)
{
	json_t *root = json_load_file(file, 0, NULL);
	const char *text = root ? text_of(root, "policy") : NULL;
	const json_t *want, *error = json_object_get(root, "error");
	struct policy *p = NULL;
	struct err_list errs;
	bool is_good = true;
	size_t i;
	int r;

	assert_non_null(text);
	err_init(&errs, file);
	r = policy_load_text(text, strlen(text), NULL, &errs, &p);
	if (error) {
		is_good = r == -EINVAL && has_error(&errs, error, file);
	} else if (r < 0) {
		err_print(&errs, stderr);
		is_good = false;
	} else {
		json_array_foreach(json_object_get(root, "requests"), i, want) is_good &=
			is_expected(p, want, file);
	}
	policy_free(p);
	json_decref(root);
	return is_good;
}

static void every_case_file_holds(void **state)
{
	bool is_good = true;
	glob_t found;

	(void)state;
	assert_int_equal(glob(CASES, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 19);
	for (size_t i = 0; i < found.gl_pathc; i++)
		is_good &= run_case(found.gl_pathv[i]);
	globfree(&found);
	assert_true(is_good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_file_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
