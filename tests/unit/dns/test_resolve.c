/* SPDX-License-Identifier: GPL-2.0-only */
/* The resolver: one lookup for all who ask, both families, bounds in time and number. */
#include "world.h"

#include "../../../user/dns/hosts.h"
#include "../../../include/bounds.h"

static const struct row zone[] = {
	{"both.test", DNSMSG_A, .addrs = {"93.184.216.34", "93.184.216.35"}},
	{"both.test", DNSMSG_AAAA, .addrs = {"2606:2800:220::1"}},
	{"v4.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"late.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"late.test", DNSMSG_AAAA, .is_silent = true},
	{"lie.test", DNSMSG_A, .rcode = DNSMSG_NOERROR},
	{"lie.test", DNSMSG_AAAA, .rcode = DNSMSG_NXDOMAIN},
	{"mute.test", DNSMSG_A, .is_silent = true},
	{"mute.test", DNSMSG_AAAA, .is_silent = true},
	{"fail.test", DNSMSG_A, .rcode = DNSMSG_SERVFAIL},
	{"fail.test", DNSMSG_AAAA, .rcode = DNSMSG_SERVFAIL},
	{"cut.test", DNSMSG_A, .is_cut = true, .addrs = {"93.184.216.34"}},
	{"alias.test", DNSMSG_A, .alias = "end.other", .addrs = {"93.184.216.34"}},
	{"alias.test", DNSMSG_AAAA, .alias = "end.other", .addrs = {"2606:2800:220::1"}},
	{0},
};

struct asked {
	struct resolve_request req;
	bool is_done;
	int status;
	struct resolve_answer answer;
};

static struct loop *loop;
static struct resolve *resolve;
static int n_waiting;

static void on_answer(struct resolve_request *req, int status, const struct resolve_answer *answer)
{
	struct asked *a = CONTAINER_OF(req, struct asked, req);

	assert_false(a->is_done);
	a->is_done = true;
	a->status = status;
	a->answer = *answer;
	if (!--n_waiting)
		loop_stop(loop, 0);
}

static void begin(const char *name, struct asked *a)
{
	struct host h;

	assert_int_equal(host_parse(name, strlen(name), &h), 0);
	memset(a, 0, sizeof(*a));
	a->req.on_answer = on_answer;
	n_waiting++;
	assert_int_equal(resolve_addrs(resolve, &h, &a->req), 0);
}

static void finish(void)
{
	if (n_waiting)
		loop_run(loop);
}

static void open_resolver(size_t n_dead)
{
	struct endpoint servers[3];
	uint16_t dead = 0;

	start_upstream(zone);
	for (size_t i = 0; i <= n_dead; i++)
		servers[i] = (struct endpoint){addr_from_v4(INADDR_LOOPBACK), w.up_port};
	for (size_t i = 0; i < n_dead; i++) {
		close(open_loopback(SOCK_DGRAM, &dead));
		servers[i].port = dead;
	}
	n_waiting = 0;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(resolve_new(loop, servers, n_dead + 1, &resolve), 0);
}

static void close_resolver(void)
{
	resolve_free(resolve);
	loop_free(loop);
	stop_upstream();
}

static void one_lookup_serves_all_who_ask(void **state)
{
	struct asked a[5];

	(void)state;
	open_resolver(0);
	for (int i = 0; i < 4; i++)
		begin("both.test", &a[i]);
	finish();
	begin("both.test", &a[4]);
	assert_true(a[4].is_done); /* known */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(a[i].status, 0);
		assert_int_equal(a[i].answer.n_addrs, 3);
		assert_false(addr_is_v4(&a[i].answer.addrs[0]));
		assert_in_range(a[i].answer.ttl_s, 50, 60);
	}
	assert_int_equal(w.n_questions, 2);
	close_resolver();
}

static void each_outcome_has_its_status(void **state)
{
	static const struct {
		const char *name;
		int status;
		size_t n_addrs;
		unsigned int max_ms;
	} rows[] = {
		{"v4.test", 0, 1, 1000},
		{"late.test", 0, 1, 1000},
		{"lie.test", -ENODATA, 0, 1000},
		{"none.test", -ENOENT, 0, 1000},
		{"fail.test", -EIO, 0, 4500},
		{"cut.test", 0, 1, 1000},
		{"mute.test", -ETIMEDOUT, 0, 4500},
	};

	(void)state;
	open_resolver(0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t began = clock_monotonic_ms();
		struct asked a;

		begin(rows[i].name, &a);
		finish();
		if (a.status != rows[i].status || a.answer.n_addrs != rows[i].n_addrs ||
			clock_monotonic_ms() - began > rows[i].max_ms)
			fail_msg("%s: status %d, %zu addresses, %u ms", rows[i].name, a.status,
				a.answer.n_addrs, (unsigned int)(clock_monotonic_ms() - began));
	}
	assert_true(w.n_by_tcp > 0);
	close_resolver();
}

