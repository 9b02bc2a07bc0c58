/* SPDX-License-Identifier: GPL-2.0-only */
/* Evidence: what the kernel counted is what the records say, to the last one. */
#include "world.h"

#include <sys/resource.h>

#include "../../user/base/clock.h"
#include "../../user/base/loop.h"
#include "../../user/kernel/events.h"

static struct world world;
static struct loop *loop;
static struct events *events;

static struct {
	uint64_t n_records, n_attempts;
	struct audit_event last;
	char detail[96];
	uint64_t told_ms; /* when the last one came */
} told;

static void on_event(void *arg, const struct audit_event *event)
{
	(void)arg;
	told.n_records++;
	told.n_attempts += event->count;
	told.last = *event;
	snprintf(told.detail, sizeof(told.detail), "%.*s", (int)event->detail.len,
		event->detail.ptr ? event->detail.ptr : "");
	told.told_ms = clock_monotonic_ms();
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, NEJ_F_OWN_NETNS);
	memset(&told, 0, sizeof(told));
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(events_new(loop, world.object, on_event, NULL, &events), 0);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	events_free(events);
	loop_free(loop);
	world_close(&world);
	return 0;
}

static void on_stop(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(loop, 0);
}

static void run_loop(uint64_t ms)
{
	struct loop_timer timer = {.on_timeout = on_stop};

	assert_int_equal(loop_timer_set(loop, &timer, ms), 0);
	loop_run(loop);
}

/* An emulator takes its time. */
static void run_until_told(int n_records)
{
	for (int i = 0; i < 60 && (int)told.n_records < n_records; i++)
		run_loop(50);
}

static uint64_t count_all(void)
{
	uint64_t counts[NEJ_COUNTER_COUNT], n = 0;

	assert_int_equal(object_counters(world.object, counts), 0);
	for (int i = 0; i < NEJ_REASON_COUNT; i++)
		n += counts[i];
	return n + counts[NEJ_COUNTER_PASSED];
}

static void expect_reconciled(void)
{
	uint64_t lost;

	events_drain(events);
	lost = events_lost(events);
	assert_int_equal(told.n_attempts + lost, count_all());
}

static void refusal_is_told_with_its_process_and_address(void **state)
{
	struct target t = {.addr = "93.184.216.34", .port = 25};
	char text[ADDR_TEXT_BYTES];

	(void)state;
	world_run_as(&world, SANDBOX_UID, try_connect, &t);
	run_until_told(1);
	assert_int_equal(told.n_records, 1);
	assert_int_equal(told.last.kind, AUDIT_NETWORK_BLOCKED);
	assert_int_equal(told.last.layer, AUDIT_LAYER_KERNEL);
	assert_int_equal(told.last.reason, NEJ_REASON_NO_RULE);
	assert_int_equal(told.last.proto, IPPROTO_TCP);
	assert_int_equal(told.last.port, 25);
	assert_int_equal(told.last.uid, SANDBOX_UID);
	assert_int_equal(told.last.count, 1);
	assert_int_equal(told.last.rule, AUDIT_NO_RULE);
	assert_int_equal(told.last.cgroup_id, world.settings.cgroup_id);
	assert_string_equal(told.last.comm, "test_events");
	assert_string_equal(addr_print(&told.last.addr, text), "93.184.216.34");
	assert_true(clock_real_us() - told.last.time_us < 1000000);
	expect_reconciled();
}

/* The same address in IPv4 and v4-mapped form reads the same. */
static void mapped_address_is_told_as_ipv4(void **state)
{
	struct target t = {.addr = "::ffff:93.184.216.34", .port = 25};
	char text[ADDR_TEXT_BYTES];

	(void)state;
	world_run(&world, try_connect, &t);
	run_until_told(1);
	assert_string_equal(addr_print(&told.last.addr, text), "93.184.216.34");
}

static void make_raw(struct world_result *ret, void *arg)
{
	(void)arg;
	ret->value = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) < 0 ? -errno : 0;
	socket(AF_INET6, SOCK_RAW, 50);
}

