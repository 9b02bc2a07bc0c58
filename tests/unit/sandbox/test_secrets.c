/* SPDX-License-Identifier: GPL-2.0-only */
/* Secrets from their sources into the worker's memfd, and out of everything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/file.h"
#include "../../../user/sandbox/handoff.h"
#include "../../../user/sandbox/options.h"
#include "../../../user/sandbox/secrets.h"
#include "../../../user/sandbox/source.h"

#define TOKEN "ghp_abcdEFGH0123456789abcdEFGH01234567"
#define FILED "filed-value-of-the-test"

static char file_path[] = "/tmp/nej-secret-XXXXXX";
static sigset_t no_signals;

static struct policy *policy_of(const char *text)
{
	struct policy *p = NULL;
	struct err_list errs;

	err_init(&errs, "policy.yaml");
	if (policy_load_text(text, strlen(text), NULL, &errs, &p) < 0)
		err_print(&errs, stderr);
	assert_non_null(p);
	return p;
}

static struct policy *policy_with(const char *source)
{
	char text[1024];

	snprintf(text, sizeof(text), "secrets: {T: {%s, for: [a.example]}}\n", source);
	return policy_of(text);
}

static void write_file(const void *data, size_t len)
{
	assert_int_equal(file_replace(file_path, data, len, 0600), 0);
}

/* --- sources */

static void sources_give_one_line(void **state)
{
	char big[HANDOFF_MAX_SECRET_BYTES + 3];
	static const struct {
		const char *command; /* of printf(1) */
		const char *value;   /* NULL: refused */
		const char *why;
	} rows[] = {
		{"value-1", "value-1", NULL},
		{"value-1\\n", "value-1", NULL},
		{"with space: and=more", "with space: and=more", NULL},
		{"", NULL, "empty"},
		{"\\n", NULL, "empty"},
		{"a\\nb", NULL, "more than one line"},
		{"a\\n\\n", NULL, "more than one line"},
		{"a\\r\\n", NULL, "more than one line"},
		{"a\\tb", NULL, "control character"},
		{"a\\000b", NULL, "control character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char source[256];
		struct source_error why;
		struct locked value;
		struct policy *p;
		int r;

		snprintf(source, sizeof(source), "command: [/usr/bin/printf, '%s']",
			rows[i].command);
		p = policy_with(source);
		r = source_read(p, 0, &no_signals, &value, &why);
		assert_true(rows[i].value ? r == 0 : r < 0);
		if (rows[i].value) {
			assert_int_equal(value.len, strlen(rows[i].value));
			assert_memory_equal(value.data, rows[i].value, value.len);
			locked_free(&value);
		} else {
			assert_non_null(strstr(why.why, rows[i].why));
		}
		policy_free(p);
	}
	memset(big, 'x', sizeof(big));
	for (size_t len = HANDOFF_MAX_SECRET_BYTES; len <= sizeof(big); len++) {
		char source[64];
		struct source_error why;
		struct locked value;
		struct policy *p;
		int r;

		write_file(big, len);
		snprintf(source, sizeof(source), "file: %s", file_path);
		p = policy_with(source);
		r = source_read(p, 0, &no_signals, &value, &why);
		assert_int_equal(r<0, len> HANDOFF_MAX_SECRET_BYTES);
		if (r == 0)
			locked_free(&value);
		policy_free(p);
	}
}

static void sources_that_fail_say_why(void **state)
{
	static const struct {
		const char *source, *why;
	} rows[] = {
		{"env: NEJ_TEST_NOT_SET", "not set"},
		{"env: NEJ_TEST_EMPTY", "empty"},
		{"file: /nowhere/at/all", "No such file"},
		{"file: /tmp", "no regular file"},
		{"file: /dev/zero", "no regular file"},
		{"command: [/nowhere/at/all]", "No such file"},
		{"command: [/bin/sh, -c, 'echo value; exit 3']", "status 3"},
		{"command: [/bin/sh, -c, 'kill -9 $$']", "signal 9"},
		{"command: [/bin/sh, -c, 'yes x | tr -d \"\\n\"']", "more than 16384"},
	};

	(void)state;
	setenv("NEJ_TEST_EMPTY", "", 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *p = policy_with(rows[i].source);
		struct source_error why;
		struct locked value;

		assert_true(source_read(p, 0, &no_signals, &value, &why) < 0);
		if (!strstr(why.why, rows[i].why))
			fail_msg("row %zu: %s", i, why.why);
		policy_free(p);
	}
}

/* --- hiding */

static bool is_anywhere(const char *const *texts, const char *what)
{
	for (; *texts; texts++)
		if (strstr(*texts, what))
			return true;
	return false;
}

static bool is_wiped(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i])
			return false;
	return true;
}

