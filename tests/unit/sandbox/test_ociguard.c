/* SPDX-License-Identifier: GPL-2.0-only */
/* What a container's configuration says that it may do. */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/sandbox/ociguard.h"

#define BIT(n) (UINT64_C(1) << (n))

static struct ociguard_facts facts;
static char why[256];

static int read_config(const char *text)
{
	return ociguard_read(text, strlen(text), "/srv/bundle", &facts, why, sizeof(why));
}

static const char *exposes(const char *mounts)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"mounts\":[%s]}", mounts);
	assert_int_equal(read_config(text), 0);
	return facts.mounts.what ? facts.mounts.path : NULL;
}

static void capabilities_of_every_set_count(void **state)
{
	(void)state;
	assert_int_equal(
		read_config("{\"process\":{\"capabilities\":{\"bounding\":[\"CAP_NET_RAW\"],"
			    "\"ambient\":[\"CAP_CHOWN\",\"CAP_NO_SUCH\",7],\"permitted\":[],"
			    "\"inheritable\":[\"cap_sys_admin\"]}}}"),
		0);
	assert_true(facts.caps == (BIT(CAP_NET_RAW) | BIT(CAP_CHOWN) | BIT(CAP_SYS_ADMIN)));
	assert_int_equal(read_config("{\"process\":{}}"), 0);
	assert_true(facts.caps == 0);
}

static void folders_of_the_host_that_it_can_write_to_are_found(void **state)
{
	(void)state;
	assert_string_equal(
		exposes("{\"source\":\"/\",\"destination\":\"/h\",\"options\":[\"rbind\"]}"), "/");
	assert_string_equal(
		exposes("{\"source\":\"/etc\",\"type\":\"bind\",\"options\":[\"rw\"]}"), "/etc");
	assert_string_equal(
		exposes("{\"source\":\"/proc/sys\",\"options\":[\"bind\"]}"), "/proc/sys");
	assert_string_equal(
		exposes("{\"source\":\"cgroup\",\"type\":\"cgroup\",\"options\":[\"rw\"]}"),
		"/sys/fs/cgroup");
	assert_string_equal(
		exposes("{\"source\":\"/tmp/../etc\",\"options\":[\"bind\"]}"), "/tmp/../etc");
	assert_null(exposes("{\"source\":\"/etc\",\"type\":\"bind\",\"options\":[\"ro\"]}"));
	assert_null(exposes("{\"source\":\"/tmp\",\"options\":[\"rbind\",\"rw\"]}"));
	assert_null(exposes("{\"source\":\"proc\",\"type\":\"proc\",\"destination\":\"/proc\"}"));
	assert_string_equal(exposes("{\"source\":\"/run/nej/none/such\",\"type\":\"bind\"}"),
		"/run/nej/none/such");
	assert_null(exposes("{\"source\":\"/no/such/thing\",\"options\":[\"rbind\"]}"));
	assert_null(exposes("7,null,{}"));
}

static void what_a_read_only_mount_leaves_in_reach_is_found(void **state)
{
	static const char *const bad[] = {"/", "/run", "/run/nej", "/run/nej/box.sock",
		"/run/dbus/system_bus_socket", "/run/containerd", "/run/containerd/containerd.sock",
		"/sys", "/sys/fs/bpf/nej", "/proc", "/proc/1/root", "/run/netns/x",
		"/tmp/no/such/docker.sock", "/run/user/7/podman.sock"};
	char mount[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(mount, sizeof(mount), "{\"source\":\"%s\",\"options\":[\"rbind\",\"ro\"]}",
			bad[i]);
		assert_string_equal(exposes(mount), bad[i]);
		assert_true(facts.mounts.is_in_reach_read_only);
	}
	/* what engines mount into each container */
	assert_null(exposes("{\"source\":\"/run/containerd/io.containerd.grpc.v1.cri/sandboxes/a/"
			    "shm\",\"options\":[\"rbind\",\"rw\"]}"));
	assert_null(exposes("{\"source\":\"/run/containers/storage/overlay-containers/a/userdata/"
			    "resolv.conf\",\"options\":[\"bind\",\"rw\"]}"));
	assert_null(exposes("{\"source\":\"/sys/fs/cgroup\",\"options\":[\"bind\",\"ro\"]}"));
	assert_null(exposes("{\"source\":\"/tmp/my.sock\",\"options\":[\"bind\",\"ro\"]}"));
}

static const char *settings_of(const char *mount, const char *linux_part)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"mounts\":[%s],\"linux\":{%s}}", mount, linux_part);
	assert_int_equal(read_config(text), 0);
	return facts.mounts.settings;
}

