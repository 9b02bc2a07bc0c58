/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring from the worker to the supervisor: in order, whole, counted, and no word of it believed. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../../user/audit/ring.h"
#include "../../../user/base/cleanup.h"

#define FILE_BYTES (4096 + NEJ_AUDIT_RING_BYTES)

/* Both ends in one process, and what came out. */
struct pair {
	struct folder f;
	struct audit_ring *reader, *writer;
	int wake_fd;
	uint64_t n, sum_out, sum_count;
	struct audit_event last;
	char host[600], url[2200];
};

static void setup(struct pair *p)
{
	bool is_leftover = true;

	memset(p, 0, sizeof(*p));
	folder_make(&p->f);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(audit_ring_create(p->f.log, &p->reader, &is_leftover), 0);
	assert_false(is_leftover);
	assert_int_equal(audit_ring_open(dup(audit_ring_fd(p->reader)), p->wake_fd, &p->writer), 0);
}

static void teardown(struct pair *p)
{
	audit_ring_close(p->writer);
	audit_ring_close(p->reader);
	close(p->wake_fd);
	folder_remove(&p->f);
}

static void on_event(const struct audit_event *e, void *arg)
{
	struct pair *p = arg;

	p->n++;
	p->sum_out += e->bytes_out;
	p->sum_count += e->count;
	p->last = *e;
	snprintf(
		p->host, sizeof(p->host), "%.*s", (int)e->host.len, e->host.ptr ? e->host.ptr : "");
	snprintf(p->url, sizeof(p->url), "%.*s", (int)e->url.len, e->url.ptr ? e->url.ptr : "");
}

static uint64_t drain(struct pair *p)
{
	uint64_t malformed = 0;

	audit_ring_drain(p->reader, on_event, p, &malformed);
	return malformed;
}

static uint64_t take_wake(struct pair *p)
{
	uint64_t value = 0;

	return read(p->wake_fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static void event_comes_out_as_it_went_in(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");
	struct pair p;

	(void)state;
	setup(&p);
	e.url = text("http://evil.test/x");
	e.detail = (struct audit_text){"", 0};
	e.has_addr = 1;
	e.addr = addr_from_v4(0x01020304);
	e.status = 403;
	e.cgroup_id = 9;
	e.rule = 3;
	assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	assert_int_equal(drain(&p), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.host, "evil.test");
	assert_string_equal(p.url, "http://evil.test/x");
	assert_null(p.last.method.ptr);
	assert_non_null(p.last.detail.ptr);
	assert_int_equal(p.last.status, 403);
	assert_int_equal(p.last.cgroup_id, 9);
	assert_int_equal(p.last.rule, 3);
	assert_true(addr_equal(&p.last.addr, &e.addr));
	assert_int_equal(p.last.time_us, e.time_us);
	assert_string_equal(p.last.comm, "curl");
	teardown(&p);
}

static void overlong_texts_are_cut_with_a_mark(void **state)
{
	static char huge[100000];
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, NULL);
	struct pair p;

	(void)state;
	setup(&p);
	memset(huge, 'a', sizeof(huge));
	e.host = e.method = e.url = e.detail = (struct audit_text){huge, sizeof(huge)};
	assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	assert_int_equal(drain(&p), 0);
	assert_non_null(strstr(p.host, "aaa\xe2\x80\xa6(+99488 bytes, siphash "));
	assert_non_null(strstr(p.url, "(+97952 bytes, siphash "));
	teardown(&p);
}

static void totals_are_amended_until_the_event_is_drained(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "a.test");
	uint64_t ticket, malformed;
	struct pair p;

	(void)state;
	setup(&p);
	assert_int_equal(audit_ring_put(p.writer, &e, &ticket), 0);
	assert_true(audit_ring_amend(p.writer, ticket, 10, 20, 30));
	assert_true(audit_ring_amend(p.writer, ticket, 11, 21, 31));
	assert_int_equal(audit_ring_peek(p.reader, on_event, &p, &malformed), 1);
	assert_int_equal(p.last.bytes_out, 11);
	assert_int_equal(p.last.bytes_in, 21);
	assert_int_equal(p.last.duration_us, 31);
	assert_false(audit_ring_amend(p.writer, ticket, 12, 22, 32));
	audit_ring_release(p.reader);
	assert_false(audit_ring_amend(p.writer, ticket, 12, 22, 32));
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
		assert_false(audit_ring_amend(p.writer, ticket, 1, 2, 3));
		drain(&p);
	}
	assert_int_equal(p.sum_out, 11);
	teardown(&p);
}

