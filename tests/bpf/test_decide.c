/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel side's decision, row by row, under the verifier; and its agreement with user space. */
#include "world.h"

#include "../../user/base/clock.h"
#include "decide.skel.h"

static struct decide_bpf *skel;

static void run(struct bpf_program *program)
{
	char packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet));

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
}

static void settings_write(uint32_t flags)
{
	struct nej_settings s = {.abi = NEJ_ABI_VERSION,
		.flags = flags,
		.proxy_port_be = htons(PROXY_PORT),
		.eager_port_be = htons(EAGER_PORT),
		.stub_port_be = htons(STUB_PORT)};
	uint32_t zero = 0;

	assert_int_equal(
		bpf_map__update_elem(skel->maps.settings, &zero, sizeof(zero), &s, sizeof(s), 0),
		0);
}

static int open_skeleton(void **state)
{
	struct nej_port_key key = {.proto = IPPROTO_TCP};
	struct nej_port value;

	(void)state;
	skel = decide_bpf__open_and_load();
	if (!skel)
		return -1;
	key.port_be = htons(443);
	value.flags = NEJ_PORT_PROXY;
	bpf_map__update_elem(skel->maps.ports, &key, sizeof(key), &value, sizeof(value), 0);
	key.port_be = htons(22);
	value.flags = NEJ_PORT_PROXY | NEJ_PORT_EAGER;
	bpf_map__update_elem(skel->maps.ports, &key, sizeof(key), &value, sizeof(value), 0);
	key.port_be = htons(5432);
	value.flags = NEJ_PORT_HOST;
	bpf_map__update_elem(skel->maps.ports, &key, sizeof(key), &value, sizeof(value), 0);
	return 0;
}

static int close_skeleton(void **state)
{
	(void)state;
	decide_bpf__destroy(skel);
	return 0;
}

static void put_allow4(const char *addr, unsigned int bits, uint8_t proto, uint16_t port,
	uint8_t verdict, bool is_private_ok, uint64_t expiry_ns)
{
	struct nej_allow4_key key = {
		.prefix_bits = 32 + bits, .proto = proto, .port_be = htons(port)};
	struct nej_allow value = {.verdict = verdict,
		.is_private_ok = is_private_ok,
		.rule = 9,
		.expiry_ns = expiry_ns};

	inet_pton(AF_INET, addr, key.addr);
	assert_int_equal(bpf_map__update_elem(
				 skel->maps.allow4, &key, sizeof(key), &value, sizeof(value), 0),
		0);
}

#define OWN (NEJ_F_ACTIVE | NEJ_F_OWN_NETNS)
#define SHARED NEJ_F_ACTIVE
#define OWNER 0x100 /* needs_owner */
#define QUIET 0x200
#define KEPT 0x400 /* is_remembered */

struct row {
	const char *addr;
	uint16_t port;
	uint8_t proto;
	uint8_t hook;
	uint32_t flags;
	uint32_t verdict; /* with OWNER, QUIET, KEPT */
	uint32_t reason;
};

#define TCP IPPROTO_TCP, NEJ_HOOK_CONNECT
#define UDPC IPPROTO_UDP, NEJ_HOOK_CONNECT
#define UDPS IPPROTO_UDP, NEJ_HOOK_SENDMSG
#define R(id) NEJ_REASON_##id

