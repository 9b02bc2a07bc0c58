/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts are found in every form, in every split, and replaced in the form they had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/wire/swap.h"

#define OLD "ghp_9fQx2LmZ"
#define NEW "nej-PLACEHOL"
#define MORE "s3cr3t w/ \"all\"+100%\\"

static const struct needle texts[] = {
	{OLD, sizeof(OLD) - 1, false}, {MORE, sizeof(MORE) - 1, false}};
static const struct needle blind[] = {{OLD, sizeof(OLD) - 1, true}};

static struct needles *set_of(const struct needle *list, size_t n)
{
	struct needles *set = NULL;

	assert_int_equal(needles_new(list, n, &set), 0);
	return set;
}

static int put_new(void *arg, const struct needle_hit *hit, struct buf *out)
{
	if (arg)
		++*(int *)arg;
	swap_print_like(hit, texts[hit->id].len, NEW, sizeof(NEW) - 1, out);
	return 0;
}

static int refuse(void *arg, const struct needle_hit *hit, struct buf *out)
{
	(void)arg;
	(void)hit;
	(void)out;
	return -EPERM;
}

/* --- the rows: OLD in a form, between bytes that could belong to it */

static const struct {
	const char *in, *out;
} rows[] = {
	{"token ghp_9fQx2LmZ.", "token nej-PLACEHOL."},
	{"ghp_9fQx2LmZghp_9fQx2LmZ", "nej-PLACEHOLnej-PLACEHOL"},
	{"ghp_ghp_9fQx2LmZ9fQx", "ghp_nej-PLACEHOL9fQx"},
	{"gghp_9fQx2LmZZ", "gnej-PLACEHOLZ"},
	{"?t=ghp%5F9fQx2LmZ&x", "?t=nej-PLACEHOL&x"},
	{"?t=ghp%5f9fQx2LmZ&x", "?t=nej-PLACEHOL&x"},
	{"%67%68%70%5f%39%66%51%78%32%4c%6d%5A", "nej-PLACEHOL"},
	{"%25%67%68%70%5f%39%66%51%78%32%4c%6d%5A", "%25nej-PLACEHOL"},
	{"%ghp_9fQx2Lm%5a%", "%nej-PLACEHOL%"},
	{"ghp%255f9fQx2LmZ", "nej-PLACEHOL"},
	{"ghp%25255f9fQx2LmZ", "nej-PLACEHOL"},
	{"{\"a\":\"\\u0067hp_9fQx2LmZ\\n\"}", "{\"a\":\"nej-PLACEHOL\\n\"}"},
	{"\\u0067\\u0068\\u0070\\u005F\\u0039\\u0066\\u0051\\u0078\\u0032\\u004c\\u006d\\u005a",
		"nej-PLACEHOL"},
	/* base64: a digit shared with another byte stays as it is */
	{"Z2hwXzlmUXgyTG1a", "bmVqLVBMQUNFSE9M"},
	{"eHh4Z2hwXzlmUXgyTG1a", "eHh4bmVqLVBMQUNFSE9M"},
	{"eGdocF85ZlF4MkxtWg==", "eG5lai1QTEFDRUhPTg=="},
	{"eHhnaHBfOWZReDJMbVo=", "eHhuZWotUExBQ0VIT0o="},
	{"6768705f39665178324c6d5a", "6e656a2d504c414345484f4c"},
	{"6768705F39665178324C6D5A", "6e656a2d504c414345484f4c"},
	{"a6768705f39665178324c6d5a5", "a6e656a2d504c414345484f4c5"},
	/* the second text, which has every odd character */
	{"k=s3cr3t w/ \"all\"+100%\\.", "k=nej-PLACEHOL."},
	{"k=s3cr3t+w%2F+%22all%22%2B100%25%5c&", "k=nej-PLACEHOL&"},
	{"k=s3cr3t%20w%2F%20%22all%22%2B100%25%5C", "k=nej-PLACEHOL"},
	{"[\"s3cr3t w\\/ \\\"all\\\"+100%\\\\\"]", "[\"nej-PLACEHOL\"]"},
	/* not the text */
	{"ghp_9fQx2Lm", "ghp_9fQx2Lm"},
	{"GHP_9fQx2LmZ", "GHP_9fQx2LmZ"},
	{"ghp_9fQx2Lm%5", "ghp_9fQx2Lm%5"},
	{"ghp_9fQx2Lm\\u005", "ghp_9fQx2Lm\\u005"},
	{"\\\\\\%%%\\u00\\u%2", "\\\\\\%%%\\u00\\u%2"},
};

static void found_texts_are_replaced_in_their_form(void **state)
{
	struct needles *set = set_of(texts, 2);
	const struct swap_rule rule = {.needles = set, .on_hit = put_new};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf out = {0};

		assert_true(swap_text(&rule, rows[i].in, strlen(rows[i].in), &out) >= 0);
		assert_string_equal(out.data, rows[i].out);
		buf_done(&out);
	}
	needles_free(set);
}

/* --- streams */

