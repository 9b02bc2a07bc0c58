/* SPDX-License-Identifier: GPL-2.0-only */
/* The stub as its clients see it: every type in every mode, over UDP and TCP. */
#include "world.h"

#define ALLOW "rules:\n  - allow: [api.allowed.test, .pkg.test]\n"
#define SYNTHETIC ALLOW
#define RESOLVE "dns: resolve\n" ALLOW
#define BLACKHOLE "dns: blackhole\n" ALLOW
#define CAA 257

static const char svcb_hints[] = "\0\1\0"                   /* priority 1, target the owner */
				 "\0\1\0\3\2h2"             /* alpn */
				 "\0\4\0\4\x2d\x21\x20\x9c" /* ipv4hint */
				 "\0\5\0\4echk";            /* ech */
static const char svcb_needs_ech[] = "\0\1\0\0\0\0\2\0\5\0\5\0\4echk";
static const char svcb_target[] = "\0\1\3alt\4evil\4test\0";

static const struct row zone[] = {
	{"api.allowed.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"api.allowed.test", DNSMSG_AAAA, .addrs = {"2606:2800:220::1"}},
	{"api.allowed.test", DNSMSG_TXT, .rdata = "\3one\4four", .rdata_len = 9},
	{"api.allowed.test", DNSMSG_MX, .rdata = "\0\12\4mail\7allowed\4test", .rdata_len = 21},
	{"api.allowed.test", DNSMSG_SRV, .rdata = "\0\1\0\2\1\xbb\3api\7allowed\4test",
		.rdata_len = 24},
	{"api.allowed.test", CAA, .rdata = "\0\5issueca.test", .rdata_len = 14},
	{"api.allowed.test", DNSMSG_HTTPS, .rdata = svcb_hints,
		.rdata_len = sizeof(svcb_hints) - 1},
	{"ech.pkg.test", DNSMSG_HTTPS, .rdata = svcb_needs_ech,
		.rdata_len = sizeof(svcb_needs_ech) - 1},
	{"target.pkg.test", DNSMSG_SVCB, .rdata = svcb_target,
		.rdata_len = sizeof(svcb_target) - 1},
	{"v4.pkg.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"lie.pkg.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"lie.pkg.test", DNSMSG_AAAA, .rcode = DNSMSG_NXDOMAIN},
	{"half.pkg.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"half.pkg.test", DNSMSG_AAAA, .rcode = DNSMSG_SERVFAIL},
	{"late.pkg.test", DNSMSG_A, .addrs = {"93.184.216.34"}},
	{"late.pkg.test", DNSMSG_AAAA, .is_silent = true},
	{"fail.pkg.test", DNSMSG_A, .rcode = DNSMSG_SERVFAIL},
	{"fail.pkg.test", DNSMSG_AAAA, .rcode = DNSMSG_SERVFAIL},
	{"mute.pkg.test", DNSMSG_A, .is_silent = true},
	{"mute.pkg.test", DNSMSG_AAAA, .is_silent = true},
	{"mute.pkg.test", DNSMSG_TXT, .is_silent = true},
	{"inside.pkg.test", DNSMSG_A, .addrs = {"93.184.216.34", "10.0.0.5"}},
	{"alias.pkg.test", DNSMSG_A, .alias = "cdn.mirror.test", .addrs = {"93.184.216.34"}},
	{"alias.pkg.test", DNSMSG_CNAME, .alias = "cdn.mirror.test"},
	{"alias.pkg.test", DNSMSG_TXT, .alias = "cdn.mirror.test", .rdata = "\1x", .rdata_len = 2},
	{"cut.pkg.test", DNSMSG_A, .is_cut = true, .addrs = {"93.184.216.34"}},
	{0},
};

/* --- every type and mode */

struct expect {
	const char *policy, *name;
	unsigned int type, rcode, n_answers;
	int n_upstream;
	int n_denials;
};

static const struct expect types[] = {
	{SYNTHETIC, "api.allowed.test", DNSMSG_A, 0, 1, 0, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_AAAA, 0, 1, 0, 0},
	{SYNTHETIC, "v4.pkg.test", DNSMSG_AAAA, 0, 1, 0, 0},
	{SYNTHETIC, "API.Allowed.TEST", DNSMSG_A, 0, 1, 0, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_TXT, 0, 1, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_MX, 0, 1, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_SRV, 0, 1, 1, 0},
	{SYNTHETIC, "api.allowed.test", CAA, 0, 1, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_HTTPS, 0, 1, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_SVCB, 0, 0, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_NS, 0, 0, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_SOA, 0, 0, 1, 0},
	{SYNTHETIC, "none.pkg.test", DNSMSG_TXT, 0, 0, 1, 0},
	{SYNTHETIC, "api.allowed.test", DNSMSG_ANY, 0, 1, 0, 0},
	{SYNTHETIC, "api.allowed.test", 10, 0, 0, 0, 1},    /* NULL */
	{SYNTHETIC, "api.allowed.test", 65280, 0, 0, 0, 1}, /* private use */
	{SYNTHETIC, "api.allowed.test", 252, 4, 0, 0, 1},   /* AXFR */
	{SYNTHETIC, "api.allowed.test", 41, 4, 0, 0, 1},    /* OPT */
	{SYNTHETIC, "evil.test", DNSMSG_A, 3, 0, 0, 1},
	{SYNTHETIC, "data.evil.test", DNSMSG_TXT, 3, 0, 0, 1},
	{SYNTHETIC, "evil.test", DNSMSG_ANY, 3, 0, 0, 1},
	{SYNTHETIC, "evil.test", DNSMSG_HTTPS, 3, 0, 0, 1},
	{SYNTHETIC, "api.allowed.test.corp.example", DNSMSG_A, 3, 0, 0, 1},
	{SYNTHETIC, "10-0-0-5.sslip.io", DNSMSG_A, 3, 0, 0, 1},
	{SYNTHETIC, "localhost", DNSMSG_A, 0, 1, 0, 0},
	{SYNTHETIC, "localhost", DNSMSG_AAAA, 0, 1, 0, 0},
	{SYNTHETIC, "db.localhost", DNSMSG_A, 0, 1, 0, 0},
	{SYNTHETIC, "localhost", DNSMSG_TXT, 0, 0, 0, 0},
	{SYNTHETIC, "1.0.0.127.in-addr.arpa", DNSMSG_PTR, 0, 1, 0, 0},
	{SYNTHETIC, "9.113.0.203.in-addr.arpa", DNSMSG_PTR, 3, 0, 0, 1},
	{SYNTHETIC, "9.9.18.198.in-addr.arpa", DNSMSG_PTR, 3, 0, 0, 0},
	{SYNTHETIC, "", DNSMSG_NS, 5, 0, 0, 1},
	{RESOLVE, "api.allowed.test", DNSMSG_A, 0, 1, 2, 0},
	{RESOLVE, "api.allowed.test", DNSMSG_AAAA, 0, 1, 2, 0},
	{RESOLVE, "v4.pkg.test", DNSMSG_AAAA, 0, 0, 2, 0},
	{RESOLVE, "lie.pkg.test", DNSMSG_AAAA, 0, 0, 2, 0},
	{RESOLVE, "half.pkg.test", DNSMSG_A, 0, 1, -1, 0},
	{RESOLVE, "half.pkg.test", DNSMSG_AAAA, 0, 0, -1, 0},
	{RESOLVE, "late.pkg.test", DNSMSG_A, 0, 1, -1, 0},
	{RESOLVE, "none.pkg.test", DNSMSG_A, 3, 0, 2, 0},
	{RESOLVE, "fail.pkg.test", DNSMSG_A, 2, 0, -1, 0},
	{RESOLVE, "inside.pkg.test", DNSMSG_A, 3, 0, 2, 1},
	{RESOLVE, "alias.pkg.test", DNSMSG_A, 0, 1, 2, 0},
	{RESOLVE, "alias.pkg.test", DNSMSG_CNAME, 0, 1, 1, 0},
	{RESOLVE, "alias.pkg.test", DNSMSG_TXT, 0, 1, 1, 0},
	{RESOLVE, "cut.pkg.test", DNSMSG_A, 0, 1, -1, 0},
	{RESOLVE, "api.allowed.test", DNSMSG_HTTPS, 0, 1, 1, 0},
	{RESOLVE, "ech.pkg.test", DNSMSG_HTTPS, 0, 0, 1, 0},
	{RESOLVE, "target.pkg.test", DNSMSG_SVCB, 0, 0, 1, 0},
	{RESOLVE, "evil.test", DNSMSG_A, 3, 0, 0, 1},
	{BLACKHOLE, "api.allowed.test", DNSMSG_A, 0, 0, 0, 0},
	{BLACKHOLE, "api.allowed.test", DNSMSG_TXT, 0, 0, 0, 0},
	{BLACKHOLE, "evil.test", DNSMSG_A, 3, 0, 0, 1},
	{"default: allow\ndns: resolve\nrules: [deny: .mirror.test]\n", "alias.pkg.test", DNSMSG_A,
		3, 0, 2, 1},
	{"default: allow\ndns: resolve\nrules: [deny: .mirror.test]\n", "alias.pkg.test",
		DNSMSG_TXT, 3, 0, 1, 1},
	{"default: allow\nrules: [deny: .mirror.test]\n", "cdn.mirror.test", DNSMSG_A, 3, 0, 0, 1},
	{"default: allow\nrules: []\n", "4.4.8.8.in-addr.arpa", DNSMSG_PTR, 3, 0, 0, 1},
	{"rules: [allow: .8.8.in-addr.arpa]\n", "4.4.8.8.in-addr.arpa", DNSMSG_PTR, 0, 0, 1, 0},
	{"rules: [allow: .10.in-addr.arpa]\n", "4.4.8.10.in-addr.arpa", DNSMSG_PTR, 3, 0, 0, 1},
};

static void every_type_gets_its_answer_in_every_mode(void **state)
{
	static struct reply r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct expect *e = &types[i];

		start(e->policy, zone);
		ask(e->name, e->type, &r);
		if (r.rcode != e->rcode || r.n_answers != e->n_answers ||
			(e->n_upstream >= 0 && w.n_questions != e->n_upstream) ||
			(int)w.n_denials != e->n_denials)
			fail_msg("row %zu %s %u: rcode %u, %u answers, %d upstream, %zu denials", i,
				e->name, e->type, r.rcode, r.n_answers, w.n_questions, w.n_denials);
		stop();
	}
}

static uint64_t count_timed(enum meter_latency what)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += __atomic_load_n(&w.meter.latencies[what].counts[i], __ATOMIC_RELAXED);
	return n;
}