static const struct row rows[] = {
	/* nothing configured, halted, audit broken */
	{"1.1.1.1", 443, TCP, 0, NEJ_DENY, R(INTERNAL)},
	{"127.0.0.1", 8000, TCP, 0, NEJ_DENY, R(INTERNAL)},
	{"1.1.1.1", 53, UDPS, 0, NEJ_DENY, R(INTERNAL)},
	{"1.1.1.1", 443, TCP, OWN | NEJ_F_HALTED, NEJ_DENY, R(HALTED)},
	{"1.1.1.1", 53, UDPS, OWN | NEJ_F_HALTED, NEJ_DENY, R(HALTED)},
	{"1.1.1.1", 443, TCP, OWN | NEJ_F_AUDIT_FAILED, NEJ_DENY, R(AUDIT_UNAVAILABLE)},
	/* TCP by port */
	{"1.1.1.1", 443, TCP, OWN, NEJ_PROXY, 0}, {"2606:4700::1", 443, TCP, OWN, NEJ_PROXY, 0},
	{"::ffff:1.1.1.1", 443, TCP, OWN, NEJ_PROXY, 0}, {"10.1.2.3", 443, TCP, OWN, NEJ_PROXY, 0},
	{"198.18.0.7", 443, TCP, OWN, NEJ_PROXY, 0}, {"1.1.1.1", 22, TCP, OWN, NEJ_EAGER, 0},
	{"1.1.1.1", 8080, TCP, OWN, NEJ_DENY, R(NO_RULE)},
	{"1.1.1.1", 8080, TCP, OWN | NEJ_F_ANY_PORT, NEJ_EAGER, 0},
	{"1.1.1.1", 443, TCP, OWN | NEJ_F_ANY_PORT, NEJ_PROXY, 0},
	{"1.1.1.1", PROXY_PORT, TCP, OWN, NEJ_DENY, R(NO_RULE)},
	{"1.1.1.1", STUB_PORT, UDPS, OWN, NEJ_DENY, R(UDP)},
	/* DNS, whoever is asked */
	{"8.8.8.8", 53, TCP, OWN, NEJ_STUB, 0}, {"8.8.8.8", 53, UDPC, OWN, NEJ_STUB, 0},
	{"8.8.8.8", 53, UDPS, OWN, NEJ_STUB, 0}, {"127.0.0.53", 53, UDPS, OWN, NEJ_STUB, 0},
	{"127.0.0.11", 53, UDPS, SHARED, NEJ_STUB, 0},
	{"169.254.169.253", 53, UDPS, SHARED, NEJ_STUB, 0},
	{"2001:4860:4860::8888", 53, UDPS, OWN, NEJ_STUB, 0},
	{"fe80::1", 53, UDPS, OWN, NEJ_STUB, 0}, {"fe80::1", 53, UDPS, SHARED, NEJ_DENY, R(UDP)},
	{"fe80::1", 53, TCP, SHARED, NEJ_STUB, 0},
	{"ff02::fb", 53, UDPS, OWN, NEJ_DENY, R(MULTICAST)},
	{"255.255.255.255", 53, UDPS, OWN, NEJ_DENY, R(MULTICAST)},
	/* always refused */
	{"169.254.169.254", 80, TCP, OWN | NEJ_F_ANY_PORT, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"::ffff:169.254.169.254", 80, TCP, OWN | NEJ_F_ANY_PORT, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"64:ff9b::a9fe:a9fe", 443, TCP, OWN, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"2002:a9fe:a9fe::1", 443, TCP, OWN, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"fe80::1", 443, TCP, OWN, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"fd00:ec2::254", 443, TCP, OWN, NEJ_DENY, R(PRIVATE_ADDRESS)},
	{"224.0.0.251", 5353, UDPS, OWN, NEJ_DENY, R(MULTICAST)},
	{"239.1.1.1", 443, TCP, OWN, NEJ_DENY, R(MULTICAST)},
	{"ff02::1", 443, TCP, OWN, NEJ_DENY, R(MULTICAST)},
	{"255.255.255.255", 67, UDPS, OWN, NEJ_DENY, R(MULTICAST)},
	{"0.1.2.3", 443, TCP, OWN, NEJ_DENY, R(LOOPBACK)},
	{"::127.0.0.1", 443, TCP, OWN, NEJ_DENY, R(LOOPBACK)},
	{"64:ff9b::7f00:1", 443, TCP, OWN, NEJ_DENY, R(LOOPBACK)},
	/* the sandbox's own loopback */
	{"127.0.0.1", 8000, TCP, OWN, NEJ_PASS, 0}, {"127.9.9.9", 8000, TCP, OWN, NEJ_PASS, 0},
	{"::1", 8000, TCP, OWN, NEJ_PASS, 0}, {"::ffff:127.0.0.1", 8000, TCP, OWN, NEJ_PASS, 0},
	{"0.0.0.0", 8000, TCP, OWN, NEJ_PASS, 0}, {"::", 8000, TCP, OWN, NEJ_PASS, 0},
	{"127.0.0.1", 8000, UDPS, OWN, NEJ_PASS, 0},
	{"10.255.255.254", 8000, TCP, OWN, NEJ_PASS, 0},
	{"fd00:ffff::1", 8000, TCP, OWN, NEJ_PASS, 0},
	{"10.255.255.254", 8000, TCP, SHARED, NEJ_DENY, R(NO_RULE)},
	{"127.0.0.1", 8000, TCP, OWN | NEJ_F_INBOUND_DENY, NEJ_DENY, R(LOOPBACK)},
	{"127.0.0.1", 8000, TCP, SHARED, NEJ_PASS | OWNER, 0},
	{"0.0.0.0", 8000, TCP, SHARED, NEJ_PASS | OWNER, 0},
	{"::1", 8000, UDPS, SHARED, NEJ_PASS | OWNER, 0},
	/* the proxy and the stub by their own address */
	{"127.0.0.1", PROXY_PORT, TCP, OWN, NEJ_PASS | KEPT, 0},
	{"::1", PROXY_PORT, TCP, SHARED, NEJ_PASS | KEPT, 0},
	{"::ffff:127.0.0.1", PROXY_PORT, TCP, SHARED, NEJ_PASS | KEPT, 0},
	{"0.0.0.0", PROXY_PORT, TCP, OWN, NEJ_PASS | KEPT, 0},
	{"127.0.0.1", EAGER_PORT, TCP, OWN, NEJ_DENY, R(LOOPBACK)},
	{"127.0.0.1", STUB_PORT, UDPS, SHARED, NEJ_PASS, 0},
	{"::1", STUB_PORT, TCP, OWN, NEJ_PASS | KEPT, 0},
	{"127.0.0.2", PROXY_PORT, TCP, SHARED, NEJ_PASS | OWNER, 0},
	/* host_ports */
	{"127.0.0.1", 5432, TCP, OWN, NEJ_EAGER, 0}, {"::1", 5432, TCP, SHARED, NEJ_PASS, 0},
	{"127.0.0.1", 5432, UDPS, SHARED, NEJ_PASS | OWNER, 0},
	{"1.1.1.1", 5432, TCP, OWN, NEJ_DENY, R(NO_RULE)},
	/* other UDP: a connect is a probe, a datagram is told */
	{"1.1.1.1", 443, UDPC, OWN, NEJ_DENY | QUIET, R(UDP)},
	{"1.1.1.1", 0, UDPC, OWN, NEJ_DENY | QUIET, R(UDP)},
	{"224.0.0.251", 5353, UDPC, OWN, NEJ_DENY | QUIET, R(MULTICAST)},
	{"1.1.1.1", 443, UDPS, OWN, NEJ_DENY, R(UDP)},
	{"2606:4700::1", 443, UDPS, SHARED, NEJ_DENY, R(UDP)},
	/* transport: kernel */
	{"192.0.2.10", 443, TCP, SHARED, NEJ_PASS, R(RULE)},
	{"::ffff:192.0.2.10", 443, TCP, SHARED, NEJ_PASS, R(RULE)},
	{"192.0.2.11", 443, TCP, SHARED, NEJ_PROXY, 0},
	{"192.0.2.10", 444, TCP, SHARED, NEJ_DENY, R(NO_RULE)},
	{"192.0.2.10", 443, UDPS, SHARED, NEJ_DENY, R(UDP)},
	{"93.184.216.34", 123, UDPS, SHARED, NEJ_PASS, R(RULE)},
	{"93.184.216.99", 123, UDPC, SHARED, NEJ_PASS, R(RULE)},
	{"93.184.217.1", 123, UDPS, SHARED, NEJ_DENY, R(UDP)},
	{"93.184.216.34", 7, TCP, SHARED, NEJ_PASS, R(RULE)}, /* every port of one address */
	{"192.0.2.20", 443, TCP, SHARED, NEJ_PROXY, 0},       /* expired */
	{"192.0.2.30", 443, TCP, SHARED, NEJ_DENY, R(RULE)},  /* denied by the same table */
	{"10.0.0.5", 8443, TCP, SHARED, NEJ_DENY, R(PRIVATE_ADDRESS)}, /* `private` has it not */
};

