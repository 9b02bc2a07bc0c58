/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of grants: what a request may say, which are in force, what records call them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/clock.h"
#include "../../../user/sandbox/grants.h"

static struct grants all;

static int clear(void **state)
{
	(void)state;
	grants_done(&all);
	return 0;
}

static struct grant *parse(const char *text, char why[static 128])
{
	json_t *request = json_loads(text, JSON_ALLOW_NUL, NULL);
	struct grant *g;

	assert_non_null(request);
	why[0] = 0;
	g = grant_parse(request, why, 128);
	json_decref(request);
	return g;
}

static struct grant *make(const char *target, uint32_t seconds, bool is_kernel)
{
	json_t *request = json_pack("{s:s, s:i, s:s, s:i}", "target", target, "seconds",
		(int)seconds, "transport", is_kernel ? "kernel" : "direct", "uid", 1000);
	struct grant *g;
	char why[128];

	g = grant_parse(request, why, sizeof(why));
	json_decref(request);
	assert_non_null(g);
	return g;
}

static struct grant *put(const char *target, uint32_t seconds)
{
	struct grant *g = make(target, seconds, false);

	assert_int_equal(grant_begin(g, &all), 0);
	grants_add(&all, g);
	return g;
}

static void request_that_is_not_sound_is_refused(void **state)
{
	static const char *const bad[] = {
		"{\"seconds\": 60}",
		"{\"target\": \"\", \"seconds\": 60}",
		"{\"target\": 7, \"seconds\": 60}",
		"{\"target\": \"a.example\"}",
		"{\"target\": \"a.example\", \"seconds\": 0}",
		"{\"target\": \"a.example\", \"seconds\": -1}",
		"{\"target\": \"a.example\", \"seconds\": 86401}",
		"{\"target\": \"a.example\", \"seconds\": \"60\"}",
		"{\"target\": \"a.example\", \"seconds\": 9223372036854775807}",
		"{\"target\": \"a.example\", \"seconds\": 60, \"transport\": \"upstream\"}",
		"{\"target\": \"a.example\\n\", \"seconds\": 60}",
		"{\"target\": \"a\\u202e.example\", \"seconds\": 60}",
		"{\"target\": \"a.example\", \"seconds\": 60, \"note\": \"\\u001b[2J\"}",
		"{\"target\": \"a.example\", \"seconds\": 60, \"note\": \"\\u009b2J\"}",
		"{\"target\": \"a.example\", \"seconds\": 60, \"note\": \"\\u2066x\"}",
		"{\"target\": \"a.example\", \"seconds\": 60, \"note\": \"a\\u007f\"}",
	};
	char why[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], why))
			fail_msg("taken: %s", bad[i]);
		assert_true(strlen(why) > 10);
	}
}

static void sound_request_is_taken_as_it_is(void **state)
{
	char why[128];
	struct grant *g = parse("{\"target\": \"POST https://a.example/x\", \"seconds\": 86400, "
				"\"note\": \"f\\u00f6r \\ud83d\\ude00\", \"uid\": 1000}",
		why);

	(void)state;
	assert_non_null(g);
	assert_string_equal(g->target, "POST https://a.example/x");
	assert_string_equal(g->note, "f\xc3\xb6r \xf0\x9f\x98\x80");
	assert_int_equal(g->seconds, 86400);
	assert_int_equal(g->uid, 1000);
	assert_false(g->is_kernel);
	grant_free(g);
	g = parse("{\"target\": \"a.example\", \"seconds\": 1, \"note\": \"\", \"uid\": -1}", why);
	assert_null(g->note);
	assert_int_equal(g->uid, 0);
	grant_free(g);
}

static void ids_are_never_given_twice_nor_share_a_place(void **state)
{
	struct grant *old, *g;

	(void)state;
	old = put("a.example", 60);
	assert_int_equal(old->id, 1);
	for (uint32_t i = 2; i <= NEJ_MAX_GRANTS; i++)
		assert_int_equal(put("b.example", 60)->id, i);
	g = make("c.example", 60, false);
	assert_int_equal(grant_begin(g, &all), -ENOSPC);
	/* what it takes the place of makes room */
	all.live[3]->is_ending = true;
	assert_int_equal(grant_begin(g, &all), 0);
	assert_int_equal(g->id, NEJ_MAX_GRANTS + all.live[3]->id);
	old = grants_end_one(&all);
	assert_ptr_equal(old, all.ended[0]);
	assert_null(grants_end_one(&all));
	grants_add(&all, g);
	assert_int_equal(all.n, NEJ_MAX_GRANTS);
}