/* By what came of them: at once, after a question upstream, over TCP. */
static void answers_are_timed(void **state)
{
	static struct reply r;

	(void)state;
	start(RESOLVE, zone);
	ask("api.allowed.test", DNSMSG_A, &r);
	ask("api.allowed.test", DNSMSG_A, &r);
	ask("evil.test", DNSMSG_A, &r);
	ask("none.pkg.test", DNSMSG_A, &r);
	ask("fail.pkg.test", DNSMSG_A, &r);
	stop();
	assert_int_equal(count_timed(METER_DNS_NOERROR), 2);
	assert_int_equal(count_timed(METER_DNS_NXDOMAIN), 2);
	assert_int_equal(count_timed(METER_DNS_OTHER), 1);
	assert_true(w.meter.latencies[METER_DNS_NOERROR].sum_us < 60000000);
}

static bool has_bytes(const struct reply *r, const char *bytes)
{
	return memmem(r->msg, r->len, bytes, strlen(bytes));
}

static void service_records_lose_addresses_and_keys(void **state)
{
	static struct reply r;

	(void)state;
	start(RESOLVE, zone);
	ask("api.allowed.test", DNSMSG_HTTPS, &r);
	assert_true(has_bytes(&r, "\2h2"));
	assert_false(has_bytes(&r, "\x2d\x21\x20\x9c"));
	assert_false(has_bytes(&r, "echk"));
	stop();
}