static void every_row_is_decided_as_written(void **state)
{
	(void)state;
	put_allow4("192.0.2.10", 32, IPPROTO_TCP, 443, NEJ_PASS, true, 0);
	put_allow4("192.0.2.20", 32, IPPROTO_TCP, 443, NEJ_PASS, true, clock_monotonic_ns() - 1);
	put_allow4("192.0.2.30", 32, IPPROTO_TCP, 443, NEJ_DENY, true, 0);
	put_allow4("93.184.216.0", 24, IPPROTO_UDP, 123, NEJ_PASS, false, 0);
	put_allow4("93.184.216.34", 32, IPPROTO_TCP, 0, NEJ_PASS, false, 0);
	put_allow4("10.0.0.0", 8, IPPROTO_TCP, 8443, NEJ_PASS, false, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct addr a;
		uint32_t verdict;

		assert_int_equal(addr_parse(r->addr, strlen(r->addr), &a), 0);
		settings_write(r->flags);
		memcpy(skel->bss->in_addr, a.b, 16);
		skel->bss->in_port = r->port;
		skel->bss->in_proto = r->proto;
		skel->bss->in_family = strchr(r->addr, ':') ? AF_INET6 : AF_INET;
		skel->bss->in_hook = r->hook;
		skel->bss->in_bound_if = 0;
		run(skel->progs.run_dest);
		verdict = skel->bss->out_verdict | (skel->bss->out_owner ? OWNER : 0) |
			(skel->bss->out_quiet ? QUIET : 0) | (skel->bss->out_remembered ? KEPT : 0);
		/* A quiet deny of halted or unconfigured sandboxes is a deny all the same. */
		if (verdict != r->verdict || skel->bss->out_reason != r->reason)
			fail_msg("%s port %u proto %u hook %u flags %x: verdict %x reason %u, not "
				 "%x %u",
				r->addr, r->port, r->proto, r->hook, r->flags, verdict,
				skel->bss->out_reason, r->verdict, r->reason);
	}
}

