/* SPDX-License-Identifier: GPL-2.0-only */
/* The folder of a gateway's sandboxes: what is read, what is refused, what is news. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/tenants.h"

#define GOOD "rules: [allow: a.example]\n"
#define PASSWORD "0123456789abcdef"
/* printf %s 0123456789abcdef | sha256sum */
#define HASH "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"

static char dir[64];
static struct tenants all;
static int n_changed, n_gone;
static struct tenant *last;

static void on_change(void *arg, struct tenant *t)
{
	(void)arg;
	n_changed++;
	last = t;
}

static void on_gone(void *arg, struct tenant *t)
{
	(void)arg;
	(void)t;
	n_gone++;
}

static void on_forget(void *arg, uint32_t generation)
{
	(void)arg;
	(void)generation;
}

static void put(const char *name, const char *text, mode_t mode)
{
	char path[128], temporary[128];
	FILE *f;

	snprintf(temporary, sizeof(temporary), "%s/.new", dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(temporary, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(temporary, mode);
	rename(temporary, path);
}

static int start(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/nej-tenants.XXXXXX");
	assert_non_null(mkdtemp(dir));
	all = (struct tenants){
		.dir = dir, .on_change = on_change, .on_gone = on_gone, .on_forget = on_forget};
	n_changed = n_gone = 0;
	last = NULL;
	return 0;
}

static int stop(void **state)
{
	char command[128];

	(void)state;
	tenants_free(&all);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void policy_and_password_make_a_sandbox(void **state)
{
	(void)state;
	put("box.yaml", GOOD, 0600);
	put("box.secret", PASSWORD "\n", 0600);
	put("notes.txt", "", 0600);
	put(".hidden.yaml", GOOD, 0600);
	put("-x.yaml", GOOD, 0600);
	assert_int_equal(tenants_scan(&all), 0);
	assert_int_equal(all.n, 1);
	assert_int_equal(n_changed, 1);
	assert_string_equal(last->name, "box");
	assert_string_equal(last->hash, HASH);
	assert_non_null(last->policy);
	assert_ptr_equal(tenants_policy(&all, last->generation), last->policy);
	assert_int_equal(tenants_scan(&all), 0);
	assert_int_equal(n_changed, 1); /* nothing is news */
}

static void without_a_password_nobody_is_it(void **state)
{
	(void)state;
	put("box.yaml", GOOD, 0600);
	assert_int_equal(tenants_scan(&all), 0);
	assert_string_equal(last->hash, "");
	put("box.secret", PASSWORD, 0644);
	assert_int_equal(tenants_scan(&all), 0);
	assert_string_equal(last->hash, "");
	put("box.secret", PASSWORD, 0600);
	assert_int_equal(tenants_scan(&all), 0);
	assert_string_equal(last->hash, HASH);
	put("box.secret", "short", 0600);
	assert_int_equal(tenants_scan(&all), 0);
	assert_string_equal(last->hash, "");
}

static void broken_policy_is_none_until_mended(void **state)
{
	uint32_t good;

	(void)state;
	put("box.yaml", GOOD, 0600);
	put("box.secret", PASSWORD, 0600);
	tenants_scan(&all);
	good = last->generation;
	put("box.yaml", "rules: [\n", 0600);
	tenants_scan(&all);
	assert_null(last->policy);
	assert_true(last->why[0] && last->generation != good);
	assert_non_null(tenants_policy(&all, good)); /* for what it decided */
	assert_int_equal(n_changed, 2);
	tenants_scan(&all);
	assert_int_equal(n_changed, 2); /* no news either */
	put("box.yaml", GOOD, 0600);
	tenants_scan(&all);
	assert_non_null(last->policy);
}

static void policy_others_could_write_is_refused(void **state)
{
	(void)state;
	put("box.yaml", GOOD, 0622);
	tenants_scan(&all);
	assert_null(last->policy);
	put("box.yaml", GOOD, 0600);
	tenants_scan(&all);
	assert_non_null(last->policy);
	chmod(dir, 0777);
	assert_int_equal(tenants_scan(&all), -EPERM);
	assert_null(last->policy);
	chmod(dir, 0700);
	assert_int_equal(tenants_scan(&all), 0);
	assert_non_null(last->policy);
}

static void folder_that_goes_refuses_all(void **state)
{
	char away[80];

	(void)state;
	put("box.yaml", GOOD, 0600);
	tenants_scan(&all);
	snprintf(away, sizeof(away), "%s.away", dir);
	rename(dir, away);
	assert_int_equal(tenants_scan(&all), -ENOENT);
	assert_null(last->policy);
	assert_int_equal(n_gone, 0);
	rename(away, dir);
}

static void list_a_policy_names_is_part_of_it(void **state)
{
	(void)state;
	put("list", "a.example\n", 0600);
	put("box.yaml", "rules: [allow: {list: list}]\n", 0600);
	tenants_scan(&all);
	assert_int_equal(n_changed, 1);
	assert_non_null(last->policy);
	put("list", "b.example\n", 0600);
	tenants_scan(&all);
	assert_int_equal(n_changed, 2);
}

static void sandbox_without_a_policy_file_is_gone(void **state)
{
	char path[128];

	(void)state;
	put("box.yaml", GOOD, 0600);
	put("two.yaml", GOOD, 0600);
	tenants_scan(&all);
	assert_int_equal(all.n, 2);
	snprintf(path, sizeof(path), "%s/two.yaml", dir);
	unlink(path);
	tenants_scan(&all);
	assert_int_equal(all.n, 1);
	assert_int_equal(n_gone, 1);
}

static void secrets_are_passwords_or_hashes(void **state)
{
	static const struct {
		const char *text, *hash;
	} cases[] = {
		{PASSWORD, HASH},
		{PASSWORD "\r\n", HASH},
		{"sha256:" HASH "\n", HASH},
		{"", NULL},
		{"0123456789abcde", NULL},
		{"0123456789abcdef\nmore", NULL},
		{"sha256:9f9f", NULL},
		{"sha256:9F9F5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f", NULL},
		{"sha256:" HASH "0", NULL},
	};
	char hash[TENANT_HASH_BYTES];
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = tenants_read_secret(cases[i].text, strlen(cases[i].text), hash, &why);

		assert_int_equal(r, cases[i].hash ? 0 : -EINVAL);
		if (r == 0)
			assert_string_equal(hash, cases[i].hash);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(policy_and_password_make_a_sandbox),
		TEST(without_a_password_nobody_is_it),
		TEST(broken_policy_is_none_until_mended),
		TEST(policy_others_could_write_is_refused),
		TEST(folder_that_goes_refuses_all),
		TEST(list_a_policy_names_is_part_of_it),
		TEST(sandbox_without_a_policy_file_is_gone),
		cmocka_unit_test(secrets_are_passwords_or_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
