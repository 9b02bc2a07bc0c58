/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits as people write them, and the host's file of defaults and ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/sandbox/hostconf.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void limits_are_read_and_printed_alike(void **state)
{
	static const struct {
		enum limit which;
		const char *text;
		uint64_t value;
		const char *printed;
	} good[] = {
		{LIMIT_MEMORY, "512M", 512ull << 20, "512M"},
		{LIMIT_MEMORY, "2048M", 2ull << 30, "2G"},
		{LIMIT_MEMORY, "4g", 4ull << 30, "4G"},
		{LIMIT_MEMORY, "4Gi", 4ull << 30, "4G"},
		{LIMIT_MEMORY, "512MiB", 512ull << 20, "512M"},
		{LIMIT_MEMORY, "4194304", 4ull << 20, "4M"},
		{LIMIT_MEMORY, "4194305", (4ull << 20) + 1, "4194305"},
		{LIMIT_MEMORY, "1T", 1ull << 40, "1T"},
		{LIMIT_PIDS, "1", 1, "1"},
		{LIMIT_PIDS, "4194304", 4194304, "4194304"},
		{LIMIT_CPUS, "2", 2000, "2"},
		{LIMIT_CPUS, "0.5", 500, "0.5"},
		{LIMIT_CPUS, "1.25", 1250, "1.25"},
		{LIMIT_CPUS, "0.010", 10, "0.01"},
		{LIMIT_IDLE, "90m", 5400, "1h30m"},
		{LIMIT_GRACE, "10s", 10, "10s"},
	};
	char text[LIMIT_TEXT_BYTES];
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(limit_parse(good[i].which, good[i].text, &value), 0);
		assert_int_equal(value, good[i].value);
		limit_print(good[i].which, value, text);
		assert_string_equal(text, good[i].printed);
	}
}

static void nonsense_and_nothing_are_no_limits(void **state)
{
	static const struct {
		enum limit which;
		const char *text;
	} bad[] = {
		{LIMIT_MEMORY, ""},
		{LIMIT_MEMORY, "M"},
		{LIMIT_MEMORY, "3M"},
		{LIMIT_MEMORY, "0"},
		{LIMIT_MEMORY, "-1"},
		{LIMIT_MEMORY, "1.5G"},
		{LIMIT_MEMORY, "512MB"},
		{LIMIT_MEMORY, "512iB"},
		{LIMIT_MEMORY, "5Gix"},
		{LIMIT_MEMORY, "5GG"},
		{LIMIT_MEMORY, "Gi"},
		{LIMIT_MEMORY, " 512M"},
		{LIMIT_MEMORY, "99999999999999999999T"},
		{LIMIT_MEMORY, "17179869184G"},
		{LIMIT_PIDS, "0"},
		{LIMIT_PIDS, "4194305"},
		{LIMIT_PIDS, "1K"},
		{LIMIT_CPUS, "0"},
		{LIMIT_CPUS, "0.009"},
		{LIMIT_CPUS, "."},
		{LIMIT_CPUS, "1."},
		{LIMIT_CPUS, ".5"},
		{LIMIT_CPUS, "0.0001"},
		{LIMIT_CPUS, "9000"},
		{LIMIT_CPUS, "1,5"},
		{LIMIT_CPUS, "-0.5"},
		{LIMIT_IDLE, "0s"},
		{LIMIT_IDLE, "30"},
		{LIMIT_IDLE, "721h"},
		{LIMIT_IDLE, "5 m"},
		{LIMIT_GRACE, "1d"},
	};
	uint64_t value = 4711;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_true(limit_parse(bad[i].which, bad[i].text, &value) < 0);
		assert_int_equal(value, 4711);
	}
}

static struct err_list errs;

static int parse(const char *text, struct hostconf *ret)
{
	err_init(&errs, "nej.yaml");
	return hostconf_parse(text, strlen(text), &errs, ret);
}

static void hosts_file_gives_defaults_and_ceilings(void **state)
{
	uint64_t limits[LIMIT_COUNT] = {0};
	struct hostconf c;
	enum limit which;

	(void)state;
	assert_int_equal(parse("version: 1\ndefaults: {memory: 1G, idle: 30m}\n"
			       "ceilings:\n  memory: 4G\n  pids: 200\n",
				 &c),
		0);
	assert_true(hostconf_settle(&c, limits, &which));
	assert_int_equal(limits[LIMIT_MEMORY], 1ull << 30);
	assert_int_equal(limits[LIMIT_IDLE], 1800);
	assert_int_equal(limits[LIMIT_PIDS], 200); /* who asks for nothing does not get more */
	assert_int_equal(limits[LIMIT_CPUS], 0);
	limits[LIMIT_MEMORY] = 4ull << 30;
	assert_true(hostconf_settle(&c, limits, &which));
	limits[LIMIT_PIDS] = 201;
	assert_false(hostconf_settle(&c, limits, &which));
	assert_int_equal(which, LIMIT_PIDS);
	assert_int_equal(limits[LIMIT_PIDS], 201);
	assert_int_equal(parse("", &c), 0);
	limits[LIMIT_PIDS] = 0;
	assert_true(hostconf_settle(&c, limits, &which));
	assert_int_equal(limits[LIMIT_PIDS], 0);
}

static void mistakes_in_the_hosts_file_are_told(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
	} bad[] = {
		{"version: 2\n", 1},
		{"memory: 1G\n", 1},
		{"version: 1\nceilings:\n  memori: 1G\n", 3},
		{"version: 1\nceilings:\n  memory: 1X\n", 3},
		{"version: 1\nceilings: 4G\n", 2},
		{"- a\n", 1},
		{"version: 1\nceilings:\n  memory: 1G\n  memory: 64G\n", 4},
		{"version: 1\nceilings: {memory: 1G}\nceilings: {pids: 4}\n", 3},
		{"version: 1\ndefaults: {pids: 5}\nceilings: {pids: 4}\n", 0},
		{"version: [\n", 1},
	};
	struct hostconf c = {.defaults = {7}};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_true(parse(bad[i].text, &c) < 0);
		assert_true(errs.n_errors > 0);
		if (i < COUNT(bad) - 1)
			assert_int_equal(errs.items[0].line, bad[i].line);
		assert_int_equal(c.defaults[0], 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_read_and_printed_alike),
		cmocka_unit_test(nonsense_and_nothing_are_no_limits),
		cmocka_unit_test(hosts_file_gives_defaults_and_ceilings),
		cmocka_unit_test(mistakes_in_the_hosts_file_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