static void kernel_settings_of_the_host_are_closed_or_found(void **state)
{
	static const char proc[] =
		"{\"type\":\"proc\",\"source\":\"proc\",\"destination\":\"/proc\"}";

	(void)state;
	assert_string_equal(settings_of(proc, ""), "/proc/sys");
	assert_string_equal(settings_of(proc, "\"readonlyPaths\":[\"/proc/bus\"]"), "/proc/sys");
	assert_null(settings_of(proc, "\"readonlyPaths\":[\"/proc/bus\",\"/proc/sys\"]"));
	assert_null(settings_of(proc, "\"maskedPaths\":[\"/proc/sys\"]"));
	assert_string_equal(settings_of("{\"type\":\"sysfs\",\"source\":\"sysfs\"}", ""), "/sys");
	assert_null(settings_of("{\"type\":\"sysfs\",\"options\":[\"ro\"]}", ""));
}

static bool has_disks(const char *rules)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"linux\":{\"resources\":{\"devices\":[%s]}}}", rules);
	assert_int_equal(read_config(text), 0);
	return facts.has_disks;
}

static void all_disks_of_the_host_are_not_one_disk(void **state)
{
	(void)state;
	assert_true(has_disks("{\"allow\":true,\"access\":\"rwm\"}"));
	assert_true(has_disks("{\"allow\":false},{\"allow\":true}"));
	assert_true(has_disks("{\"allow\":true,\"type\":\"b\",\"major\":-1,\"access\":\"rw\"}"));
	assert_false(has_disks("{\"allow\":false,\"access\":\"rwm\"}"));
	assert_false(has_disks("{\"allow\":true,\"type\":\"b\",\"access\":\"m\"}"));
	assert_false(has_disks("{\"allow\":true,\"type\":\"c\",\"access\":\"rwm\"}"));
	assert_false(has_disks(
		"{\"allow\":true,\"type\":\"b\",\"major\":8,\"minor\":0,\"access\":\"rwm\"}"));
}

static void hooks_and_networks_of_others_are_found(void **state)
{
	(void)state;
	assert_int_equal(
		read_config("{\"hooks\":{\"createRuntime\":[{\"path\":\"/n\",\"args\":[\"nej\","
			    "\"oci-hook\",\"createRuntime\"]}],\"poststop\":[{\"path\":\"/x\"}]}}"),
		0);
	assert_false(facts.has_other_hooks);
	assert_int_equal(read_config("{\"hooks\":{\"createContainer\":[{\"path\":\"/x\"}]}}"), 0);
	assert_true(facts.has_other_hooks);
	assert_int_equal(read_config("{\"linux\":{\"namespaces\":[{\"type\":\"network\"}]}}"), 0);
	assert_true(facts.has_new_netns);
	assert_false(facts.has_new_mntns);
	assert_int_equal(
		read_config(
			"{\"linux\":{\"namespaces\":[{\"type\":\"network\",\"path\":\"/p\"}]}}"),
		0);
	assert_false(facts.has_new_netns);
}

static void cgroups_of_its_own_namespace_are_its_own(void **state)
{
	(void)state;
	assert_int_equal(
		read_config(
			"{\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"cgroup\"}]},"
			"\"mounts\":[{\"type\":\"cgroup2\",\"source\":\"cgroup\"}]}"),
		0);
	assert_null(facts.mounts.what);
}

static void root_folder_may_not_be_the_hosts(void **state)
{
	(void)state;
	assert_int_equal(read_config("{\"root\":{\"path\":\"/\"}}"), 0);
	assert_string_equal(facts.mounts.path, "/");
	assert_int_equal(read_config("{\"root\":{\"path\":\"/etc\",\"readonly\":true}}"), 0);
	assert_null(facts.mounts.what);
	assert_int_equal(read_config("{\"root\":{\"path\":\"../../../etc\"}}"), 0);
	assert_null(facts.mounts.what); /* /srv/bundle is not there */
}

static void what_is_no_configuration_is_refused(void **state)
{
	(void)state;
	assert_true(read_config("[]") < 0);
	assert_true(read_config("{") < 0);
	assert_true(read_config("{\"root\":{},\"root\":{}}") < 0);
	assert_non_null(strstr(why, "config.json"));
}

static void operators_list_is_read(void **state)
{
	struct ociguard_accept a = {0};

	(void)state;
	assert_int_equal(
		ociguard_parse_accept("NET_RAW,mounts,sys_admin,processes", &a, why, sizeof(why)),
		0);
	assert_true(a.mounts && a.processes && !a.devices);
	assert_true(a.caps == (BIT(CAP_NET_RAW) | BIT(CAP_SYS_ADMIN)));
	assert_true(ociguard_parse_accept("NET_ROW", &a, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "`NET_ROW` is neither"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_of_every_set_count),
		cmocka_unit_test(folders_of_the_host_that_it_can_write_to_are_found),
		cmocka_unit_test(what_a_read_only_mount_leaves_in_reach_is_found),
		cmocka_unit_test(kernel_settings_of_the_host_are_closed_or_found),
		cmocka_unit_test(all_disks_of_the_host_are_not_one_disk),
		cmocka_unit_test(hooks_and_networks_of_others_are_found),
		cmocka_unit_test(cgroups_of_its_own_namespace_are_its_own),
		cmocka_unit_test(root_folder_may_not_be_the_hosts),
		cmocka_unit_test(what_is_no_configuration_is_refused),
		cmocka_unit_test(operators_list_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