static void values_leave_environment_and_arguments(void **state)
{
	struct policy *p = policy_of("secrets:\n"
				     "  MINE: {env: THEIRS, for: [a.example]}\n"
				     "  SHORT: {env: SHORT, for: [a.example]}\n");
	static char theirs[] = "THEIRS=" TOKEN, copy[] = "COPY=<" TOKEN "|" TOKEN ">";
	static char small[] = "SHORT=abc", same[] = "SAME=abc", part[] = "PART=xabcx";
	char word[] = "Authorization: Bearer " TOKEN, plain[] = "plain";
	char *argv[] = {plain, word, NULL};
	struct secrets s = {0};
	char expected[128];

	(void)state;
	putenv(theirs);
	putenv(copy);
	putenv(small);
	putenv(same);
	putenv(part);
	assert_int_equal(secrets_open(p, &no_signals, &s), 0);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
	assert_int_equal(secrets_hide(&s, argv), 0);
	assert_false(is_anywhere((const char *const *)environ, TOKEN));
	assert_false(is_anywhere((const char *const *)argv, TOKEN));
	assert_null(getenv("THEIRS"));
	assert_string_equal(getenv("MINE"), s.items[0].placeholder);
	assert_string_equal(getenv("SHORT"), s.items[1].placeholder);
	assert_string_equal(getenv("SAME"), s.items[1].placeholder);
	assert_string_equal(getenv("PART"), "xabcx");
	snprintf(expected, sizeof(expected), "<%s|%s>", s.items[0].placeholder,
		s.items[0].placeholder);
	assert_string_equal(getenv("COPY"), expected);
	assert_string_equal(argv[0], "plain");
	snprintf(expected, sizeof(expected), "Authorization: Bearer %s", s.items[0].placeholder);
	assert_string_equal(argv[1], expected);
	/* the memory itself, which /proc/PID/environ and cmdline show */
	assert_true(is_wiped(theirs, sizeof(theirs)) && is_wiped(copy, sizeof(copy)));
	assert_true(is_wiped(small, sizeof(small)) && is_wiped(word, sizeof(word)));
	free(argv[1]);
	secrets_done(&s);
	policy_free(p);
	prctl(PR_SET_DUMPABLE, 1);
}

static void a_forked_child_has_no_value(void **state)
{
	struct policy *p = policy_with("env: NEJ_TEST_TOKEN");
	struct secrets s = {0};
	int status;
	pid_t pid;

	(void)state;
	setenv("NEJ_TEST_TOKEN", TOKEN, 1);
	assert_int_equal(secrets_open(p, &no_signals, &s), 0);
	assert_memory_equal(s.items[0].value.data, TOKEN, strlen(TOKEN));
	pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < s.items[0].value.size_bytes; i++)
			if (s.items[0].value.data[i])
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	secrets_done(&s);
	policy_free(p);
	prctl(PR_SET_DUMPABLE, 1);
}

/* However short and common it is, a placeholder can be drawn; nej only warns. */
static void short_values_have_placeholders(void **state)
{
	static const char *const values[] = {"a", "1", "ab", "0", "x-"};

	(void)state;
	for (size_t i = 0; i < 20 * ARRAY_SIZE(values); i++) {
		struct policy *p = policy_with("env: NEJ_TEST_TOKEN");
		struct secrets s = {0};

		setenv("NEJ_TEST_TOKEN", values[i % ARRAY_SIZE(values)], 1);
		assert_int_equal(secrets_open(p, &no_signals, &s), 0);
		assert_true(strlen(s.items[0].placeholder) >= 24);
		secrets_done(&s);
		policy_free(p);
	}
	prctl(PR_SET_DUMPABLE, 1);
}

