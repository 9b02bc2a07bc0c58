/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stub over real sockets of loopback: what each type gets in each mode. An upstream server in
 * the same loop counts what is asked of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/loop.h"
#include "../../../user/dns/stub.h"
#include "../../../user/policy/policy.h"
#include "../../../user/wire/dnsmsg.h"

#define OPT_BYTES 11

struct world {
	struct loop *loop;
	struct policy *policy;
	const struct policy *now;
	struct synth *synth;
	struct resolve *resolve;
	struct stub *stub;
	struct endpoint at; /* the stub */
	struct loop_io upstream, client;
	struct loop_timer limit;
	int n_asked; /* questions that went upstream */
	int n_denied;
	enum nej_reason reason; /* of the last denial */
	enum nej_reason shut;
	uint8_t reply[65536];
	size_t reply_len;
};

/* --- the outside */

struct zone_row {
	const char *name;
	uint16_t type;
	const char *rdata;
	size_t len;
};

#define ROW(name, type, bytes)                                                                     \
	{                                                                                          \
		name, type, bytes, sizeof(bytes) - 1                                               \
	}
static const struct zone_row zone[] = {
	ROW("a.example", DNSMSG_A, "\x5d\xb8\xd8\x22"),
	ROW("inside.example", DNSMSG_A, "\x0a\x00\x00\x05"),
	ROW("alias.example", DNSMSG_CNAME,
		"\x06target\x07"
		"blocked\x07"
		"example\x00"),
	ROW("target.blocked.example", DNSMSG_A, "\x5d\xb8\xd8\x23"),
	ROW("a.example", DNSMSG_TXT, "\x05hello"),
	ROW("a.example", DNSMSG_HTTPS,
		"\x00\x01\x00"
		"\x00\x01\x00\x03\x02h2"
		"\x00\x04\x00\x04\x01\x02\x03\x04"
		"\x00\x05\x00\x04"
		"ech!"),
};

static void add_zone(struct dnsmsg_reply *r, const struct dnsmsg_query *q, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(zone); i++) {
		if (strcmp(zone[i].name, name))
			continue;
		if (zone[i].type == q->type || zone[i].type == DNSMSG_CNAME)
			dnsmsg_add_record(
				r, zone[i].type, 60, (const uint8_t *)zone[i].rdata, zone[i].len);
	}
}

/* An alias and its end have two owners, which the reply builder does not write: by hand. */
static size_t chain_reply(uint8_t *out, size_t len, const struct dnsmsg_query *q)
{
	static const char owner[] = "\x06target\x07"
				    "blocked\x07"
				    "example";
	static const char fixed[] = "\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x5d\xb8\xd8\x23";

	if (strcmp(q->name, "alias.example") || q->type != DNSMSG_A)
		return len;
	memcpy(out + len, owner, sizeof(owner));
	memcpy(out + len + sizeof(owner), fixed, sizeof(fixed) - 1);
	out[7]++;
	return len + sizeof(owner) + sizeof(fixed) - 1;
}

static void on_upstream(struct loop_io *io, uint32_t events)
{
	struct world *w = CONTAINER_OF(io, struct world, upstream);
	uint8_t msg[1500], out[4096];
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(
		io->fd, msg, sizeof(msg), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
	struct dnsmsg_query q;
	struct dnsmsg_reply r;
	size_t len;

	(void)events;
	if (n < 0)
		return;
	assert_int_equal(dnsmsg_parse_query(msg, (size_t)n, &q), 0);
	w->n_asked++;
	q.has_edns = false;
	dnsmsg_reply_init(&r, out, sizeof(out), msg, &q);
	add_zone(&r, &q, q.name);
	len = dnsmsg_reply_end(&r, &q, DNSMSG_NOERROR, DNSMSG_EDE_NONE, NULL, 0);
	len = chain_reply(out, len, &q);
	sendto(io->fd, out, len, 0, (struct sockaddr *)&from, from_len);
}

/* --- set-up */

static int bind_loopback(int type, struct endpoint *ret)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&sa, ret), 0);
	return fd;
}

static void on_denial(void *arg, const struct stub_denial *denial)
{
	struct world *w = arg;

	w->n_denied++;
	w->reason = denial->reason;
}

static enum nej_reason may_answer(void *arg)
{
	return ((struct world *)arg)->shut;
}

