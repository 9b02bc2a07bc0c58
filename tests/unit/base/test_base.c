/* SPDX-License-Identifier: GPL-2.0-only */
/* The base layer: numbers, addresses and ranges, buffers, hash table, loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../user/base/addr.h"
#include "../../../user/base/buf.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/base/clock.h"
#include "../../../user/base/duration.h"
#include "../../../user/base/err.h"
#include "../../../user/base/file.h"
#include "../../../user/base/htab.h"
#include "../../../user/base/loop.h"
#include "../../../user/base/num.h"

static void ports_are_plain_decimal_numbers(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint16_t port;
	} rows[] = {
		{"1", 0, 1},
		{"443", 0, 443},
		{"65535", 0, 65535},
		{"65536", -ERANGE, 0},
		{"0443", -EINVAL, 0},
		{"443x", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"99999999999999999999", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint16_t port = 0;

		assert_int_equal(
			num_parse_port(rows[i].text, strlen(rows[i].text), &port), rows[i].result);
		assert_int_equal(port, rows[i].port);
	}
}

static void durations_are_numbers_with_units(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t seconds;
		const char *printed; /* NULL: the same */
	} rows[] = {
		{"30s", 0, 30, NULL},
		{"10m", 0, 600, NULL},
		{"2h", 0, 7200, NULL},
		{"1h30m", 0, 5400, NULL},
		{"1h1m1s", 0, 3661, NULL},
		{"90s", 0, 90, "1m30s"},
		{"0s", 0, 0, NULL},
		{"24h", 0, 86400, NULL},
		{"24h1s", -ERANGE, 0, NULL},
		{"99999999999999999999h", -ERANGE, 0, NULL},
		{"4294967295h", -ERANGE, 0, NULL},
		{"", -EINVAL, 0, NULL},
		{"10", -EINVAL, 0, NULL},
		{"m", -EINVAL, 0, NULL},
		{"10 m", -EINVAL, 0, NULL},
		{"-1s", -EINVAL, 0, NULL},
		{"10m10m", -EINVAL, 0, NULL},
		{"10s1m", -EINVAL, 0, NULL},
		{"1.5h", -EINVAL, 0, NULL},
		{"10M", -EINVAL, 0, NULL},
		{"1d", -EINVAL, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[DURATION_TEXT_BYTES];
		uint64_t seconds = 0;

		assert_int_equal(duration_parse(rows[i].text, 86400, &seconds), rows[i].result);
		assert_int_equal(seconds, rows[i].seconds);
		duration_print(seconds, text);
		if (!rows[i].result)
			assert_string_equal(text, rows[i].printed ? rows[i].printed : rows[i].text);
	}
}