static void denied_name_is_explained(void **state)
{
	static struct reply r;

	(void)state;
	start("rules:\n  - deny: gist.pkg.test\n  - allow: .pkg.test\n", zone);
	ask("x.evil.test", DNSMSG_A, &r);
	assert_int_equal(r.ede, DNSMSG_EDE_BLOCKED);
	assert_non_null(strstr(r.ede_text, "- allow: x.evil.test"));
	ask("gist.pkg.test", DNSMSG_A, &r);
	assert_int_equal(r.ede, DNSMSG_EDE_BLOCKED);
	assert_non_null(strstr(r.ede_text, "line 3"));
	assert_non_null(strstr(r.ede_text, "gist.pkg.test"));
	ask_sized("x.evil.test", DNSMSG_A, 0, &r);
	assert_int_equal(r.ede, -1);
	assert_int_equal(r.rcode, DNSMSG_NXDOMAIN);
	assert_int_equal(w.n_denials, 3);
	assert_int_equal(w.denials[0].reason, NEJ_REASON_NO_RULE);
	assert_int_equal(w.denials[1].reason, NEJ_REASON_RULE);
	assert_string_equal(w.denials[0].name, "x.evil.test");
	stop();
}

static void synthetic_address_is_stable_and_has_its_name(void **state)
{
	static struct reply a, again, ptr;
	unsigned int b[4];
	char name[64];

	(void)state;
	start(SYNTHETIC, zone);
	ask("a.pkg.test", DNSMSG_A, &a);
	ask("b.pkg.test", DNSMSG_A, &again);
	assert_string_not_equal(a.addrs[0], again.addrs[0]);
	ask("a.pkg.test", DNSMSG_A, &again);
	assert_string_equal(a.addrs[0], again.addrs[0]);
	assert_int_equal(sscanf(a.addrs[0], "%u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]), 4);
	snprintf(name, sizeof(name), "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
	ask(name, DNSMSG_PTR, &ptr);
	assert_int_equal(ptr.n_answers, 1);
	assert_true(has_bytes(&ptr, "\1a\3pkg\4test"));
	stop();
}

static void shut_stub_refuses_and_says_so(void **state)
{
	static struct reply r;

	(void)state;
	start(SYNTHETIC, zone);
	w.shut = NEJ_REASON_HALTED;
	ask("api.allowed.test", DNSMSG_A, &r);
	assert_int_equal(r.rcode, DNSMSG_REFUSED);
	assert_int_equal(r.ede, DNSMSG_EDE_PROHIBITED);
	assert_int_equal(w.denials[0].reason, NEJ_REASON_HALTED);
	ask("localhost", DNSMSG_A, &r);
	assert_int_equal(r.n_answers, 1);
	stop();
}

static void big_answer_is_cut_to_what_the_client_takes(void **state)
{
	static struct row big[] = {{.name = "big.pkg.test", .type = DNSMSG_A}, {0}};
	static char text[60][32];
	static struct reply r;

	(void)state;
	for (int i = 0; i < 60; i++) {
		snprintf(text[i], sizeof(text[i]), "93.184.216.%d", i + 1);
		big[0].addrs[i] = text[i];
	}
	start(RESOLVE, big);
	ask_sized("big.pkg.test", DNSMSG_A, 0, &r);
	assert_true(r.is_cut);
	assert_true(r.len <= 512);
	ask_sized("big.pkg.test", DNSMSG_A, 900, &r);
	assert_true(r.is_cut && r.len <= 900);
	ask_sized("big.pkg.test", DNSMSG_A, 4096, &r);
	assert_false(r.is_cut);
	assert_int_equal(r.n_addrs, 60);
	stop();
}

static void dead_resolver_is_an_error_in_time(void **state)
{
	static struct reply r;
	uint64_t began = clock_monotonic_ms();

	(void)state;
	start(RESOLVE, zone);
	ask("mute.pkg.test", DNSMSG_A, &r);
	assert_int_equal(r.rcode, DNSMSG_SERVFAIL);
	assert_true(clock_monotonic_ms() - began < 5000);
	assert_int_equal(w.n_denials, 0);
	stop();
}

static void questions_upstream_have_a_budget(void **state)
{
	static struct reply r;
	int n_limited = 0;
	char name[80];

	(void)state;
	start(RESOLVE, zone);
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "%056d.pkg.test", i);
		ask(name, DNSMSG_TXT, &r);
		n_limited += r.rcode == DNSMSG_SERVFAIL;
	}
	assert_in_range(n_limited, 1, 100);
	assert_in_range(w.n_questions, 300, 399);
	assert_int_equal(w.n_denials, n_limited);
	assert_int_equal(w.denials[0].reason, NEJ_REASON_LIMIT);
	stop();
}

static void known_answers_take_nothing_from_the_budget(void **state)
{
	static struct reply r;

	(void)state;
	start(RESOLVE, zone);
	for (int i = 0; i < 500; i++) {
		ask("api.allowed.test", DNSMSG_A, &r);
		assert_int_equal(r.n_answers, 1);
	}
	assert_int_equal(w.n_questions, 2);
	stop();
}

/* --- odd questions */

static void odd_questions_are_refused_without_a_crash(void **state)
{
	static const struct {
		const char *bytes; /* behind the id */
		size_t len;
		unsigned int rcode;
	} rows[] = {
#define ROW(b, rcode) {b, sizeof(b) - 1, rcode}
		ROW("\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1\1b\0\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\0\0\0\0\0\0\0", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\3a.b\4evil\0\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\3a\0b\4evil\0\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\x41"
		    "abc\0\0\1\0\1",
			DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\xc0\xff\0\1\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\1a\0\0\1", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1tail", DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\4\0\0\0\0\0\0\2\0\1",
			DNSMSG_FORMERR),
		ROW("\1\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\4\0\0\1\0\0\0\0", DNSMSG_BADVERS),
		ROW("\x29\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", DNSMSG_NOTIMP),
		ROW("\1\0\0\1\0\0\0\0\0\0\7version\4bind\0\0\x10\0\3", DNSMSG_REFUSED),
		ROW("\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\xff", DNSMSG_REFUSED),
		ROW("\1\0\0\1\0\0\0\0\0\0\1-\4evil\0\0\1\0\1", DNSMSG_NXDOMAIN),
		ROW("\1\0\0\1\0\0\0\0\0\0\3a b\4evil\0\0\1\0\1", DNSMSG_NXDOMAIN),
#undef ROW
	};
	static struct reply r;

	(void)state;
	start("default: allow\nrules: []\n", zone);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t msg[600] = {0xab, 0xcd};

		memcpy(msg + 2, rows[i].bytes, rows[i].len);
		ask_bytes(msg, rows[i].len + 2, &r);
		assert_int_equal(get16(r.msg), 0xabcd);
		if (r.rcode != rows[i].rcode)
			fail_msg("row %zu: rcode %u", i, r.rcode);
	}
	assert_int_equal(w.n_denials, ARRAY_SIZE(rows) - 1); /* BADVERS is no refusal */
	assert_int_equal(w.n_questions, 0);
	stop();
}

