/* SPDX-License-Identifier: GPL-2.0-only */
/* Synthetic pairs: stable, one name each, given up by age, never while held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../include/bounds.h"
#include "../../../user/dns/synth.h"

#include <errno.h>
#include <pthread.h>

static const uint8_t net6[8] = {0xfd, 1, 2, 3, 4, 5, 6, 7};

static struct host host_of(const char *prefix, unsigned int n)
{
	char text[64];
	struct host h;
	int len = snprintf(text, sizeof(text), "%s%u.test", prefix, n);

	assert_int_equal(host_parse(text, (size_t)len, &h), 0);
	return h;
}

static struct synth *synth_of(void)
{
	struct synth *s = NULL;

	assert_int_equal(synth_new(net6, &s), 0);
	return s;
}

static void name_keeps_its_pair_also_in_a_new_worker(void **state)
{
	struct synth *s = synth_of(), *again = synth_of();
	struct host h = host_of("a", 1), other = host_of("a", 2), found;
	struct addr v4, v6, v4b, v6b;

	(void)state;
	assert_int_equal(synth_assign(s, &h, &v4, &v6), 0);
	assert_int_equal(synth_assign(s, &other, &v4b, &v6b), 0);
	assert_false(addr_equal(&v4, &v4b) || addr_equal(&v6, &v6b));
	assert_int_equal(synth_assign(again, &h, &v4b, &v6b), 0);
	assert_true(addr_equal(&v4, &v4b) && addr_equal(&v6, &v6b));
	assert_true(synth_covers(s, &v4) && synth_covers(s, &v6));
	assert_int_equal(addr_to_v4(&v4) >> 17, 0xc6120000u >> 17);
	assert_memory_equal(v6.b, net6, 8);
	assert_int_equal(synth_hold(s, &v4, &found), 0);
	assert_true(host_equal(&found, &h));
	assert_int_equal(synth_hold(s, &v6, &found), 0);
	assert_true(host_equal(&found, &h));
	synth_free(s);
	synth_free(again);
}

static void address_of_nobody_has_no_name(void **state)
{
	static const struct {
		const char *text;
		bool is_covered;
	} rows[] = {
		{"198.18.1.1", true},
		{"198.19.255.254", true},
		{"198.20.0.1", false},
		{"198.17.255.1", false},
		{"fd01:203:405:607::1", true},
		{"fd01:203:405:607:1::1", true},
		{"fd01:203:405:608::1", false},
		{"127.0.0.1", false},
	};
	struct synth *s = synth_of();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct addr a;
		struct host h;

		assert_int_equal(addr_parse(rows[i].text, strlen(rows[i].text), &a), 0);
		assert_int_equal(synth_covers(s, &a), rows[i].is_covered);
		assert_int_equal(synth_hold(s, &a, &h), -ENOENT);
		synth_release(s, &a);
	}
	synth_free(s);
}

static void full_table_gives_up_the_oldest_but_none_that_is_held(void **state)
{
	struct synth *s = synth_of();
	struct host first = host_of("n", 0), second = host_of("n", 1), h, found;
	struct addr first4, second4, v4, v6;

	(void)state;
	for (unsigned int i = 0; i < NEJ_MAX_SYNTH; i++) {
		uint8_t last;

		h = host_of("n", i);
		assert_int_equal(synth_assign(s, &h, &v4, &v6), 0);
		last = v4.b[15];
		assert_true(last != 0 && last != 255);
		if (i == 0)
			first4 = v4;
		if (i == 1)
			second4 = v4;
	}
	assert_int_equal(synth_hold(s, &first4, &found), 0);
	/* names 2 … are older than nothing else: as many new ones as there are take them all */
	for (unsigned int i = 0; i < NEJ_MAX_SYNTH - 1; i++) {
		h = host_of("m", i);
		assert_int_equal(synth_assign(s, &h, &v4, &v6), 0);
		assert_false(addr_equal(&v4, &first4));
	}
	assert_int_equal(synth_assign(s, &first, &v4, &v6), 0);
	assert_true(addr_equal(&v4, &first4));
	if (synth_hold(s, &second4, &found) == 0) { /* somebody else's by now */
		assert_false(host_equal(&found, &second));
		synth_release(s, &second4);
	}
	synth_release(s, &first4);
	synth_free(s);
}

static void table_full_of_held_names_refuses(void **state)
{
	struct synth *s = synth_of();
	struct host h, found;
	struct addr v4, v6;

	(void)state;
	for (unsigned int i = 0; i < NEJ_MAX_SYNTH; i++) {
		h = host_of("n", i);
		assert_int_equal(synth_assign(s, &h, &v4, &v6), 0);
		assert_int_equal(synth_hold(s, &v4, &found), 0);
	}
	h = host_of("more", 0);
	assert_int_equal(synth_assign(s, &h, &v4, &v6), -ENOSPC);
	found = host_of("n", 7);
	assert_int_equal(synth_assign(s, &found, &v4, &v6), 0);
	synth_release(s, &v4);
	assert_int_equal(synth_assign(s, &h, &v4, &v6), 0);
	synth_free(s);
}

static void *run_thread(void *arg)
{
	struct synth *s = arg;

	for (unsigned int i = 0; i < 20000; i++) {
		struct host h = host_of("t", i % 500), found;
		struct addr v4, v6;

		if (synth_assign(s, &h, &v4, &v6) < 0 || synth_hold(s, &v6, &found) < 0 ||
			!host_equal(&h, &found))
			return s;
		synth_release(s, &v6);
	}
	return NULL;
}

static void threads_share_the_table(void **state)
{
	struct synth *s = synth_of();
	pthread_t threads[3];
	void *failed;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_thread, s), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	synth_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_keeps_its_pair_also_in_a_new_worker),
		cmocka_unit_test(address_of_nobody_has_no_name),
		cmocka_unit_test(full_table_gives_up_the_oldest_but_none_that_is_held),
		cmocka_unit_test(table_full_of_held_names_refuses),
		cmocka_unit_test(threads_share_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