static void addresses_are_classified_by_their_range(void **state)
{
	static const struct {
		const char *text;
		enum nej_range range;
		const char *plain; /* NULL: the same */
	} rows[] = {
		{"93.184.216.34", NEJ_RANGE_GLOBAL, NULL},
		{"127.0.0.1", NEJ_RANGE_LOOPBACK, NULL},
		{"127.255.1.2", NEJ_RANGE_LOOPBACK, NULL},
		{"0.0.0.0", NEJ_RANGE_LOOPBACK, NULL},
		{"10.0.0.5", NEJ_RANGE_PRIVATE, NULL},
		{"172.15.255.255", NEJ_RANGE_GLOBAL, NULL},
		{"172.16.0.0", NEJ_RANGE_PRIVATE, NULL},
		{"172.31.255.255", NEJ_RANGE_PRIVATE, NULL},
		{"172.32.0.0", NEJ_RANGE_GLOBAL, NULL},
		{"192.168.1.1", NEJ_RANGE_PRIVATE, NULL},
		{"100.64.0.1", NEJ_RANGE_PRIVATE, NULL},
		{"100.128.0.1", NEJ_RANGE_GLOBAL, NULL},
		{"198.18.0.7", NEJ_RANGE_PRIVATE, NULL},
		{"198.20.0.1", NEJ_RANGE_GLOBAL, NULL},
		{"169.254.169.254", NEJ_RANGE_LINK_LOCAL, NULL},
		{"224.0.0.251", NEJ_RANGE_MULTICAST, NULL},
		{"255.255.255.255", NEJ_RANGE_MULTICAST, NULL},
		{"240.0.0.1", NEJ_RANGE_PRIVATE, NULL},
		{"2606:2800:220:1::1", NEJ_RANGE_GLOBAL, NULL},
		{"::1", NEJ_RANGE_LOOPBACK, NULL},
		{"::", NEJ_RANGE_LOOPBACK, NULL},
		{"fe80::1", NEJ_RANGE_LINK_LOCAL, NULL},
		{"fc00::1", NEJ_RANGE_PRIVATE, NULL},
		{"fd00:ec2::254", NEJ_RANGE_LINK_LOCAL, NULL},
		{"fec0::1", NEJ_RANGE_PRIVATE, NULL},
		{"ff02::fb", NEJ_RANGE_MULTICAST, NULL},
		{"2001:db8::1", NEJ_RANGE_PRIVATE, NULL},
		{"4000::1", NEJ_RANGE_PRIVATE, NULL},
		{"::ffff:10.0.0.5", NEJ_RANGE_PRIVATE, "10.0.0.5"},
		{"::10.0.0.5", NEJ_RANGE_PRIVATE, "10.0.0.5"},
		{"::ffff:0:10.0.0.5", NEJ_RANGE_PRIVATE, "10.0.0.5"},
		{"64:ff9b::a00:5", NEJ_RANGE_PRIVATE, "10.0.0.5"},
		{"64:ff9b::5db8:d822", NEJ_RANGE_GLOBAL, "93.184.216.34"},
		{"64:ff9b:1::a00:5", NEJ_RANGE_PRIVATE, NULL},
		{"2002:7f00:1::1", NEJ_RANGE_LOOPBACK, "127.0.0.1"},
		{"2001:0:1:2:3:4:f5ff:fffa", NEJ_RANGE_PRIVATE, "10.0.0.5"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[ADDR_TEXT_BYTES];
		struct addr a, plain;

		assert_int_equal(addr_parse(rows[i].text, strlen(rows[i].text), &a), 0);
		assert_int_equal(addr_classify(&a, &plain), rows[i].range);
		if (rows[i].plain)
			assert_string_equal(addr_print(&plain, text), rows[i].plain);
		else
			assert_true(addr_equal(&a, &plain));
	}
}

static void endpoints_and_prefixes_are_read_strictly(void **state)
{
	static const char *const bad_endpoints[] = {
		"1.2.3.4:", "1.2.3.4:0", "1.2.3", "[::1", "[::1]x", "a:1", ":53"};
	static const char *const bad_prefixes[] = {
		"10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8", "fe80::1/10"};
	char text[ENDPOINT_TEXT_BYTES];
	struct endpoint e;
	struct prefix p;
	struct addr a;

	(void)state;
	assert_int_equal(endpoint_parse("1.2.3.4", 53, &e), 0);
	assert_string_equal(endpoint_print(&e, text), "1.2.3.4:53");
	assert_int_equal(endpoint_parse("[2606::1]:5353", 53, &e), 0);
	assert_string_equal(endpoint_print(&e, text), "[2606::1]:5353");
	assert_int_equal(endpoint_parse("2606::1", 53, &e), 0);
	assert_int_equal(e.port, 53);
	for (size_t i = 0; i < ARRAY_SIZE(bad_endpoints); i++)
		assert_int_equal(endpoint_parse(bad_endpoints[i], 53, &e), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad_prefixes); i++)
		assert_int_equal(
			prefix_parse(bad_prefixes[i], strlen(bad_prefixes[i]), &p), -EINVAL);
	assert_int_equal(prefix_parse("93.184.216.0/24", 15, &p), 0);
	assert_int_equal(addr_parse("93.184.216.200", 14, &a), 0);
	assert_true(prefix_has(&p, &a));
	assert_int_equal(addr_parse("93.184.217.1", 12, &a), 0);
	assert_false(prefix_has(&p, &a));
}

static void json_strings_are_ascii_and_whole(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{"plain", 5, "\"plain\""},
		{"a\"b\\", 4, "\"a\\\"b\\\\\""},
		{"\n\x1b\x7f", 3, "\"\\u000a\\u001b\\u007f\""},
		{"\0x", 2, "\"\\u0000x\""},
		{"\xc3\xa9", 2, "\"\\u00e9\""},
		{"\xe2\x80\xa8", 3, "\"\\u2028\""},
		{"\xf0\x9f\x98\x80", 4, "\"\\ud83d\\ude00\""},
		{"\xff\xc0\xaf", 3, "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},
		{"0123456789", 10, "\"01234567\\u2026\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf b;

		buf_init(&b);
		buf_add_json(&b, rows[i].in, rows[i].len, 8);
		assert_string_equal(b.data, rows[i].out);
		buf_done(&b);
	}
}

static void buffer_grows_and_drops_its_front(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%04d", i);
	assert_int_equal(b.len, 4000);
	buf_drop_front(&b, 3996);
	assert_string_equal(b.data, "0999");
	buf_add_u64(&b, 0);
	buf_add_u64(&b, UINT64_MAX);
	assert_string_equal(b.data, "0999018446744073709551615");
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	assert_true(b.is_failed);
	buf_done(&b);
}

struct number {
	struct htab_node node;
	uint64_t value;
};

static void hash_table_finds_what_was_added(void **state)
{
	static struct number numbers[5000];
	struct htab_node *n, *tmp;
	struct htab t;
	size_t left = 0;

	(void)state;
	htab_init(&t);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		numbers[i].value = i;
		assert_int_equal(
			htab_add(&t, &numbers[i].node, hash_bytes(&numbers[i].value, 8)), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i += 2)
		htab_del(&t, &numbers[i].node);
	for (uint64_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		n = htab_find(&t, hash_bytes(&i, 8));
		assert_int_equal(n != NULL, i % 2);
	}
	htab_for_each (&t, n, tmp) {
		htab_del(&t, n);
		left++;
	}
	assert_int_equal(left, ARRAY_SIZE(numbers) / 2);
	htab_done(&t);
}

static void siphash_gives_the_published_vector(void **state)
{
	static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	unsigned char in[15];

	(void)state;
	for (unsigned char i = 0; i < sizeof(in); i++)
		in[i] = i;
	assert_true(hash_bytes_keyed(key, in, sizeof(in)) == 0xa129ca6149be45e5);
}

struct ticker {
	struct loop_timer timer;
	struct loop *loop;
	struct ticker *victim; /* disarmed when this one fires */
	char *log;
	char mark;
};

static void on_tick(struct loop_timer *timer)
{
	struct ticker *t = CONTAINER_OF(timer, struct ticker, timer);

	t->log[strlen(t->log)] = t->mark;
	if (t->victim)
		loop_timer_del(t->loop, &t->victim->timer);
	if (t->mark == 'z')
		loop_stop(t->loop, 7);
}

static void timers_fire_in_order_and_can_be_taken_back(void **state)
{
	char log[16] = "";
	struct ticker t[5];
	struct loop *loop;
	static const uint64_t due[] = {30, 10, 20, 5, 40};
	static const char marks[] = "cabxz";

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		t[i] = (struct ticker){{on_tick, 0, 0}, loop, NULL, log, marks[i]};
		assert_int_equal(loop_timer_set(loop, &t[i].timer, due[i]), 0);
	}
	loop_timer_del(loop, &t[3].timer);
	t[1].victim = &t[2];
	assert_int_equal(loop_run(loop), 7);
	assert_string_equal(log, "acz");
	loop_free(loop);
}