static void replies_and_scraps_get_no_reply(void **state)
{
	static const uint8_t scrap[] = {1, 2, 3};
	uint8_t msg[600];
	size_t len = put_query(msg, 1, "api.allowed.test", DNSMSG_A, 0);
	struct pollfd p = {.events = POLLIN};

	(void)state;
	start(SYNTHETIC, zone);
	p.fd = dial(SOCK_DGRAM);
	msg[2] |= 0x80;
	assert_int_equal(send(p.fd, msg, len, 0), len);
	assert_int_equal(send(p.fd, scrap, sizeof(scrap), 0), sizeof(scrap));
	memset(msg, 0, sizeof(msg));
	assert_int_equal(poll(&p, 1, 100), 0);
	close(p.fd);
	stop();
}

/* --- many clients, TCP */

static void batch_answers_each_client_its_own(void **state)
{
	enum { N = 200 };
	static struct reply r;
	static int fds[N];
	uint8_t msg[600];
	char name[64];

	(void)state;
	start(SYNTHETIC, zone);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), i % 3 ? "n%d.pkg.test" : "n%d.evil.test", i);
		fds[i] = dial(SOCK_DGRAM);
		send(fds[i], msg, put_query(msg, (unsigned int)i, name, DNSMSG_A, 0), 0);
	}
	for (int i = 0; i < N; i++) {
		ssize_t n = recv(fds[i], r.msg, sizeof(r.msg), 0);

		assert_true(n > 0);
		r.len = (size_t)n;
		read_reply(&r);
		assert_int_equal(get16(r.msg), i);
		assert_int_equal(r.rcode, i % 3 ? 0 : 3);
		close(fds[i]);
	}
	stop();
}