static void sources_that_fail_start_nothing(void **state)
{
	struct policy *p = policy_of("secrets:\n"
				     "  A: {env: NEJ_TEST_NOT_SET, for: [a.example]}\n");
	struct policy *q =
		policy_of("secrets:\n"
			  "  A: {command: [/bin/echo, long-enough-value], for: [a.example],"
			  " sign: aws-v4, key_id: NEJ_TEST_NOT_SET}\n");
	struct secrets s = {0};

	(void)state;
	assert_int_equal(secrets_open(p, &no_signals, &s), SANDBOX_EXIT_USAGE);
	secrets_done(&s);
	assert_int_equal(secrets_open(q, &no_signals, &s), SANDBOX_EXIT_USAGE);
	secrets_done(&s);
	policy_free(p);
	policy_free(q);
	prctl(PR_SET_DUMPABLE, 1);
}

/* --- the memfd */

struct file {
	char data[8192];
	size_t len;
};

static void read_memfd(int fd, struct file *f)
{
	ssize_t n;

	assert_true(fd >= 0);
	assert_int_equal(
		fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	n = pread(fd, f->data, sizeof(f->data), 0);
	assert_true(n > 0);
	f->len = (size_t)n;
	close(fd);
}

static void expect_piece(const struct file *f, struct handoff_piece piece, const char *text)
{
	assert_int_equal(piece.len, strlen(text));
	assert_true(piece.at + piece.len <= f->len);
	assert_memory_equal(f->data + piece.at, text, piece.len);
}

static void worker_gets_values_and_later_ones(void **state)
{
	char text[512];
	struct policy *p;
	struct secrets s = {0};
	struct locked values[3];
	struct buf read = {0}, failed = {0};
	const struct handoff_secrets *head;
	struct file f;

	(void)state;
	write_file(FILED "\n", strlen(FILED) + 1);
	setenv("NEJ_TEST_KEY", "AKIAIOSFODNN7EXAMPLE", 1);
	snprintf(text, sizeof(text),
		"secrets:\n"
		"  A: {command: [/bin/echo, value-of-a-command], for: [a.example], sign: aws-v4,"
		" key_id: NEJ_TEST_KEY}\n"
		"  B: {file: %s, for: [a.example]}\n"
		"  C: {command: [/bin/echo, other-value-here], for: [a.example], sign: aws-v4,"
		" key_id: B}\n",
		file_path);
	p = policy_of(text);
	assert_int_equal(secrets_open(p, &no_signals, &s), 0);
	read_memfd(secrets_encode(&s), &f);
	head = (const void *)f.data;
	assert_int_equal(head->magic, HANDOFF_SECRETS_MAGIC);
	assert_int_equal(head->n, 3);
	expect_piece(&f, head->secrets[0].value, "value-of-a-command");
	expect_piece(&f, head->secrets[0].placeholder, s.items[0].placeholder);
	expect_piece(&f, head->secrets[0].key_id, "AKIAIOSFODNN7EXAMPLE");
	expect_piece(&f, head->secrets[1].value, FILED);
	expect_piece(&f, head->secrets[1].key_id, "");
	expect_piece(&f, head->secrets[2].key_id, FILED);

	unlink(file_path);
	secrets_read_again(&s, values, &read, &failed);
	secrets_renew(&s, values);
	assert_string_equal(read.data, "A, C");
	assert_string_equal(failed.data, "B (No such file or directory)");
	read_memfd(secrets_encode(&s), &f);
	expect_piece(&f, head->secrets[0].value, "value-of-a-command");
	expect_piece(&f, head->secrets[1].value, "");
	expect_piece(&f, head->secrets[1].placeholder, s.items[1].placeholder);
	buf_done(&read);
	buf_done(&failed);
	secrets_done(&s);
	policy_free(p);
	prctl(PR_SET_DUMPABLE, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_give_one_line),
		cmocka_unit_test(sources_that_fail_say_why),
		cmocka_unit_test(values_leave_environment_and_arguments),
		cmocka_unit_test(a_forked_child_has_no_value),
		cmocka_unit_test(short_values_have_placeholders),
		cmocka_unit_test(sources_that_fail_start_nothing),
		cmocka_unit_test(worker_gets_values_and_later_ones),
	};
	int r;

	sigemptyset(&no_signals);
	close(mkstemp(file_path));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file_path);
	return r;
}