static int run(const struct swap_rule *rule, const char *text, const size_t *cuts, size_t n_cuts,
	struct buf *out)
{
	struct sieve *sieve = NULL;
	size_t at = 0, len = strlen(text);
	int r;

	assert_int_equal(swap_sieve_new(rule, NULL, &sieve), 0);
	r = 0;
	for (size_t i = 0; i <= n_cuts && r == 0; i++) {
		size_t to = i < n_cuts ? cuts[i] : len;
		size_t before = out->len;

		r = sieve_feed(sieve, text + at, to - at, out);
		if (r < 0)
			out->len = before;
		at = to;
	}
	if (r == 0)
		r = sieve_finish(sieve, out);
	buf_add(out, "", 0);
	sieve_free(sieve);
	return r;
}

static void replaced_the_same_at_every_two_cuts(void **state)
{
	struct needles *set = set_of(texts, 2);
	const struct swap_rule rule = {.needles = set, .hold_bytes = 1, .on_hit = put_new};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t a = 0; a <= strlen(rows[i].in); a++)
			for (size_t b = a; b <= strlen(rows[i].in); b++) {
				const size_t cuts[] = {a, b};
				struct buf out = {0};

				assert_int_equal(run(&rule, rows[i].in, cuts, 2, &out), 0);
				assert_string_equal(out.data, rows[i].out);
				buf_done(&out);
			}
	needles_free(set);
}

static void short_beginnings_are_not_kept_back(void **state)
{
	struct needles *set = set_of(texts, 2);
	const struct swap_rule rule = {.needles = set, .hold_bytes = 4, .on_hit = put_new};
	struct sieve *sieve = NULL;
	struct buf out = {0};

	(void)state;
	assert_int_equal(swap_sieve_new(&rule, NULL, &sieve), 0);
	sieve_feed(sieve, "data: ghp", 9, &out);
	assert_string_equal(out.data, "data: ghp");
	sieve_feed(sieve, "_", 1, &out);
	assert_string_equal(out.data, "data: ghp");
	sieve_feed(sieve, "9fQx2LmZ\n\n", 10, &out);
	assert_string_equal(out.data, "data: ghp-PLACEHOL\n\n");
	sieve_feed(sieve, "ghp_9fQx2LmY", 12, &out);
	assert_string_equal(out.data, "data: ghp-PLACEHOL\n\nghp_9fQx2LmY");
	sieve_feed(sieve, "ghp_", 4, &out);
	sieve_finish(sieve, &out);
	assert_string_equal(out.data, "data: ghp-PLACEHOL\n\nghp_9fQx2LmYghp_");
	sieve_free(sieve);
	buf_done(&out);
	needles_free(set);
}

static void value_never_comes_through_whole_at_any_cut(void **state)
{
	struct needles *set = set_of(texts, 2);
	const struct swap_rule rule = {.needles = set, .hold_bytes = 4, .on_hit = put_new};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t a = 0; a <= strlen(rows[i].in); a++)
			for (size_t b = a; b <= strlen(rows[i].in); b++) {
				const size_t cuts[] = {a, b};
				struct needle_hit hit;
				struct buf out = {0};

				assert_int_equal(run(&rule, rows[i].in, cuts, 2, &out), 0);
				assert_false(needles_find(set, out.data, out.len, 0, &hit));
				buf_done(&out);
			}
	needles_free(set);
}

static void refused_text_never_leaves_whole(void **state)
{
	struct needles *set = set_of(texts, 2);
	const struct swap_rule rule = {.needles = set, .on_hit = refuse};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_hit = strcmp(rows[i].in, rows[i].out) != 0;

		for (size_t a = 0; a <= strlen(rows[i].in); a++)
			for (size_t b = a; b <= strlen(rows[i].in); b++) {
				const size_t cuts[] = {a, b};
				struct needle_hit hit;
				struct buf out = {0};

				assert_int_equal(
					run(&rule, rows[i].in, cuts, 2, &out), is_hit ? -EPERM : 0);
				assert_false(needles_find(set, out.data, out.len, 0, &hit));
				if (!is_hit)
					assert_string_equal(out.data, rows[i].in);
				buf_done(&out);
			}
	}
	needles_free(set);
}

static void to_trailers(void *arg)
{
	*(bool *)arg = true;
}

static int refuse_in_trailers(void *arg, const struct needle_hit *hit, struct buf *out)
{
	return *(bool *)arg ? -EPERM : put_new(NULL, hit, out);
}

static void trailers_are_looked_at_apart(void **state)
{
	struct needles *set = set_of(texts, 2);
	struct swap_rule rule = {.needles = set, .on_hit = put_new};
	struct sieve *sieve = NULL;
	struct buf out = {0};
	bool is_trailer = false;

	(void)state;
	assert_int_equal(swap_sieve_new(&rule, NULL, &sieve), 0);
	assert_int_equal(sieve_trailers(sieve, "X: " OLD "\r\n", 17, &out), 0);
	assert_string_equal(out.data, "X: " NEW "\r\n");
	sieve_free(sieve);
	assert_int_equal(sieve_trailers(NULL, "X: 1\r\n", 6, &out), 0);
	assert_int_equal(out.len, 17); /* nobody looked: they are dropped */
	rule.on_hit = refuse_in_trailers;
	rule.on_trailers = to_trailers;
	rule.arg = &is_trailer;
	assert_int_equal(swap_sieve_new(&rule, NULL, &sieve), 0);
	assert_int_equal(sieve_feed(sieve, OLD, 12, &out), 0);
	assert_int_equal(sieve_trailers(sieve, "X: " OLD "\r\n", 17, &out), -EPERM);
	sieve_free(sieve);
	buf_done(&out);
	needles_free(set);
}

