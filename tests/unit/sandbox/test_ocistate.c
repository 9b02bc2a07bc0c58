/* SPDX-License-Identifier: GPL-2.0-only */
/* What runtimes say of a container, and what nobody should say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/sandbox/ocistate.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct ocistate s;
static char why[256];

static int parse(const char *text)
{
	return ocistate_parse(text, strlen(text), &s, why, sizeof(why));
}

static void states_of_runc_and_crun_are_read(void **state)
{
	(void)state;
	assert_int_equal(
		parse("{\"ociVersion\":\"1.0.2-dev\",\"id\":\"c_1.a\",\"status\":\"creating\","
		      "\"pid\":77,\"bundle\":\"/b\",\"annotations\":{\"nej.policy\":"
		      "\"agent\",\"nej.name\":\"box\",\"org.other\":\"x\",\"nejlika\":\"flower\"}"
		      "}"),
		0);
	assert_string_equal(s.id, "c_1.a");
	assert_int_equal(s.pid, 77);
	assert_string_equal(s.policy, "agent");
	assert_string_equal(s.name, "box");
	assert_int_equal(s.kind, OCISTATE_CONTAINER);
	assert_true(s.has_annotations);
	assert_int_equal(parse("{\"ociVersion\":\"1.0.0\",\"id\":\"x\",\"pid\":0,\"root\":\"/r\","
			       "\"bundle\":\"/b\",\"status\":\"stopped\",\"created\":\"2026\"}"),
		0);
	assert_int_equal(s.pid, 0);
	assert_false(s.has_annotations);
	assert_string_equal(s.policy, "");
}

static void pods_are_known_by_either_runtimes_words(void **state)
{
	(void)state;
	assert_int_equal(
		parse("{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":1,\"annotations\":{"
		      "\"io.kubernetes.cri.container-type\":\"sandbox\","
		      "\"io.kubernetes.cri.sandbox-id\":\"a\",\"io.kubernetes.cri.sandbox-uid\":"
		      "\"0-1\"}}"),
		0);
	assert_int_equal(s.kind, OCISTATE_POD);
	assert_string_equal(s.pod_uid, "0-1");
	assert_int_equal(parse("{\"id\":\"b\",\"bundle\":\"/b\",\"pid\":1,\"annotations\":{"
			       "\"io.kubernetes.cri-o.ContainerType\":\"container\","
			       "\"io.kubernetes.cri-o.SandboxID\":\"a\"}}"),
		0);
	assert_int_equal(s.kind, OCISTATE_IN_POD);
	assert_string_equal(s.pod_id, "a");
}

static void nonsense_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"null",
		"{}",
		"{\"id\":\"a\"}",
		"{\"id\":1,\"bundle\":\"/\"}",
		"{\"id\":\"\",\"bundle\":\"/\"}",
		"{\"id\":\"../a\",\"bundle\":\"/\"}",
		"{\"id\":\".a\",\"bundle\":\"/\"}",
		"{\"id\":\"a/b\",\"bundle\":\"/\"}",
		"{\"id\":\"a\\u0000b\",\"bundle\":\"/\"}",
		"{\"id\":\"a\",\"bundle\":\"b\"}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"pid\":-1}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"pid\":\"1\"}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"pid\":99999999999}",
		"{\"id\":\"a\",\"id\":\"b\",\"bundle\":\"/\"}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":[]}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej.policy\":7}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej.policy\":\"\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej.policy\":\"a\\nb\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej.polcy\":\"a\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"Nej.Policy\":\"a\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej/policy\":\"a\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\",\"annotations\":{\"nej_policy\":\"a\"}}",
		"{\"id\":\"a\",\"bundle\":\"/\"} x",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		s.pid = 4711;
		assert_true(parse(bad[i]) < 0);
		assert_true(strlen(why) > 0);
		assert_int_equal(s.pid, 4711);
	}
}

static void bundle_has_what_the_state_lacks(void **state)
{
	static const char config[] = "{\"ociVersion\":\"1.0.2\",\"annotations\":{\"nej.policy\":"
				     "\"/etc/nej/a.yaml\"}}";
	static const char wrong[] = "{\"annotations\":{\"nej.policy\":\"a\",\"nej.other\":\"b\"}}";

	(void)state;
	assert_int_equal(parse("{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":3}"), 0);
	assert_true(ocistate_parse_config(wrong, strlen(wrong), &s, why, sizeof(why)) < 0);
	assert_string_equal(s.policy, "");
	assert_int_equal(ocistate_parse_config(config, strlen(config), &s, why, sizeof(why)), 0);
	assert_string_equal(s.policy, "/etc/nej/a.yaml");
	assert_int_equal(s.pid, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_of_runc_and_crun_are_read),
		cmocka_unit_test(pods_are_known_by_either_runtimes_words),
		cmocka_unit_test(nonsense_is_refused_with_a_reason),
		cmocka_unit_test(bundle_has_what_the_state_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