static void aliases_are_told(void **state)
{
	struct asked a;

	(void)state;
	open_resolver(0);
	begin("alias.test", &a);
	finish();
	assert_int_equal(a.answer.n_addrs, 2);
	assert_int_equal(a.answer.aliases_len, 10);
	assert_string_equal(a.answer.aliases, "end.other");
	close_resolver();
}

static void next_server_is_asked_when_one_is_dead(void **state)
{
	struct asked a;

	(void)state;
	open_resolver(2);
	begin("both.test", &a);
	finish();
	assert_int_equal(a.status, 0);
	close_resolver();
}

static void cancelled_request_is_not_told(void **state)
{
	struct asked a, b;

	(void)state;
	open_resolver(0);
	begin("both.test", &a);
	begin("both.test", &b);
	resolve_cancel(resolve, &a.req);
	n_waiting--;
	finish();
	assert_false(a.is_done);
	assert_true(b.is_done);
	close_resolver();
}

static void flight_is_bounded_and_may_be_left(void **state)
{
	static struct asked a[NEJ_MAX_QUERIES / 2 + 1];
	struct host h;
	char name[32];
	int r = 0;
	size_t n = 0;

	(void)state;
	open_resolver(0);
	for (; n < ARRAY_SIZE(a) && r == 0; n++) {
		int len = snprintf(name, sizeof(name), "n%zu.test", n);

		assert_int_equal(host_parse(name, (size_t)len, &h), 0);
		a[n].req.on_answer = on_answer;
		r = resolve_addrs(resolve, &h, &a[n].req);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(n, ARRAY_SIZE(a));
	close_resolver(); /* with all of them in flight */
}

static void without_a_server_everything_fails_at_once(void **state)
{
	struct resolve_request req = {.on_answer = on_answer};
	struct host h;

	(void)state;
	assert_int_equal(host_parse("a.test", 6, &h), 0);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(resolve_new(loop, NULL, 0, &resolve), 0);
	assert_int_equal(resolve_addrs(resolve, &h, &req), -EIO);
	resolve_free(resolve);
	loop_free(loop);
}

static void hosts_file_gives_names_addresses(void **state)
{
	char path[] = "/tmp/test_hosts.XXXXXX";
	static const char text[] = "# remark\n10.1.2.3\tone.test two.test # more\n"
				   "::2 one.test\nfe80::1%eth0 bad.test\nno.test\n"
				   "127.0.0.1 localhost\n300.1.1.1 bad.test\n10.1.2.4 one.test";
	struct resolve_answer answer;
	struct cache *c;
	struct host h;
	int fd = mkstemp(path), status;

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(cache_new(SIZE_MAX, &c), 0);
	hosts_read(path, c);
	unlink(path);
	host_parse("one.test", 8, &h);
	assert_true(cache_get(c, &h, 0, &status, &answer));
	assert_int_equal(answer.n_addrs, 3);
	assert_false(addr_is_v4(&answer.addrs[0]));
	host_parse("two.test", 8, &h);
	assert_true(cache_has(c, &h, 0));
	host_parse("bad.test", 8, &h);
	assert_false(cache_has(c, &h, 0));
	host_parse("localhost", 9, &h);
	assert_false(cache_has(c, &h, 0));
	cache_free(c);
}

static void cache_forgets_by_age_and_when_full(void **state)
{
	struct resolve_answer answer = {.ttl_s = 10, .n_addrs = 1}, got;
	struct cache *c;
	struct host h[4];
	int status;

	(void)state;
	assert_int_equal(cache_new(3, &c), 0);
	for (int i = 0; i < 4; i++) {
		char name[16];

		host_parse(name, (size_t)snprintf(name, sizeof(name), "c%d.test", i), &h[i]);
		cache_put(c, &h[i], 0, &answer, 10000);
	}
	assert_false(cache_has(c, &h[0], 0)); /* the oldest went */
	assert_true(cache_get(c, &h[1], 4500, &status, &got));
	assert_int_equal(got.ttl_s, 5);
	assert_true(cache_get(c, &h[1], 9999, &status, &got));
	assert_int_equal(got.ttl_s, 1);
	assert_false(cache_get(c, &h[1], 10000, &status, &got));
	cache_put(c, &h[2], -ENOENT, &answer, 20000);
	assert_true(cache_get(c, &h[2], 15000, &status, &got));
	assert_int_equal(status, -ENOENT);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_lookup_serves_all_who_ask),
		cmocka_unit_test(each_outcome_has_its_status),
		cmocka_unit_test(aliases_are_told),
		cmocka_unit_test(next_server_is_asked_when_one_is_dead),
		cmocka_unit_test(cancelled_request_is_not_told),
		cmocka_unit_test(flight_is_bounded_and_may_be_left),
		cmocka_unit_test(without_a_server_everything_fails_at_once),
		cmocka_unit_test(hosts_file_gives_names_addresses),
		cmocka_unit_test(cache_forgets_by_age_and_when_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