static void ended_grant_is_known_by_name_for_a_while(void **state)
{
	const char *text = NULL, *note = NULL;

	(void)state;
	put("a.example", 60);
	assert_true(grants_text(&all, NEJ_RULE_GRANT | 1, &text, &note));
	assert_string_equal(text, "grant 1: a.example");
	all.live[0]->is_ending = true;
	assert_non_null(grants_end_one(&all));
	assert_true(grants_text(&all, NEJ_RULE_GRANT | 1, &text, &note));
	assert_string_equal(text, "grant 1: a.example");
	assert_false(grants_text(&all, NEJ_RULE_GRANT | 2, &text, &note));
	assert_false(grants_text(&all, 1, &text, &note));
	assert_false(grants_text(&all, POLICY_NO_RULE, &text, &note));
	for (int i = 0; i < NEJ_MAX_GRANTS; i++) {
		put("b.example", 60);
		all.live[0]->is_ending = true;
		grants_end_one(&all);
	}
	assert_false(grants_text(&all, NEJ_RULE_GRANT | 1, &text, &note));
}

static void first_end_is_the_earliest(void **state)
{
	uint64_t now = clock_boot_ns();

	(void)state;
	assert_int_equal(grants_first_end(&all), 0);
	put("a.example", 100);
	put("b.example", 50);
	put("c.example", 70);
	assert_in_range(grants_first_end(&all), now + 50000000000, now + 51000000000);
}

static void those_that_are_ending_are_left_out(void **state)
{
	struct policy *image = NULL;
	struct err_list errs;
	uint64_t end;
	uint32_t id;

	(void)state;
	err_init(&errs, "grants");
	put("a.example", 60);
	put("b.example", 60);
	grants_add(&all, make("93.184.216.34:22", 60, true));
	all.live[0]->id = 7;
	all.live[0]->expiry_ns = 1;
	assert_int_equal(grants_compile(&all, NULL, &errs, &image), 0);
	assert_true(overlay_grant(image, 0, &id, &end));
	assert_int_equal(id, 7); /* the kernel's first, then the newest */
	assert_true(overlay_grant(image, 1, &id, &end));
	assert_int_equal(id, 2);
	assert_true(overlay_grant(image, 2, &id, &end));
	assert_int_equal(id, 1);
	assert_false(overlay_grant(image, 3, &id, &end));
	policy_free(image);
	for (int i = 0; i < 3; i++)
		all.live[i]->is_ending = true;
	image = (struct policy *)&all;
	assert_int_equal(grants_compile(&all, NULL, &errs, &image), 0);
	assert_null(image);
}

static void warnings_are_about_the_new_one(void **state)
{
	struct grant *g = make("http://b.example", 60, false);
	struct policy *image;
	struct err_list errs;

	(void)state;
	err_init(&errs, "grants");
	put(".github.io", 60);
	assert_int_equal(grant_begin(g, &all), 0);
	assert_int_equal(grants_compile(&all, g, &errs, &image), 0);
	assert_int_equal(errs.n_items, 1);
	assert_int_equal(errs.items[0].line, 1);
	policy_free(image);
	grant_free(g);
}

static void list_says_how_long_each_still_is(void **state)
{
	json_t *list, *row;

	(void)state;
	put("a.example", 60);
	all.live[0]->expiry_ns = clock_boot_ns() + 1;
	put("b.example", 60);
	list = grants_print(&all);
	row = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(row, "target")), "b.example");
	assert_int_equal(json_integer_value(json_object_get(row, "remaining_s")), 60);
	assert_int_equal(json_integer_value(json_object_get(row, "uid")), 1000);
	row = json_array_get(list, 1);
	assert_int_equal(json_integer_value(json_object_get(row, "remaining_s")), 0);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_that_is_not_sound_is_refused),
		cmocka_unit_test(sound_request_is_taken_as_it_is),
		cmocka_unit_test_teardown(ids_are_never_given_twice_nor_share_a_place, clear),
		cmocka_unit_test_teardown(ended_grant_is_known_by_name_for_a_while, clear),
		cmocka_unit_test_teardown(first_end_is_the_earliest, clear),
		cmocka_unit_test_teardown(those_that_are_ending_are_left_out, clear),
		cmocka_unit_test_teardown(warnings_are_about_the_new_one, clear),
		cmocka_unit_test_teardown(list_says_how_long_each_still_is, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