struct pair {
	struct loop_io io;
	struct loop *loop;
	struct pair *other;
	int *n_calls;
};

static void on_pair(struct loop_io *io, uint32_t events)
{
	struct pair *p = CONTAINER_OF(io, struct pair, io);

	(void)events;
	(*p->n_calls)++;
	loop_del(p->loop, &p->other->io, true);
	loop_stop(p->loop, 0);
}

static void watch_deleted_in_a_round_is_not_called(void **state)
{
	int fds[2], n_calls = 0;
	struct pair pairs[2];
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	for (int i = 0; i < 2; i++) {
		fds[i] = eventfd(1, EFD_CLOEXEC);
		pairs[i] = (struct pair){{on_pair, -1}, loop, &pairs[!i], &n_calls};
		assert_int_equal(loop_add(loop, &pairs[i].io, fds[i], EPOLLIN), 0);
	}
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(n_calls, 1);
	close(fds[0]);
	close(fds[1]);
	loop_free(loop);
}

static void user_who_owns_a_folder_above_can_write(void **state)
{
	char dir[] = "/tmp/nej-base-XXXXXX", path[64], culprit[4096];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/policy.yaml", dir);
	assert_int_equal(file_replace(path, "x", 1, 0644), 0);
	assert_int_equal(file_is_writable_by(path, getuid(), getgid(), culprit), 1);
	assert_string_equal(culprit, path);
	assert_int_equal(file_is_writable_by(path, getuid() + 77, getgid() + 77, NULL), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(file_is_writable_by(path, getuid() + 77, getgid() + 77, culprit), 1);
	assert_string_equal(culprit, dir);
	unlink(path);
	rmdir(dir);
}

static void errors_are_printed_with_their_place(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct err_list list;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	err_init(&list, "p.yaml");
	err_add(&list, 2, 1, "did you mean `rules`?", "unknown key `%s`", "rule");
	err_warn(&list, 3, 0, NULL, "shadowed");
	err_print(&list, f);
	fclose(f);
	assert_string_equal(text,
		"p.yaml:2:1: error: unknown key `rule`; did you mean `rules`?\n"
		"p.yaml:3: warning: shadowed\n");
}

static void time_is_printed_as_utc_with_microseconds(void **state)
{
	char text[CLOCK_TEXT_BYTES];

	(void)state;
	clock_print(1796078217123456, text);
	assert_string_equal(text, "2026-11-30T22:36:57.123456Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_plain_decimal_numbers),
		cmocka_unit_test(durations_are_numbers_with_units),
		cmocka_unit_test(addresses_are_classified_by_their_range),
		cmocka_unit_test(endpoints_and_prefixes_are_read_strictly),
		cmocka_unit_test(json_strings_are_ascii_and_whole),
		cmocka_unit_test(buffer_grows_and_drops_its_front),
		cmocka_unit_test(hash_table_finds_what_was_added),
		cmocka_unit_test(siphash_gives_the_published_vector),
		cmocka_unit_test(timers_fire_in_order_and_can_be_taken_back),
		cmocka_unit_test(watch_deleted_in_a_round_is_not_called),
		cmocka_unit_test(user_who_owns_a_folder_above_can_write),
		cmocka_unit_test(errors_are_printed_with_their_place),
		cmocka_unit_test(time_is_printed_as_utc_with_microseconds),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