static size_t put_tcp(uint8_t *out, unsigned int id, const char *name, unsigned int type)
{
	size_t n = put_query(out + 2, id, name, type, 0);

	put16(out, (unsigned int)n);
	return n + 2;
}

static void read_tcp(int fd, struct reply *r)
{
	uint8_t head[2];

	assert_int_equal(recv(fd, head, 2, MSG_WAITALL), 2);
	r->len = get16(head);
	assert_int_equal(recv(fd, r->msg, r->len, MSG_WAITALL), r->len);
	read_reply(r);
}

static void tcp_questions_in_pieces_and_in_a_row_are_each_judged(void **state)
{
	static struct reply r;
	static uint8_t bytes[64 * 100];
	size_t len = 0;
	int fd;

	(void)state;
	start(RESOLVE, zone);
	fd = dial(SOCK_STREAM);
	for (unsigned int i = 0; i < 40; i++)
		len += put_tcp(bytes + len, i, i % 2 ? "x.evil.test" : "localhost", DNSMSG_A);
	for (size_t at = 0; at < 50; at++) { /* one byte a segment first */
		assert_int_equal(send(fd, bytes + at, 1, 0), 1);
		usleep(500);
	}
	assert_int_equal(send(fd, bytes + 50, len - 50, 0), len - 50);
	for (unsigned int i = 0; i < 40; i++) {
		read_tcp(fd, &r);
		assert_int_equal(get16(r.msg), i);
		assert_int_equal(r.rcode, i % 2 ? 3 : 0);
	}
	len = put_tcp(bytes, 77, "api.allowed.test", DNSMSG_A);
	assert_int_equal(send(fd, bytes, len, 0), len);
	shutdown(fd, SHUT_WR); /* the answer is still owed */
	read_tcp(fd, &r);
	assert_int_equal(r.n_addrs, 1);
	assert_int_equal(recv(fd, bytes, 1, 0), 0);
	close(fd);
	assert_int_equal(w.n_denials, 20);
	assert_int_equal(w.denials[0].proto, IPPROTO_TCP);
	stop();
}

