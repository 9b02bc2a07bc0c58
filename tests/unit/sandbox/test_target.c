/* SPDX-License-Identifier: GPL-2.0-only */
/* What a cgroup's path and a program's name say about a target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/target.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void container_is_read_from_the_cgroups_path(void **state)
{
	static const struct {
		const char *path, *id;
	} cases[] = {
		{"/sys/fs/cgroup/system.slice/docker-" ID ".scope", ID},
		{"/sys/fs/cgroup/kubepods.slice/cri-containerd-" ID ".scope/init", ID},
		{"/sys/fs/cgroup/docker/" ID, ID},
		{"/sys/fs/cgroup/machine.slice/libpod-" ID ".scope/container", ID},
		{"/sys/fs/cgroup/docker/" ID "0", NULL},
		{"/sys/fs/cgroup/docker/0123456789ABCDEF", NULL},
		{"/sys/fs/cgroup/system.slice/agent.service", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[TARGET_CONTAINER_BYTES] = "";

		assert_int_equal(target_container_of(cases[i].path, id), cases[i].id != NULL);
		assert_string_equal(id, cases[i].id ? cases[i].id : "");
	}
}

static void cgroup_of_a_pod_is_known_by_its_whole_uid(void **state)
{
	static const struct {
		const char *name;
		bool is_pods;
	} cases[] = {
		{"pod0c1d-22", true},
		{"pod0c1d_22.slice", true},
		{"kubepods-pod0c1d_22.slice", true},
		{"kubepods-burstable-pod0c1d_22.slice", true},
		{"pod0c1d-221", false},
		{"pod0c1d-22x.slice", false},
		{"pod10c1d-22", false},
		{"kubepods-besteffort-tripod0c1d_22.slice", false},
		{"0c1d-22", false},
		{"0c1d-22.slice", false},
		{"pod", false},
		{".slice", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(target_names_pod(cases[i].name, "0c1d-22"), cases[i].is_pods);
	assert_false(target_names_pod("pod", ""));
	assert_false(target_names_pod("pod.slice", ""));
}

static void programs_with_a_kernel_of_their_own_are_known(void **state)
{
	static const struct {
		const char *exe;
		bool is_other;
	} cases[] = {
		{"runsc", true},
		{"runsc-sandbox", true},
		{"qemu-system-x86_64", true},
		{"firecracker", true},
		{"qemu-x86_64", false}, /* translates programs, the system calls are ours */
		{"runc", false},
		{"bash", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(target_other_kernel(cases[i].exe) != NULL, cases[i].is_other);
}

static void what_is_no_target_is_refused_with_the_reason(void **state)
{
	const struct target_plan nowhere = {.cgroup_path = "/nowhere/at/all", .name = "t"};
	const struct target_plan folder = {.cgroup_path = "/proc", .name = "t"};
	struct target t;
	char why[256];

	(void)state;
	assert_true(target_find(&nowhere, &t, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "cgroup"));
	assert_int_equal(t.netns_fd, -1);
	assert_true(target_find(&folder, &t, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "cgroup2"));
	cgroup_close(&t.cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_is_read_from_the_cgroups_path),
		cmocka_unit_test(cgroup_of_a_pod_is_known_by_its_whole_uid),
		cmocka_unit_test(programs_with_a_kernel_of_their_own_are_known),
		cmocka_unit_test(what_is_no_target_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