static void full_ring_refuses_counts_and_recovers(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "a.test");
	uint64_t put = 0, refused = 0;
	struct pair p;

	(void)state;
	setup(&p);
	for (int round = 0; round < 3; round++) {
		assert_true(audit_ring_has_room(p.writer));
		while (audit_ring_has_room(p.writer)) {
			assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
			put++;
		}
		while (audit_ring_put(p.writer, &e, NULL) == 0)
			put++;
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), -ENOSPC);
		refused += 2;
		assert_int_equal(drain(&p), 0);
		assert_int_equal(p.n, put);
		assert_int_equal(audit_ring_lost(p.reader), 2);
		assert_int_equal(audit_ring_lost(p.reader), 0);
	}
	assert_true(put > 10000);
	teardown(&p);
}

static void reader_is_woken_when_empty_and_when_a_quarter_is_full(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "a.test");
	struct pair p;

	(void)state;
	setup(&p);
	for (int round = 0; round < 10; round++) {
		int until_full = 0;

		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
		assert_int_equal(take_wake(&p), 1);
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
		assert_int_equal(take_wake(&p), 0);
		while (!take_wake(&p)) {
			assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
			until_full++;
		}
		assert_in_range(until_full, 1000, 2500);
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
		assert_int_equal(take_wake(&p), 0);
		drain(&p);
	}
	teardown(&p);
}

static void leftover_of_a_dead_pair_is_drained_by_the_next(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");
	bool is_leftover = false;
	uint64_t malformed;
	struct pair p;

	(void)state;
	setup(&p);
	for (int i = 0; i < 5; i++)
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	/* Read but not released when it died: comes again rather than never. */
	assert_int_equal(audit_ring_peek(p.reader, on_event, &p, &malformed), 5);
	audit_ring_close(p.writer);
	audit_ring_close(p.reader);
	assert_int_equal(audit_ring_create(p.f.log, &p.reader, &is_leftover), 0);
	assert_true(is_leftover);
	p.n = 0;
	assert_int_equal(drain(&p), 0);
	assert_int_equal(p.n, 5);
	/* And serves the next worker. */
	assert_int_equal(audit_ring_open(dup(audit_ring_fd(p.reader)), p.wake_fd, &p.writer), 0);
	assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	assert_int_equal(drain(&p), 0);
	assert_int_equal(p.n, 6);
	teardown(&p);
}

static void file_that_is_no_ring_is_replaced(void **state)
{
	bool is_leftover = true;
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");
	struct pair p;

	(void)state;
	setup(&p);
	audit_ring_close(p.writer);
	audit_ring_close(p.reader);
	assert_int_equal(truncate(p.f.log, 5000), 0);
	assert_int_equal(audit_ring_create(p.f.log, &p.reader, &is_leftover), 0);
	assert_false(is_leftover);
	assert_int_equal(audit_ring_open(dup(audit_ring_fd(p.reader)), p.wake_fd, &p.writer), 0);
	assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	drain(&p);
	assert_int_equal(p.n, 1);
	audit_ring_close(p.writer);
	assert_int_equal(audit_ring_open(open("/dev/null", O_RDWR), p.wake_fd, &p.writer), -EINVAL);
	audit_ring_close(p.reader);
	close(p.wake_fd);
	folder_remove(&p.f);
}

#define N_EVENTS 200000

/* Puts events, amends every second one, and tells in its exit how many were amended too late. */
static void produce(int fd, int wake_fd, int report)
{
	struct audit_ring *ring;
	uint64_t late = 0;

	if (audit_ring_open(fd, wake_fd, &ring) < 0)
		_exit(1);
	for (unsigned int i = 0; i < N_EVENTS; i++) {
		struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "api.allowed.test");
		uint64_t ticket;

		e.bytes_in = i;
		while (!audit_ring_has_room(ring))
			usleep(100);
		if (audit_ring_put(ring, &e, &ticket) < 0)
			_exit(2);
		if (i % 2 && !audit_ring_amend(ring, ticket, 1, i, 0))
			late++;
	}
	_exit(write(report, &late, sizeof(late)) == sizeof(late) ? 0 : 3);
}

static void check_order(const struct audit_event *e, void *arg)
{
	struct pair *p = arg;

	assert_int_equal(e->bytes_in, p->n);
	assert_memory_equal(e->host.ptr, "api.allowed.test", 16);
	p->n++;
	p->sum_out += e->bytes_out;
}

