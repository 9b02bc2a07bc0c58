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
	return facts.why_exposed ? facts.exposed : NULL;
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

static void cgroups_of_its_own_namespace_are_its_own(void **state)
{
	(void)state;
	assert_int_equal(
		read_config(
			"{\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"cgroup\"}]},"
			"\"mounts\":[{\"type\":\"cgroup2\",\"source\":\"cgroup\"}]}"),
		0);
	assert_null(facts.why_exposed);
}

static void root_folder_may_not_be_the_hosts(void **state)
{
	(void)state;
	assert_int_equal(read_config("{\"root\":{\"path\":\"/\"}}"), 0);
	assert_string_equal(facts.exposed, "/");
	assert_int_equal(read_config("{\"root\":{\"path\":\"/\",\"readonly\":true}}"), 0);
	assert_null(facts.why_exposed);
	assert_int_equal(read_config("{\"root\":{\"path\":\"../../../etc\"}}"), 0);
	assert_null(facts.why_exposed); /* /srv/bundle is not there */
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
		ociguard_parse_accept("NET_RAW,mounts,sys_admin", &a, why, sizeof(why)), 0);
	assert_true(a.mounts);
	assert_true(a.caps == (BIT(CAP_NET_RAW) | BIT(CAP_SYS_ADMIN)));
	assert_true(ociguard_parse_accept("NET_ROW", &a, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "`NET_ROW` is neither"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_of_every_set_count),
		cmocka_unit_test(folders_of_the_host_that_it_can_write_to_are_found),
		cmocka_unit_test(cgroups_of_its_own_namespace_are_its_own),
		cmocka_unit_test(root_folder_may_not_be_the_hosts),
		cmocka_unit_test(what_is_no_configuration_is_refused),
		cmocka_unit_test(operators_list_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