static void open_world(struct world *w, const char *policy)
{
	static const uint8_t net6[8] = {0xfd, 1, 2, 3, 4, 5, 6, 7};
	struct err_list errs;
	struct endpoint up;
	int fd;

	memset(w, 0, sizeof(*w));
	err_init(&errs, "test");
	assert_int_equal(policy_load_text(policy, strlen(policy), NULL, &errs, &w->policy), 0);
	w->now = w->policy;
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(synth_new(net6, &w->synth), 0);
	fd = bind_loopback(SOCK_DGRAM, &up);
	w->upstream.on_ready = on_upstream;
	assert_int_equal(loop_add(w->loop, &w->upstream, fd, EPOLLIN), 0);
	assert_int_equal(resolve_new(w->loop, &up, 1, &w->resolve), 0);
	const struct stub_options options = {
		.loop = w->loop,
		.policy = &w->now,
		.synth = w->synth,
		.resolve = w->resolve,
		.on_denial = on_denial,
		.may_answer = may_answer,
		.arg = w,
	};
	assert_int_equal(stub_new(&options, &w->stub), 0);
	assert_int_equal(stub_add_udp(w->stub, bind_loopback(SOCK_DGRAM, &w->at)), 0);
}

static void close_world(struct world *w)
{
	int fd = w->upstream.fd;

	stub_free(w->stub);
	resolve_free(w->resolve);
	synth_free(w->synth);
	loop_del(w->loop, &w->upstream, true);
	close(fd);
	loop_free(w->loop);
	policy_free(w->policy);
}

/* --- a client */

static size_t write_question(
	uint8_t *out, const char *name, uint16_t type, bool has_edns, uint16_t qclass)
{
	static const uint8_t head[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
	static const uint8_t opt[OPT_BYTES] = {0, 0, 41, 4, 208};
	size_t n = sizeof(head);

	memcpy(out, head, n);
	while (*name) {
		size_t len = strcspn(name, ".");

		out[n++] = (uint8_t)len;
		memcpy(out + n, name, len);
		n += len;
		name += len + (name[len] == '.');
	}
	out[n++] = 0;
	out[n++] = (uint8_t)(type >> 8);
	out[n++] = (uint8_t)type;
	out[n++] = (uint8_t)(qclass >> 8);
	out[n++] = (uint8_t)qclass;
	if (has_edns) {
		memcpy(out + n, opt, OPT_BYTES);
		n += OPT_BYTES;
		out[11] = 1;
	}
	return n;
}

static void on_client(struct loop_io *io, uint32_t events)
{
	struct world *w = CONTAINER_OF(io, struct world, client);
	ssize_t n = recv(io->fd, w->reply, sizeof(w->reply), MSG_DONTWAIT);

	(void)events;
	assert_true(n > 0);
	w->reply_len = (size_t)n;
	loop_stop(w->loop, 0);
}

static void on_limit(struct loop_timer *timer)
{
	loop_stop(CONTAINER_OF(timer, struct world, limit)->loop, 0);
}

/* Sends bytes and waits for the reply, at most a while; reply_len 0: none came. */
static void exchange(struct world *w, const uint8_t *msg, size_t len, uint64_t wait_ms)
{
	struct sockaddr_storage to;
	socklen_t to_len = endpoint_to_sockaddr(&w->at, &to);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, to_len), 0);
	assert_int_equal(send(fd, msg, len, 0), len);
	w->reply_len = 0;
	w->client.on_ready = on_client;
	w->limit.on_timeout = on_limit;
	assert_int_equal(loop_add(w->loop, &w->client, fd, EPOLLIN), 0);
	assert_int_equal(loop_timer_set(w->loop, &w->limit, wait_ms), 0);
	loop_run(w->loop);
	loop_timer_del(w->loop, &w->limit);
	loop_del(w->loop, &w->client, true);
	close(fd);
}

/* The reply's code; *ret_n its answers. */
static int ask(struct world *w, const char *name, uint16_t type, int *ret_n)
{
	uint8_t msg[512];

	exchange(w, msg, write_question(msg, name, type, true, 1), 5000);
	assert_true(w->reply_len >= DNSMSG_HEAD_BYTES);
	assert_memory_equal(w->reply, "\x12\x34", 2);
	*ret_n = w->reply[6] << 8 | w->reply[7];
	return w->reply[3] & 15;
}

static bool reply_has(const struct world *w, const char *bytes, size_t len)
{
	return memmem(w->reply, w->reply_len, bytes, len) != NULL;
}

/* --- tests */

static const char allow_example[] = "rules:\n  - allow: [.example, .local.test]\n";

