/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of a cgroup that cannot be looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "../../../user/sandbox/cgroup.h"

static void one_that_cannot_be_opened_is_not_taken_for_empty(void **state)
{
	struct rlimit before, none;
	bool is;

	(void)state;
	assert_false(cgroup_is_populated("/no/such/cgroup"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	is = cgroup_is_populated("/sys/fs/cgroup");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_cannot_be_opened_is_not_taken_for_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