static void two_processes_lose_nothing_and_keep_the_order(void **state)
{
	struct pair p;
	int report[2], status;
	uint64_t late = 0, malformed;
	pid_t pid;

	(void)state;
	setup(&p);
	assert_int_equal(pipe(report), 0);
	pid = fork();
	if (pid == 0)
		produce(audit_ring_fd(p.reader), p.wake_fd, report[1]);
	while (p.n < N_EVENTS) {
		struct pollfd poll_fd = {.fd = p.wake_fd, .events = POLLIN};

		/* Sleeping for ever would be a lost wakeup. */
		if (!audit_ring_has_more(p.reader))
			assert_int_equal(poll(&poll_fd, 1, 10000), 1);
		take_wake(&p);
		audit_ring_drain(p.reader, check_order, &p, &malformed);
		assert_int_equal(malformed, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(report[0], &late, sizeof(late)), sizeof(late));
	/* An amendment that was told to be in time is in the event; one that was told to be late may be
	 * there as well, if its writer was interrupted in the middle for longer than a reader waits. */
	assert_in_range(p.sum_out + late, N_EVENTS / 2, N_EVENTS / 2 + late);
	close(report[0]);
	close(report[1]);
	teardown(&p);
}

static uint64_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void ignore(const struct audit_event *e, void *arg)
{
	uint64_t *n = arg;

	assert_true(e->kind < AUDIT_KIND_COUNT && e->reason < NEJ_REASON_COUNT);
	assert_true(e->layer > AUDIT_LAYER_KERNEL && e->layer < AUDIT_LAYER_COUNT);
	assert_true(e->kind != AUDIT_SANDBOX_FINISHED && e->kind != AUDIT_POLICY_LOADED);
	assert_true(e->count > 0 && e->time_us <= clock_real_us());
	assert_true(e->host.len < 600 && e->url.len < 2200);
	(*n)++;
}

static void whatever_a_hostile_producer_writes_is_survived(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");
	uint64_t seed = 42, n = 0, malformed;
	struct pair p;
	uint8_t *map;

	(void)state;
	setup(&p);
	map = mmap(
		NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, audit_ring_fd(p.reader), 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	for (int round = 0; round < 3000; round++) {
		uint64_t n_puts = draw(&seed) % 40, n_pokes = draw(&seed) % 30, head;

		memcpy(&head, map + 64, sizeof(head));
		while (n_puts--)
			audit_ring_put(p.writer, &e, NULL);
		while (n_pokes--) {
			uint64_t value = draw(&seed), pos = draw(&seed) % 8192;

			/* Near the newest records, and sometimes the positions themselves. */
			if (draw(&seed) % 4 == 0)
				memcpy(map + 64 + draw(&seed) % 80, &value, draw(&seed) % 9);
			else
				map[4096 + ((head + pos) & (NEJ_AUDIT_RING_BYTES - 1))] =
					(uint8_t)value;
		}
		audit_ring_drain(p.reader, ignore, &n, &malformed);
		audit_ring_lost(p.reader);
	}
	munmap(map, FILE_BYTES);
	teardown(&p);
}

static void drained_events_are_in_the_log_before_their_room_is_free(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "api.allowed.test");
	struct audit_sink *sink;
	struct folder f;
	struct pair p;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	setup(&p);
	for (int i = 0; i < 100; i++)
		assert_int_equal(audit_ring_put(p.writer, &e, NULL), 0);
	assert_int_equal(audit_sink_drain(sink, p.reader), 100);
	assert_int_equal(folder_count(f.log, "network_allowed"), 100);
	while (audit_ring_put(p.writer, &e, NULL) == 0)
		;
	assert_true(audit_sink_drain(sink, p.reader) > 1000);
	assert_int_equal(folder_count(f.log, "\"event\":\"events_lost\""), 1);
	audit_sink_close(sink);
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
	teardown(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_comes_out_as_it_went_in),
		cmocka_unit_test(overlong_texts_are_cut_with_a_mark),
		cmocka_unit_test(totals_are_amended_until_the_event_is_drained),
		cmocka_unit_test(full_ring_refuses_counts_and_recovers),
		cmocka_unit_test(reader_is_woken_when_empty_and_when_a_quarter_is_full),
		cmocka_unit_test(leftover_of_a_dead_pair_is_drained_by_the_next),
		cmocka_unit_test(file_that_is_no_ring_is_replaced),
		cmocka_unit_test(two_processes_lose_nothing_and_keep_the_order),
		cmocka_unit_test(whatever_a_hostile_producer_writes_is_survived),
		cmocka_unit_test(drained_events_are_in_the_log_before_their_room_is_free),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