static void each_type_gets_its_answer_in_each_mode(void **state)
{
	static const struct {
		const char *mode, *name;
		uint16_t type;
		int rcode, n_answers, n_asked;
	} rows[] = {
		{"synthetic", "a.example", DNSMSG_A, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "a.example", DNSMSG_AAAA, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "a.example", DNSMSG_TXT, DNSMSG_NOERROR, 1, 1},
		{"synthetic", "a.example", DNSMSG_MX, DNSMSG_NOERROR, 0, 1},
		{"synthetic", "a.example", DNSMSG_HTTPS, DNSMSG_NOERROR, 1, 1},
		{"synthetic", "a.example", DNSMSG_ANY, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "a.example", 65280, DNSMSG_NOERROR, 0, 0},
		{"synthetic", "evil.test", DNSMSG_A, DNSMSG_NXDOMAIN, 0, 0},
		{"synthetic", "evil.test", DNSMSG_TXT, DNSMSG_NXDOMAIN, 0, 0},
		{"synthetic", "evil.test", DNSMSG_HTTPS, DNSMSG_NXDOMAIN, 0, 0},
		{"synthetic", "EVIL.TeSt", DNSMSG_ANY, DNSMSG_NXDOMAIN, 0, 0},
		{"synthetic", "4.3.2.1.in-addr.arpa", DNSMSG_PTR, DNSMSG_NXDOMAIN, 0, 0},
		{"synthetic", "1.0.0.127.in-addr.arpa", DNSMSG_PTR, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "localhost", DNSMSG_A, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "localhost", DNSMSG_AAAA, DNSMSG_NOERROR, 1, 0},
		{"synthetic", "", DNSMSG_NS, DNSMSG_NXDOMAIN, 0, 0},
		{"resolve", "a.example", DNSMSG_A, DNSMSG_NOERROR, 1, 2},
		{"resolve", "a.example", DNSMSG_AAAA, DNSMSG_NOERROR, 0, 2},
		{"resolve", "inside.example", DNSMSG_A, DNSMSG_NXDOMAIN, 0, 2},
		{"resolve", "evil.test", DNSMSG_A, DNSMSG_NXDOMAIN, 0, 0},
		{"blackhole", "a.example", DNSMSG_A, DNSMSG_NOERROR, 0, 0},
		{"blackhole", "evil.test", DNSMSG_A, DNSMSG_NXDOMAIN, 0, 0},
	};
	struct world *w = calloc(1, sizeof(*w));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char policy[256];
		int n;

		snprintf(policy, sizeof(policy), "dns: %s\n%s", rows[i].mode, allow_example);
		open_world(w, policy);
		print_message("%s %s %u\n", rows[i].mode, rows[i].name, rows[i].type);
		assert_int_equal(ask(w, rows[i].name, rows[i].type, &n), rows[i].rcode);
		assert_int_equal(n, rows[i].n_answers);
		assert_int_equal(w->n_asked, rows[i].n_asked);
		assert_int_equal(w->n_denied, rows[i].rcode == DNSMSG_NXDOMAIN);
		close_world(w);
	}
	free(w);
}

static void denied_name_says_why_in_an_extended_error(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int n;

	(void)state;
	open_world(w, allow_example);
	assert_int_equal(ask(w, "x.evil.test", DNSMSG_A, &n), DNSMSG_NXDOMAIN);
	assert_true(reply_has(w, "no rule names it", 16));
	assert_int_equal(w->reason, NEJ_REASON_NO_RULE);
	close_world(w);
	free(w);
}

static void service_record_loses_addresses_and_keys(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int n;

	(void)state;
	open_world(w, allow_example);
	assert_int_equal(ask(w, "a.example", DNSMSG_HTTPS, &n), DNSMSG_NOERROR);
	assert_int_equal(n, 1);
	assert_true(reply_has(w, "\x02h2", 3));
	assert_false(reply_has(w, "ech!", 4));
	assert_false(reply_has(w, "\x01\x02\x03\x04", 4));
	close_world(w);
	free(w);
}

static void alias_that_a_rule_denies_denies_the_name(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int n;

	(void)state;
	open_world(w, "default: allow\ndns: resolve\nrules:\n  - deny: .blocked.example\n");
	assert_int_equal(ask(w, "alias.example", DNSMSG_A, &n), DNSMSG_NXDOMAIN);
	assert_int_equal(w->reason, NEJ_REASON_RULE);
	close_world(w);
	/* where only listed names are allowed, the question decides */
	open_world(w, "dns: resolve\nrules:\n  - allow: alias.example\n");
	assert_int_equal(ask(w, "alias.example", DNSMSG_A, &n), DNSMSG_NOERROR);
	assert_int_equal(n, 1);
	close_world(w);
	free(w);
}

