/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every file of tests/cases/import: another tool's file, the policy it must become, the notes that
 * must be given, and what that policy decides; for formats that run as they are, by their own lines.
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

#include "../../../user/base/cleanup.h"
#include "../../../user/policy/import.h"
#include "../../../user/policy/policy.h"
#include "../../../user/policy/request.h"

#define CASES "tests/cases/import/*.json"

DEFINE_CLEANUP(struct policy, policy_free);

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* A text, or a list of its lines. */
static void add_text(struct buf *b, const json_t *v)
{
	const json_t *line;
	size_t i;

	buf_init(b);
	if (json_is_string(v))
		buf_add_str(b, json_string_value(v));
	json_array_foreach(v, i, line)
	{
		buf_add_str(b, json_string_value(line));
		buf_add_char(b, '\n');
	}
	if (!b->data)
		buf_add(b, "", 0);
}

static bool has_note(const struct import *im, const json_t *want)
{
	const char *words = text_of(want, "mentions");

	for (size_t i = 0; i < DRAFT_COUNT(im->notes, struct import_note); i++) {
		const struct import_note *note = DRAFT_AT(im->notes, struct import_note, i);

		if (note->line == json_integer_value(json_object_get(want, "line")) &&
			note->is_lost == json_is_true(json_object_get(want, "lost")) &&
			strstr(note->text, words))
			return true;
	}
	print_error("no note on `%s`\n", words);
	return false;
}

/* All notes and no others. */
static bool are_notes(const struct import *im, const json_t *want)
{
	size_t n = DRAFT_COUNT(im->notes, struct import_note), i;
	bool is_good = n == json_array_size(want);
	const json_t *note;

	json_array_foreach(want, i, note) is_good &= has_note(im, note);
	for (i = 0; !is_good && i < n; i++) {
		const struct import_note *given = DRAFT_AT(im->notes, struct import_note, i);

		print_error("%u: %s%s\n", given->line, given->is_lost ? "lost: " : "", given->text);
	}
	return is_good;
}

static bool has_error(const struct err_list *errs, const json_t *want)
{
	for (size_t i = 0; i < errs->n_items; i++) {
		const struct err *e = &errs->items[i];

		if (!e->is_warning &&
			e->line == json_integer_value(json_object_get(want, "line")) &&
			e->column == json_integer_value(json_object_get(want, "column")) &&
			(strstr(e->what, text_of(want, "mentions")) ||
				strstr(e->mend, text_of(want, "mentions"))))
			return true;
	}
	err_print(errs, stderr);
	return false;
}

static bool is_decided(const struct policy *p, const json_t *want, bool has_lines)
{
	const json_t *line = json_object_get(want, "line");
	const char *text = text_of(want, "text");
	struct policy_rule_info rule = {0};
	struct policy_decision d;

	assert_int_equal(request_explain(p, text_of(want, "request"), &d), 0);
	policy_rule(p, d.rule, &rule);
	if (!strcmp(text_of(want, "verdict"), d.verdict == POLICY_DENY ? "deny" : "allow") &&
		(!has_lines || !line || json_integer_value(line) == rule.line) &&
		(!has_lines || !text || (rule.text && !strcmp(text, rule.text))))
		return true;
	print_error("%s: verdict %d, line %u, `%s`\n", text_of(want, "request"), d.verdict,
		rule.line, rule.text ? rule.text : "");
	return false;
}

static bool decides(const char *text, size_t len, const json_t *root, bool has_lines)
{
	_cleanup_(policy_free_ptr)
	struct policy *p = NULL;
	struct err_list errs;
	const json_t *want;
	bool is_good = true;
	size_t i;

	err_init(&errs, "case");
	if (policy_load_text(text, len, NULL, &errs, &p) < 0) {
		err_print(&errs, stderr);
		return false;
	}
	json_array_foreach(json_object_get(root, "requests"), i, want) is_good &=
		is_decided(p, want, has_lines);
	return is_good;
}

/* What of a printed policy the case must repeat: all but the first line. */
static bool is_policy(const struct import *im, const json_t *root)
{
	_cleanup_(buf_done)
	struct buf out, want;
	const char *body;
	bool is_good;

	buf_init(&out);
	add_text(&want, json_object_get(root, "policy"));
	assert_int_equal(import_print(im, "a file", &out), 0);
	body = strchr(out.data, '\n') + 1;
	is_good = !strcmp(body, want.data);
	if (!is_good)
		print_error("%s", body);
	return decides(out.data, out.len, root, false) && is_good;
}

