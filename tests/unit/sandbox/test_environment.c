/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the environment goes into the sandbox and what is set there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/environment.h"

static const struct environment_facts facts = {
	.sandbox = "agent-1",
	.user = "nej-1",
	.home = "/run/nej/home",
	.shell = "/bin/sh",
	.proxy_port = 3128,
};

static const char *find(char **env, const char *name)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
			assert_null(found); /* twice would be ambiguous */
			found = *env + len + 1;
		}
	return found;
}

static void sets_proxy_variables_in_both_cases(void **state)
{
	static const char *const names[] = {
		"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};
	char *old[] = {"https_proxy=http://elsewhere:1", "PATH=/bin", NULL};
	char **env = environment_make(old, &facts);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(find(env, names[i]), "http://127.0.0.1:3128");
	assert_string_equal(find(env, "NO_PROXY"), find(env, "no_proxy"));
	assert_non_null(strstr(find(env, "NO_PROXY"), "::1"));
	assert_string_equal(find(env, "PATH"), "/bin");
	environment_free(env);
}

static void replaces_who_one_is(void **state)
{
	char *old[] = {"USER=root", "LOGNAME=root", "HOME=/root", "NEJ_SANDBOX=x", NULL};
	char **env = environment_make(old, &facts);

	(void)state;
	assert_string_equal(find(env, "USER"), "nej-1");
	assert_string_equal(find(env, "LOGNAME"), "nej-1");
	assert_string_equal(find(env, "HOME"), "/run/nej/home");
	assert_string_equal(find(env, "SHELL"), "/bin/sh");
	assert_string_equal(find(env, "NEJ_SANDBOX"), "agent-1");
	environment_free(env);
}

static void drops_what_leads_out(void **state)
{
	char *old[] = {"SUDO_UID=1000", "SUDO_COMMAND=x", "XDG_RUNTIME_DIR=/run/user/1000",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", "SUDOKU=1", NULL};
	char **env = environment_make(old, &facts);

	(void)state;
	assert_null(find(env, "SUDO_UID"));
	assert_null(find(env, "SUDO_COMMAND"));
	assert_null(find(env, "XDG_RUNTIME_DIR"));
	assert_null(find(env, "DBUS_SESSION_BUS_ADDRESS"));
	assert_string_equal(find(env, "SUDOKU"), "1");
	environment_free(env);
}

static void empty_environment_is_fine(void **state)
{
	char *old[] = {NULL};
	char **env = environment_make(old, &facts);

	(void)state;
	assert_string_equal(find(env, "USER"), "nej-1");
	environment_free(env);
	environment_free(NULL);
}

static void certificates_are_named_where_there_are_any(void **state)
{
	char *old[] = {"SSL_CERT_FILE=/mine.pem", "JAVA_TOOL_OPTIONS=-Xmx1g", NULL};
	struct environment_facts with = facts;
	char **env;

	(void)state;
	env = environment_make(old, &facts);
	assert_string_equal(find(env, "SSL_CERT_FILE"), "/mine.pem");
	assert_null(find(env, "NODE_EXTRA_CA_CERTS"));
	environment_free(env);

	with.has_anchors = true;
	env = environment_make(old, &with);
	assert_string_equal(find(env, "SSL_CERT_FILE"), "/run/nej/trust/bundle.pem");
	assert_string_equal(find(env, "AWS_CA_BUNDLE"), "/run/nej/trust/bundle.pem");
	assert_string_equal(find(env, "NODE_EXTRA_CA_CERTS"), "/run/nej/trust/ca.pem");
	assert_string_equal(find(env, "JAVA_TOOL_OPTIONS"), "-Xmx1g");
	environment_free(env);

	with.wants_java = true;
	env = environment_make(old, &with);
	assert_string_equal(find(env, "JAVA_TOOL_OPTIONS"),
		"-Xmx1g -Djavax.net.ssl.trustStore=/run/nej/trust/cacerts.jks "
		"-Djavax.net.ssl.trustStorePassword=changeit");
	environment_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_are_named_where_there_are_any),
		cmocka_unit_test(sets_proxy_variables_in_both_cases),
		cmocka_unit_test(replaces_who_one_is),
		cmocka_unit_test(drops_what_leads_out),
		cmocka_unit_test(empty_environment_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