static void socket_bound_to_another_device_is_refused(void **state)
{
	struct addr a;

	(void)state;
	settings_write(OWN);
	assert_int_equal(addr_parse("1.1.1.1", 7, &a), 0);
	memcpy(skel->bss->in_addr, a.b, 16);
	skel->bss->in_port = 53;
	skel->bss->in_proto = IPPROTO_UDP;
	skel->bss->in_hook = NEJ_HOOK_SENDMSG;
	skel->bss->in_bound_if = 2;
	run(skel->progs.run_dest);
	assert_int_equal(skel->bss->out_verdict, NEJ_DENY);
	skel->bss->in_bound_if = 1;
	run(skel->progs.run_dest);
	assert_int_equal(skel->bss->out_verdict, NEJ_STUB);
	skel->bss->in_bound_if = 0;
}

static uint32_t socket_reason(uint32_t type, uint32_t protocol)
{
	skel->bss->in_type = type;
	skel->bss->in_protocol = protocol;
	run(skel->progs.run_socket);
	return skel->bss->out_reason;
}

static void only_tcp_and_udp_sockets_are_made(void **state)
{
	(void)state;
	settings_write(OWN);
	assert_int_equal(socket_reason(SOCK_STREAM, IPPROTO_TCP), NEJ_REASON_NONE);
	assert_int_equal(socket_reason(SOCK_STREAM, 0), NEJ_REASON_NONE);
	assert_int_equal(socket_reason(SOCK_DGRAM, IPPROTO_UDP), NEJ_REASON_NONE);
	for (uint32_t protocol = 0; protocol < 300; protocol++) {
		assert_int_equal(socket_reason(SOCK_RAW, protocol), NEJ_REASON_SOCKET_TYPE);
		assert_int_equal(socket_reason(SOCK_SEQPACKET, protocol), NEJ_REASON_SOCKET_TYPE);
		if (protocol && protocol != IPPROTO_TCP)
			assert_int_equal(
				socket_reason(SOCK_STREAM, protocol), NEJ_REASON_SOCKET_TYPE);
		if (protocol && protocol != IPPROTO_UDP)
			assert_int_equal(
				socket_reason(SOCK_DGRAM, protocol), NEJ_REASON_SOCKET_TYPE);
	}
	settings_write(0);
	assert_int_equal(socket_reason(SOCK_STREAM, IPPROTO_TCP), NEJ_REASON_INTERNAL);
}