static void synthetic_address_is_stable_and_reverses_to_its_name(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct addr v4, v6;
	struct host name;
	char reverse[80];
	uint32_t a;
	int n;

	(void)state;
	open_world(w, allow_example);
	assert_int_equal(ask(w, "B.Example", DNSMSG_A, &n), DNSMSG_NOERROR);
	assert_true(reply_has(w,
		"\x01"
		"B\x07"
		"Example",
		10)); /* the question as it was asked */
	assert_int_equal(host_parse("b.example", 9, &name), 0);
	assert_int_equal(synth_assign(w->synth, &name, &v4, &v6), 0);
	a = htonl(addr_to_v4(&v4));
	assert_true(reply_has(w, (char *)&a, 4));
	a = addr_to_v4(&v4);
	snprintf(reverse, sizeof(reverse), "%u.%u.%u.%u.in-addr.arpa", a & 255, a >> 8 & 255,
		a >> 16 & 255, a >> 24);
	assert_int_equal(ask(w, reverse, DNSMSG_PTR, &n), DNSMSG_NOERROR);
	assert_int_equal(n, 1);
	assert_true(reply_has(w,
		"\x01"
		"b\x07"
		"example",
		10));
	close_world(w);
	free(w);
}

static void odd_messages_get_an_error_or_nothing(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	uint8_t msg[512];
	size_t len;

	(void)state;
	open_world(w, allow_example);
	len = write_question(msg, "a.example", DNSMSG_A, false, 3);
	exchange(w, msg, len, 5000);
	assert_int_equal(w->reply[3] & 15, DNSMSG_REFUSED);
	len = write_question(msg, "a.example", DNSMSG_A, false, 1);
	msg[2] = 0x29; /* UPDATE */
	exchange(w, msg, len, 5000);
	assert_int_equal(w->reply[3] & 15, DNSMSG_NOTIMP);
	msg[2] = 1;
	msg[5] = 2; /* two questions, one there */
	exchange(w, msg, len, 5000);
	assert_int_equal(w->reply[3] & 15, DNSMSG_FORMERR);
	msg[5] = 1;
	exchange(w, msg, len - 2, 5000);
	assert_int_equal(w->reply[3] & 15, DNSMSG_FORMERR);
	assert_int_equal(w->n_denied, 3 - 1 + 1);
	msg[2] = 0x81; /* a reply */
	exchange(w, msg, len, 50);
	assert_int_equal(w->reply_len, 0);
	assert_int_equal(w->n_asked, 0);
	close_world(w);
	free(w);
}

static void upstream_questions_are_rationed(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int n, n_refused = 0;

	(void)state;
	open_world(w, allow_example);
	for (int i = 0; i < 400; i++) {
		char name[64];

		snprintf(name, sizeof(name), "n%d.example", i);
		if (ask(w, name, DNSMSG_TXT, &n) == DNSMSG_SERVFAIL)
			n_refused++;
	}
	assert_true(n_refused > 0);
	assert_int_equal(w->n_denied, n_refused);
	assert_int_equal(w->reason, NEJ_REASON_LIMIT);
	assert_int_equal(w->n_asked, 400 - n_refused);
	/* names themselves are not: they ask nothing */
	assert_int_equal(ask(w, "other.example", DNSMSG_A, &n), DNSMSG_NOERROR);
	close_world(w);
	free(w);
}

static void nothing_is_answered_while_the_log_cannot_be_written(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int n;

	(void)state;
	open_world(w, allow_example);
	w->shut = NEJ_REASON_AUDIT_UNAVAILABLE;
	assert_int_equal(ask(w, "a.example", DNSMSG_A, &n), DNSMSG_NXDOMAIN);
	assert_int_equal(w->reason, NEJ_REASON_AUDIT_UNAVAILABLE);
	close_world(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_gets_its_answer_in_each_mode),
		cmocka_unit_test(denied_name_says_why_in_an_extended_error),
		cmocka_unit_test(service_record_loses_addresses_and_keys),
		cmocka_unit_test(alias_that_a_rule_denies_denies_the_name),
		cmocka_unit_test(synthetic_address_is_stable_and_reverses_to_its_name),
		cmocka_unit_test(odd_messages_get_an_error_or_nothing),
		cmocka_unit_test(upstream_questions_are_rationed),
		cmocka_unit_test(nothing_is_answered_while_the_log_cannot_be_written),
	};

	return cmocka_run_group_tests_name("dns/stub", tests, NULL, NULL);
}