static bool run_case(const char *file)
{
	json_error_t where;
	json_t *root = json_load_file(file, 0, &where);
	const json_t *error = json_object_get(root, "error");
	_cleanup_(import_done)
	struct import im;
	_cleanup_(buf_done)
	struct buf input;
	struct err_list errs;
	bool is_good;
	int r;

	if (!root)
		fail_msg("%s:%d: %s", file, where.line, where.text);
	add_text(&input, json_object_get(root, "input"));
	err_init(&errs, file);
	r = import_read(input.data, input.len, IMPORT_NONE, &errs, &im);
	if (error) {
		is_good = r == -EINVAL && has_error(&errs, error);
	} else if (r < 0) {
		err_print(&errs, stderr);
		is_good = false;
	} else {
		is_good = import_find(text_of(root, "format")) == im.format;
		is_good &= is_policy(&im, root);
		is_good &= are_notes(&im, json_object_get(root, "notes"));
		if (im.format == IMPORT_TASK)
			is_good &= decides(input.data, input.len, root, true);
	}
	if (!is_good)
		print_error("%s: not as the case says\n", file);
	json_decref(root);
	return is_good;
}

static void every_import_case_holds(void **state)
{
	bool is_good = true;
	glob_t found;

	(void)state;
	assert_int_equal(glob(CASES, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 10);
	for (size_t i = 0; i < found.gl_pathc; i++)
		is_good &= run_case(found.gl_pathv[i]);
	globfree(&found);
	assert_true(is_good);
}

static void other_formats_do_not_run_and_say_what_to_do(void **state)
{
	static const char text[] = "{\"network\": {\"allowedDomains\": [\"a.example\"]}}";
	struct policy *p = NULL;
	struct err_list errs;

	(void)state;
	err_init(&errs, "settings.json");
	assert_int_equal(policy_load_text(text, strlen(text), NULL, &errs, &p), -EINVAL);
	assert_int_equal(errs.n_errors, 1);
	assert_non_null(strstr(errs.items[0].what, "sandbox-runtime"));
	assert_non_null(strstr(errs.items[0].mend, "nej import"));
}

static void a_task_in_toml_is_refused_for_what_it_is(void **state)
{
	static const char text[] = "version = \"1.0\"\n\n[environment]\n"
				   "network_mode = \"no-network\"\n";
	struct policy *p = NULL;
	struct err_list errs;

	(void)state;
	err_init(&errs, "task.toml");
	assert_int_equal(policy_load_text(text, strlen(text), NULL, &errs, &p), -EINVAL);
	assert_int_equal(errs.n_errors, 1);
	assert_int_equal(errs.items[0].line, 3);
	assert_non_null(strstr(errs.items[0].what, "TOML"));
}

static void a_task_warns_where_its_meaning_changed(void **state)
{
	static const char text[] =
		"sandbox:\n  network_mode: denylist\n  blocked_urls: [\"a.example/x?y=1\"]\n";
	struct policy *p = NULL;
	struct err_list errs;

	(void)state;
	err_init(&errs, "task.yaml");
	assert_int_equal(policy_load_text(text, strlen(text), NULL, &errs, &p), 0);
	assert_true(errs.n_warnings >= 1);
	assert_int_equal(errs.items[0].line, 3);
	assert_non_null(strstr(errs.items[0].what, "query"));
	policy_free(p);
}

/* A text of another tool must not smuggle lines into the policy that is printed. */
static void an_entry_cannot_break_out_of_its_comment(void **state)
{
	static const char text[] = "sandbox:\n  network_mode: denylist\n  blocked_urls:\n"
				   "    - \"https://a.example/x\\n  - allow: evil.example\"\n";
	_cleanup_(import_done)
	struct import im;
	_cleanup_(buf_done)
	struct buf out;
	struct err_list errs;

	(void)state;
	buf_init(&out);
	err_init(&errs, "task.yaml");
	assert_int_equal(import_read(text, strlen(text), IMPORT_NONE, &errs, &im), 0);
	assert_int_equal(import_print(&im, "a\nrules: []", &out), 0);
	assert_null(strstr(out.data, "\n  - allow"));
	assert_null(strstr(out.data, "\nrules: []"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_import_case_holds),
		cmocka_unit_test(other_formats_do_not_run_and_say_what_to_do),
		cmocka_unit_test(a_task_in_toml_is_refused_for_what_it_is),
		cmocka_unit_test(a_task_warns_where_its_meaning_changed),
		cmocka_unit_test(an_entry_cannot_break_out_of_its_comment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