static void refused_socket_names_its_protocol(void **state)
{
	(void)state;
	world_run(&world, make_raw, NULL);
	run_until_told(2);
	assert_int_equal(told.n_records, 2);
	assert_int_equal(told.last.reason, NEJ_REASON_SOCKET_TYPE);
	assert_int_equal(told.last.has_addr, 0);
	assert_string_equal(told.detail, "socket type raw, protocol 50");
	expect_reconciled();
}

static void pass_of_a_kernel_rule_is_told(void **state)
{
	struct target t = {.addr = "192.0.2.10", .port = 443};

	(void)state;
	world_allow4(&world, "192.0.2.10", IPPROTO_TCP, 443, 0);
	assert_int_equal(world_run(&world, try_connect, &t).value, -ENETUNREACH);
	run_until_told(1);
	assert_int_equal(told.n_records, 1);
	assert_int_equal(told.last.kind, AUDIT_NETWORK_ALLOWED);
	assert_int_equal(told.last.reason, NEJ_REASON_RULE);
	assert_int_equal(told.last.rule, 7);
	assert_int_equal(world_count(&world, NEJ_COUNTER_PASSED), 1);
	expect_reconciled();
}

/* n datagrams, to `spread` different ports. */
struct flood {
	int n, spread;
};

static void send_flood(struct world_result *ret, void *arg)
{
	const struct flood *f = arg;
	struct target t = {.addr = "93.184.216.34", .type = SOCK_DGRAM};
	struct sockaddr_storage sa;
	int fd = target_socket(&t);

	ret->value = 0;
	for (int i = 0; i < f->n; i++) {
		socklen_t len;

		t.port = (uint16_t)(1024 + i % f->spread);
		len = target_sockaddr(&t, &sa);
		ret->value += sendto(fd, "canary", 6, 0, (struct sockaddr *)&sa, len) < 0;
	}
}

static void repeats_of_a_second_are_folded_and_counted(void **state)
{
	struct flood f = {.n = 5000, .spread = 1};

	(void)state;
	assert_int_equal(world_run(&world, send_flood, &f).value, f.n);
	run_loop(1400); /* the sweep follows by itself */
	assert_int_equal(told.n_attempts, f.n);
	assert_true(told.n_records <= 3);
	expect_reconciled();
	assert_int_equal(told.n_attempts, f.n);
}

static void flood_to_many_places_reconciles_with_the_counters(void **state)
{
	struct flood f = {.n = 60000, .spread = 3000};

	(void)state;
	assert_int_equal(world_run(&world, send_flood, &f).value, f.n);
	run_loop(100);
	expect_reconciled();
	assert_int_equal(told.n_attempts, f.n);
}

/* More places than the fold table has room for, and nobody reads meanwhile: what is forgotten is
 * counted. */
static void what_cannot_be_told_is_counted(void **state)
{
	struct flood f = {.n = 120000, .spread = 60000};
	uint64_t lost;

	(void)state;
	assert_int_equal(world_run(&world, send_flood, &f).value, f.n);
	events_drain(events);
	lost = events_lost(events);
	assert_int_equal(world_count(&world, NEJ_REASON_UDP), f.n);
	assert_int_equal(told.n_attempts + lost, f.n);
	assert_true(lost > 0);
	assert_int_equal(events_lost(events), 0);
	assert_int_equal(
		world_run(&world, send_flood, &(struct flood){.n = 10, .spread = 10}).value, 10);
	events_drain(events);
	assert_int_equal(told.n_attempts + lost + events_lost(events), f.n + 10);
}

static long waits(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_nvcsw;
}

static void idle_sandbox_wakes_nobody(void **state)
{
	struct target t = {.addr = "93.184.216.34", .port = 25};
	long before;

	(void)state;
	world_run(&world, try_connect, &t);
	run_loop(2500); /* drain, sweep, and then nothing */
	before = waits();
	run_loop(1500);
	assert_in_range(waits() - before, 1, 5); /* the end of run_loop's own time */
	assert_int_equal(told.n_attempts, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(refusal_is_told_with_its_process_and_address),
		T(mapped_address_is_told_as_ipv4),
		T(refused_socket_names_its_protocol),
		T(pass_of_a_kernel_rule_is_told),
		T(repeats_of_a_second_are_folded_and_counted),
		T(flood_to_many_places_reconciles_with_the_counters),
		T(what_cannot_be_told_is_counted),
		T(idle_sandbox_wakes_nobody),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