/* --- others */

static void other_case_is_an_altered_form(void **state)
{
	static const struct {
		const char *text;
		bool is_found, is_altered;
	} forms[] = {
		{"ghp_9fQx2LmZ", true, false},
		{"GHP_9fqx2lmz", true, true},
		{"ghp_9fqx2lm%7a", true, true},
		{"ghp%5f9fQx2LmZ", true, false},
		{"ghp%255f9fQx2LmZ", true, true},
		{"ghp_9fQx2Lm2", false, false},
	};
	struct needles *set = set_of(blind, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct needle_hit hit = {0};

		assert_int_equal(needles_find(set, forms[i].text, strlen(forms[i].text), 0, &hit),
			forms[i].is_found);
		assert_int_equal(hit.is_altered, forms[i].is_altered);
	}
	needles_free(set);
}

/* Every place of a long text, so that both filters and the borders of their blocks are met. */
static void found_at_every_place_of_a_long_text(void **state)
{
	static const char *const forms[] = {OLD, "ghp%5F9fQx2LmZ", "ghp_9fQx2Lm\\u005a",
		"eGdocF85ZlF4MkxtWg", "6768705f39665178324c6d5a"};
	struct needles *set = set_of(texts, 2);
	static char text[9000];

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++)
		for (size_t at = 0; at < 4300; at++) {
			struct needle_hit hit;

			memset(text, 'g', sizeof(text));
			memcpy(text + at, forms[f], strlen(forms[f]));
			assert_true(needles_find(set, text, sizeof(text), 0, &hit));
			assert_in_range(hit.start, at, at + 3);
			assert_in_range(hit.end, at + strlen(forms[f]) - 2, at + strlen(forms[f]));
			assert_false(needles_find(set, text, sizeof(text), hit.start + 1, &hit));
			if (at == 100)
				at = 4050;
		}
	needles_free(set);
}

static void many_texts_are_told_apart(void **state)
{
	static char names[NEEDLE_MAX][24];
	struct needle list[NEEDLE_MAX];
	struct needles *set;
	struct needle_hit hit;

	(void)state;
	for (size_t i = 0; i < NEEDLE_MAX; i++) {
		int n = snprintf(names[i], sizeof(names[i]), "secret-%02zu-%zx", i, i * 7919);

		list[i] = (struct needle){names[i], (size_t)n, true};
	}
	assert_int_equal(needles_new(list, NEEDLE_MAX + 1, &set), -E2BIG);
	set = set_of(list, NEEDLE_MAX);
	for (size_t i = 0; i < NEEDLE_MAX; i++) {
		assert_true(needles_find(set, names[i], list[i].len, 0, &hit));
		assert_int_equal(hit.id, i);
	}
	needles_free(set);
}

static void short_texts_are_not_looked_for(void **state)
{
	static const struct needle list[] = {{"hunter2", 7, false}, {NULL, 0, false}};
	struct needles *set = set_of(list, 2);
	struct needle_hit hit;

	(void)state;
	assert_true(needles_is_empty(set));
	assert_false(needles_find(set, "hunter2", 7, 0, &hit));
	assert_int_equal(needles_tail(set, "hunter", 6, 0), 6);
	needles_free(set);
}

static void contexts_escape_what_they_must(void **state)
{
	static const struct {
		enum swap_context context;
		const char *out;
	} contexts[] = {
		{SWAP_PLAIN, "a\"b\\c/d e%f~"},
		{SWAP_JSON, "a\\\"b\\\\c/d e%f~"},
		{SWAP_URL, "a%22b%5Cc%2Fd%20e%25f~"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct buf out = {0};

		swap_print(contexts[i].context, "a\"b\\c/d e%f~", 12, &out);
		assert_string_equal(out.data, contexts[i].out);
		buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_texts_are_replaced_in_their_form),
		cmocka_unit_test(replaced_the_same_at_every_two_cuts),
		cmocka_unit_test(short_beginnings_are_not_kept_back),
		cmocka_unit_test(value_never_comes_through_whole_at_any_cut),
		cmocka_unit_test(refused_text_never_leaves_whole),
		cmocka_unit_test(trailers_are_looked_at_apart),
		cmocka_unit_test(other_case_is_an_altered_form),
		cmocka_unit_test(found_at_every_place_of_a_long_text),
		cmocka_unit_test(many_texts_are_told_apart),
		cmocka_unit_test(short_texts_are_not_looked_for),
		cmocka_unit_test(contexts_escape_what_they_must),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
