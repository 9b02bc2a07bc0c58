/* SPDX-License-Identifier: GPL-2.0-only */
/* What annotations may name, and what they may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../user/sandbox/ocichoice.h"

static char why[512], path[PATH_MAX];

/* What a container with this annotation gets; NULL: an error. */
static const char *choose(const char *policy, const struct ocichoice_plan *plan)
{
	struct ocistate s = {.id = "c"};

	snprintf(s.policy, sizeof(s.policy), "%s", policy);
	return ocichoice_policy(&s, plan, path, why, sizeof(why)) < 0 ? NULL : path;
}

static void names_are_files_of_the_folder(void **state)
{
	const struct ocichoice_plan standard = {0}, own = {.policies = "/srv/p"};

	(void)state;
	assert_string_equal(choose("agent", &standard), "/etc/nej/policies/agent.yaml");
	assert_string_equal(choose("agent.yaml", &standard), "/etc/nej/policies/agent.yaml");
	assert_string_equal(choose("a-1_b.c", &own), "/srv/p/a-1_b.c.yaml");
	assert_string_equal(choose("/etc/nej/box.yml", &standard), "/etc/nej/box.yml");
	assert_string_equal(choose("/srv/p/team/a.yaml", &own), "/srv/p/team/a.yaml");
	assert_string_equal(
		choose("/x/y.yaml", &(struct ocichoice_plan){.policies = "/"}), "/x/y.yaml");
}

static void other_files_of_the_host_are_not_named(void **state)
{
	static const char *const bad[] = {"/etc/shadow", "/etc/nej/audit.key", "../x", "..", ".x",
		"a/b", "/etc/nej/../shadow.yaml", "/etc/nej/./a.yaml", "/etc/nej//a.yaml",
		"/etc/nej/.hidden.yaml", "/etc/nejs/a.yaml", "/etc/nej", "/etc/nej/", "/", "a b",
		"a\xc3\xa4", "~/a", "//etc/nej/a.yaml"};
	const struct ocichoice_plan standard = {0}, own = {.policies = "/srv/p/"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(choose(bad[i], &standard));
		assert_non_null(strstr(why, "neither the name of a policy"));
	}
	assert_null(choose("/etc/nej/policies/agent.yaml", &own));
	assert_null(choose("/srv/p", &own));
	assert_null(choose("/srv/policy/a.yaml", &own));
}

static void default_that_is_broken_is_not_none(void **state)
{
	char link[] = "/tmp/nej-choice.XXXXXX";
	struct ocichoice_plan plan = {.fallback = link};

	(void)state;
	close(mkstemp(link));
	assert_string_equal(choose("", &plan), link);
	unlink(link);
	assert_null(choose("", &plan));
	assert_int_equal(symlink("/nowhere/at/all", link), 0);
	assert_string_equal(choose("", &plan), link);
	unlink(link);
}

static void name_of(const char *id, const char *name, enum ocistate_kind kind, char *ret)
{
	struct ocistate s = {.kind = kind};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.name, sizeof(s.name), "%s", name);
	assert_int_equal(ocichoice_name(&s, ret, why, sizeof(why)), 0);
}

static void two_ids_never_give_one_name(void **state)
{
	static const char *const ids[] = {"a", "a.b", "a_b", "a+b",
		"a-very-long-name-that-somebody-gave-to-it-1",
		"a-very-long-name-that-somebody-gave-to-it-2",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789abcdef0123456789abcdee0123456789abcdef.x"};
	enum { N = sizeof(ids) / sizeof(ids[0]) };
	char names[2][N][OCICHOICE_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		name_of(ids[i], "", OCISTATE_CONTAINER, names[0][i]);
		name_of(ids[i], "box", OCISTATE_IN_POD, names[1][i]);
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(names[0][i], names[0][j]);
			assert_string_not_equal(names[1][i], names[1][j]);
		}
	}
	assert_string_equal(names[0][0], "oci-a");
	assert_string_equal(names[0][6], "oci-0123456789abcdef0123456789abcdef01234567");
	assert_string_equal(names[1][6], "box-0123456789ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_files_of_the_folder),
		cmocka_unit_test(other_files_of_the_host_are_not_named),
		cmocka_unit_test(default_that_is_broken_is_not_none),
		cmocka_unit_test(two_ids_never_give_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