static void listeners_ports_cannot_be_bound(void **state)
{
	static const uint16_t taken[] = {PROXY_PORT, EAGER_PORT, STUB_PORT};

	(void)state;
	settings_write(OWN);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		skel->bss->in_port = taken[i];
		run(skel->progs.run_bind);
		assert_int_equal(skel->bss->out_reason, NEJ_REASON_LOOPBACK);
	}
	skel->bss->in_port = 0;
	run(skel->progs.run_bind);
	assert_int_equal(skel->bss->out_reason, NEJ_REASON_NONE);
	skel->bss->in_port = 8000;
	run(skel->progs.run_bind);
	assert_int_equal(skel->bss->out_reason, NEJ_REASON_NONE);
}

static void expect_same_range(const struct addr *a)
{
	char text[ADDR_TEXT_BYTES];
	struct addr plain;
	enum nej_range want = addr_classify(a, &plain);

	memcpy(skel->bss->in_addr, a->b, 16);
	run(skel->progs.run_facts);
	if ((skel->bss->out_facts & 0xff) != want)
		fail_msg("%s: kernel says %u, user space %u", addr_print(a, text),
			skel->bss->out_facts & 0xff, want);
	assert_int_equal(!!(skel->bss->out_facts & 0x100), addr_is_v4(a));
	assert_int_equal(!!(skel->bss->out_facts & 0x200), !addr_equal(a, &plain));
}

/* Both ends of every row, one beyond each, every bit flipped, and random addresses. */
static void both_sides_classify_addresses_alike(void **state)
{
	static const struct {
		uint32_t words[4];
		unsigned int bits;
	} ranges[] = {
#define ROW(range, n_bits, a, b, c, d, text) {{(a), (b), (c), (d)}, (n_bits)},
#define X(range, bits, ...) ROW(range, bits, __VA_ARGS__)
		NEJ_RANGES(X)
#undef X
#undef ROW
	};
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct addr a;

		for (int k = 0; k < 4; k++) {
			uint32_t be = htonl(ranges[i].words[k]);

			memcpy(a.b + 4 * k, &be, 4);
		}
		expect_same_range(&a);
		for (unsigned int bit = 0; bit < 128; bit++) {
			struct addr flipped = a;

			flipped.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			expect_same_range(&flipped);
		}
		for (unsigned int bit = ranges[i].bits; bit < 128; bit++)
			a.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		expect_same_range(&a);
	}
	for (int i = 0; i < 4000; i++) {
		struct addr a;

		for (int k = 0; k < 16; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			a.b[k] = (uint8_t)(seed >> 56);
		}
		if (i % 2)
			a = addr_from_v4((uint32_t)(seed >> 32));
		expect_same_range(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_decided_as_written),
		cmocka_unit_test(socket_bound_to_another_device_is_refused),
		cmocka_unit_test(only_tcp_and_udp_sockets_are_made),
		cmocka_unit_test(listeners_ports_cannot_be_bound),
		cmocka_unit_test(both_sides_classify_addresses_alike),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, open_skeleton, close_skeleton);
}