static void tcp_sessions_are_bounded_and_scraps_end_them(void **state)
{
	static int fds[200];
	static struct reply r;
	uint8_t bytes[600] = {0xff, 0xff, 1};
	size_t len;

	(void)state;
	start(SYNTHETIC, zone);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial(SOCK_STREAM);
	len = put_tcp(bytes + 10, 5, "api.allowed.test", DNSMSG_A);
	assert_int_equal(send(fds[199], bytes + 10, len, 0), len);
	read_tcp(fds[199], &r);
	assert_int_equal(r.n_addrs, 1);
	assert_int_equal(recv(fds[0], bytes, 1, 0), 0); /* gave way */
	bytes[0] = bytes[1] = 0xff;
	assert_int_equal(send(fds[198], bytes, 3, 0), 3); /* longer than any question */
	assert_true(recv(fds[198], bytes, 1, 0) <= 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	stop();
}

static void client_that_leaves_takes_its_questions_along(void **state)
{
	uint8_t bytes[600];
	size_t len = put_tcp(bytes, 5, "mute.pkg.test", DNSMSG_TXT);
	int fd;

	(void)state;
	start(RESOLVE, zone);
	fd = dial(SOCK_STREAM);
	assert_int_equal(send(fd, bytes, len, 0), len);
	while (!was_asked("mute.pkg.test/16"))
		usleep(1000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	close(fd);
	usleep(20000);
	stop();
}

static void clients_options_do_not_leave(void **state)
{
	static struct reply r;
	uint8_t msg[600];
	size_t len = put_query(msg, 9, "api.allowed.test", DNSMSG_TXT, 1232);

	(void)state;
	start(RESOLVE, zone);
	len += put16(msg + len, 65001);
	len += put16(msg + len, 6);
	memcpy(msg + len, "CANARY", 6);
	len += 6;
	msg[len - 11] = 10; /* rdata length of OPT */
	ask_bytes(msg, len, &r);
	assert_int_equal(r.n_answers, 1);
	assert_false(has_bytes(&r, "CANARY"));
	stop();
}

/* --- transport: kernel */

static void kernel_name_is_told_only_once_it_is_open(void **state)
{
	static const int statuses[] = {0, -EACCES};
	static struct reply r;
	uint8_t msg[600];
	size_t len = put_query(msg, 3, "api.allowed.test", DNSMSG_A, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct learn_message m;
		struct learn_reply answer;
		struct pollfd p = {.events = POLLIN};

		start("rules:\n  - allow: tcp://api.allowed.test:5432\n    transport: kernel\n",
			zone);
		p.fd = dial(SOCK_DGRAM);
		assert_int_equal(send(p.fd, msg, len, 0), len);
		assert_int_equal(recv(w.learn_fds[1], &m, sizeof(m), 0), sizeof(m));
		assert_memory_equal(m.name, "api.allowed.test", m.name_len);
		assert_int_equal(m.n_addrs, 2);
		assert_in_range(m.ttl_s, 1, 60);
		assert_int_equal(poll(&p, 1, 50), 0); /* not before the supervisor said so */
		answer = (struct learn_reply){.id = m.id, .status = statuses[i]};
		assert_int_equal(send(w.learn_fds[1], &answer, sizeof(answer), 0), sizeof(answer));
		r.len = (size_t)recv(p.fd, r.msg, sizeof(r.msg), 0);
		read_reply(&r);
		assert_int_equal(r.n_addrs, statuses[i] == 0);
		assert_int_equal(r.rcode, statuses[i] == 0 ? DNSMSG_NOERROR : DNSMSG_SERVFAIL);
		close(p.fd);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_gets_its_answer_in_every_mode),
		cmocka_unit_test(answers_are_timed),
		cmocka_unit_test(service_records_lose_addresses_and_keys),
		cmocka_unit_test(denied_name_is_explained),
		cmocka_unit_test(synthetic_address_is_stable_and_has_its_name),
		cmocka_unit_test(shut_stub_refuses_and_says_so),
		cmocka_unit_test(big_answer_is_cut_to_what_the_client_takes),
		cmocka_unit_test(dead_resolver_is_an_error_in_time),
		cmocka_unit_test(questions_upstream_have_a_budget),
		cmocka_unit_test(known_answers_take_nothing_from_the_budget),
		cmocka_unit_test(odd_questions_are_refused_without_a_crash),
		cmocka_unit_test(replies_and_scraps_get_no_reply),
		cmocka_unit_test(batch_answers_each_client_its_own),
		cmocka_unit_test(tcp_questions_in_pieces_and_in_a_row_are_each_judged),
		cmocka_unit_test(tcp_sessions_are_bounded_and_scraps_end_them),
		cmocka_unit_test(client_that_leaves_takes_its_questions_along),
		cmocka_unit_test(clients_options_do_not_leave),
		cmocka_unit_test(kernel_name_is_told_only_once_it_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
