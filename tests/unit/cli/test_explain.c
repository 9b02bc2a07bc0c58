/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cases of the policy language once more, through `nej check` and `nej explain --json`: what
 * they print, one object a line, and their exit status.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/file.h"
#include "../../../user/cli/check.h"
#include "../../../user/cli/explain.h"

#define CASES "tests/cases/policy/*.json"
#define MAX_REQUESTS 64

static char policy_path[] = "/tmp/nej-explain-XXXXXX";

/* Runs a command and gives what it wrote to stdout. */
static int run(int (*command)(int, char **), int argc, char **argv, char **ret_out)
{
	FILE *out = tmpfile();
	int saved = dup(STDOUT_FILENO), status;
	size_t len;

	assert_non_null(out);
	fflush(stdout);
	dup2(fileno(out), STDOUT_FILENO);
	status = command(argc, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(lseek(fileno(out), 0, SEEK_SET), 0);
	assert_int_equal(file_read_fd(fileno(out), 1 << 20, ret_out, &len), 0);
	fclose(out);
	return status;
}

static void write_policy(const char *text)
{
	assert_int_equal(file_replace(policy_path, text, strlen(text), 0600), 0);
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void check_line(const char *line, const json_t *want, bool *denied)
{
	json_t *got = json_loads(line, 0, NULL);
	const json_t *rule = json_object_get(got, "rule");
	const json_t *number = json_object_get(want, "line");
	const json_t *inspect = json_object_get(want, "inspect");

	assert_non_null(got);
	assert_string_equal(text_of(got, "request"), text_of(want, "request"));
	assert_string_equal(text_of(got, "verdict"), text_of(want, "verdict"));
	assert_string_equal(text_of(got, "reason"), text_of(want, "reason"));
	assert_string_equal(text_of(got, "transport"), "direct");
	assert_true(json_is_boolean(json_object_get(got, "inspect")));
	assert_true(json_is_null(rule) || (text_of(rule, "text") && json_object_get(rule, "line")));
	if (number)
		assert_int_equal(json_integer_value(json_object_get(rule, "line")),
			json_integer_value(number));
	if (inspect)
		assert_true(json_equal(inspect, json_object_get(got, "inspect")));
	*denied |= !strcmp(text_of(got, "verdict"), "deny");
	json_decref(got);
}

static void explain_requests(const json_t *requests)
{
	char *argv[MAX_REQUESTS + 5] = {"explain", "--json", "-p", policy_path}, *out, *save = NULL;
	char *line;
	size_t n = json_array_size(requests);
	bool denied = false;
	int status;

	assert_true(n && n <= MAX_REQUESTS);
	for (size_t i = 0; i < n; i++)
		argv[4 + i] = (char *)(uintptr_t)text_of(json_array_get(requests, i), "request");
	status = run(cli_explain, (int)n + 4, argv, &out);
	line = strtok_r(out, "\n", &save);
	for (size_t i = 0; i < n; i++, line = strtok_r(NULL, "\n", &save)) {
		assert_non_null(line);
		check_line(line, json_array_get(requests, i), &denied);
	}
	assert_null(line);
	assert_int_equal(status, denied);
	free(out);
}

static void check_policy(const json_t *error)
{
	char *argv[] = {"check", policy_path, NULL}, *out;
	int status = run(cli_check, 2, argv, &out);
	char place[64];

	assert_int_equal(status, error ? 1 : 0);
	if (error && json_object_get(error, "line")) {
		snprintf(place, sizeof(place), "%s:%lld:", policy_path,
			json_integer_value(json_object_get(error, "line")));
		assert_non_null(strstr(out, place));
	}
	assert_non_null(strstr(out, error ? "error: " : ": ok, "));
	free(out);
}

static void every_case_holds_on_the_command_line(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob(CASES, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		json_t *root = json_load_file(found.gl_pathv[i], 0, NULL);
		const json_t *error = json_object_get(root, "error");

		assert_non_null(root);
		write_policy(text_of(root, "policy"));
		check_policy(error);
		if (!error)
			explain_requests(json_object_get(root, "requests"));
		json_decref(root);
	}
	globfree(&found);
}

static void explain_prints_the_documented_line(void **state)
{
	char *argv[] = {"explain", "-p", policy_path, "--json", "https://a.example/",
		"x\"y.example:1", NULL};
	char *out;

	(void)state;
	write_policy("rules:\n  - allow: a.example\n");
	assert_int_equal(run(cli_explain, 6, argv, &out), 1);
	assert_string_equal(out,
		"{\"request\":\"https://a.example/\",\"verdict\":\"allow\",\"reason\":\"rule\","
		"\"rule\":{\"line\":2,\"text\":\"allow: a.example\"},\"transport\":\"direct\","
		"\"inspect\":false}\n"
		"{\"request\":\"x\\\"y.example:1\",\"verdict\":\"deny\",\"reason\":\"malformed-"
		"host\","
		"\"rule\":null,\"transport\":\"direct\",\"inspect\":false}\n");
	free(out);
}

static void explain_refuses_bad_policies_and_requests(void **state)
{
	static char *const requests[] = {"word", "", "GET", "ftp://a.example/", "tcp://a.example",
		"a.example", "dns:", " x", "GET tcp://a.example:1", "tcp://a.example:1/x",
		"https:/a"};
	char *argv[] = {"explain", "-p", policy_path, "https://a.example/", NULL}, *out;

	(void)state;
	write_policy("rules:\n  - allow: a..b\n");
	assert_int_equal(run(cli_explain, 4, argv, &out), 2);
	free(out);
	write_policy("version: 1\n");
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		argv[3] = requests[i];
		assert_int_equal(run(cli_explain, 4, argv, &out), 2);
		free(out);
	}
	argv[2] = "/nonexistent/policy.yaml";
	argv[3] = "https://a.example/";
	assert_int_equal(run(cli_explain, 4, argv, &out), 2);
	free(out);
}

static void check_says_what_a_machine_reads(void **state)
{
	char *argv[] = {"check", "--json", policy_path, NULL}, *out;
	json_t *line;
	char *end;

	(void)state;
	write_policy("rules:\n  - allow: .github.io\n");
	assert_int_equal(run(cli_check, 3, argv, &out), 0);
	end = strchr(out, '\n');
	assert_non_null(end);
	*end = 0;
	line = json_loads(out, 0, NULL);
	assert_string_equal(text_of(line, "severity"), "warning");
	assert_int_equal(json_integer_value(json_object_get(line, "line")), 2);
	json_decref(line);
	line = json_loads(end + 1, 0, NULL);
	assert_true(json_is_true(json_object_get(line, "ok")));
	assert_int_equal(json_integer_value(json_object_get(line, "rules")), 1);
	assert_int_equal(strlen(text_of(line, "sha256")), 64);
	json_decref(line);
	free(out);
	argv[2] = "/nonexistent/policy.yaml";
	assert_int_equal(run(cli_check, 3, argv, &out), 2);
	free(out);
}

static int make_file(void **state)
{
	int fd = mkstemp(policy_path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int take_file(void **state)
{
	(void)state;
	return unlink(policy_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_holds_on_the_command_line),
		cmocka_unit_test(explain_prints_the_documented_line),
		cmocka_unit_test(explain_refuses_bad_policies_and_requests),
		cmocka_unit_test(check_says_what_a_machine_reads),
	};

	return cmocka_run_group_tests(tests, make_file, take_file);
}
