/* SPDX-License-Identifier: GPL-2.0-only */
/* From a policy to the maps, and addresses learnt from a worker that may be in wrong hands. */
#include "world.h"

#include "../../user/base/clock.h"
#include "../../user/kernel/apply.h"
#include "../../user/kernel/learn.h"
#include "../../user/policy/overlay.h"

static struct world world;
static struct policy *policy;
static int ends[2]; /* supervisor's, worker's */

static void load_policy(const char *text)
{
	struct err_list errs;

	policy_free(policy);
	policy = NULL;
	err_init(&errs, "test");
	if (policy_load_text(text, strlen(text), NULL, &errs, &policy) < 0) {
		err_print(&errs, stdout);
		fail_msg("policy has errors");
	}
}

static void apply(const char *text)
{
	load_policy(text);
	assert_int_equal(apply_policy(world.object, policy, &world.settings), 0);
	assert_int_equal(object_settings(world.object, &world.settings), 0);
}

static int open_world(void **state)
{
	(void)state;
	world_open_bare(&world);
	world_open_listeners(&world);
	world_configure(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	policy_free(policy);
	policy = NULL;
	close(ends[0]);
	close(ends[1]);
	world_close(&world);
	return 0;
}

/* flags of a port, -1 without entry */
static int port_flags(uint16_t port)
{
	struct nej_port_key key = {.proto = IPPROTO_TCP, .port_be = htons(port)};
	struct nej_port value;

	if (bpf_map_lookup_elem(object_map_fd(world.object, "ports"), &key, &value) < 0)
		return -1;
	return (int)value.flags;
}

static bool find_allow4(const char *addr, uint8_t proto, uint16_t port, struct nej_allow *ret)
{
	struct nej_allow4_key key = {.prefix_bits = 64, .proto = proto, .port_be = htons(port)};

	inet_pton(AF_INET, addr, key.addr);
	return bpf_map_lookup_elem(object_map_fd(world.object, "allow4"), &key, ret) == 0;
}

static bool find_allow6(const char *addr, uint8_t proto, uint16_t port, struct nej_allow *ret)
{
	struct nej_allow6_key key = {.prefix_bits = 160, .proto = proto, .port_be = htons(port)};

	inet_pton(AF_INET6, addr, key.addr);
	return bpf_map_lookup_elem(object_map_fd(world.object, "allow6"), &key, ret) == 0;
}

static void ports_of_the_rules_are_open_and_no_other(void **state)
{
	(void)state;
	apply("version: 1\n"
	      "rules:\n"
	      "  - allow: [a.example.com, tcp://git.example.com:22, b.example.com:8000-8003]\n"
	      "host_ports: [5432]\n");
	assert_int_equal(port_flags(443), NEJ_PORT_PROXY);
	assert_int_equal(port_flags(80), NEJ_PORT_PROXY);
	assert_int_equal(port_flags(22), NEJ_PORT_PROXY | NEJ_PORT_EAGER);
	assert_int_equal(port_flags(8000) & NEJ_PORT_PROXY, NEJ_PORT_PROXY);
	assert_int_equal(port_flags(8003) & NEJ_PORT_PROXY, NEJ_PORT_PROXY);
	assert_int_equal(port_flags(8004), -1);
	assert_int_equal(port_flags(5432), NEJ_PORT_HOST);
	assert_int_equal(port_flags(25), -1);
	assert_int_equal(world.settings.flags, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS);
}

static void next_policy_closes_what_it_does_not_open(void **state)
{
	(void)state;
	apply("version: 1\nrules:\n  - allow: [tcp://git.example.com:22, a.example.com]\n"
	      "inbound: deny\n");
	assert_int_equal(port_flags(22), NEJ_PORT_PROXY | NEJ_PORT_EAGER);
	assert_true(world.settings.flags & NEJ_F_INBOUND_DENY);
	apply("version: 1\nrules:\n  - allow: https://a.example.com\n");
	assert_int_equal(port_flags(22), -1);
	assert_int_equal(port_flags(80), -1);
	assert_int_equal(port_flags(443), NEJ_PORT_PROXY);
	assert_false(world.settings.flags & NEJ_F_INBOUND_DENY);
	apply("version: 1\n");
	assert_int_equal(port_flags(443), -1);
}

static void policy_that_opens_every_port_needs_no_entries(void **state)
{
	(void)state;
	apply("version: 1\ndefault: allow\n");
	assert_true(world.settings.flags & NEJ_F_ANY_PORT);
	apply("version: 1\nrules:\n  - allow: a.example.com\n");
	assert_false(world.settings.flags & NEJ_F_ANY_PORT);
	assert_int_equal(port_flags(443), NEJ_PORT_PROXY);
}

static void ranges_of_kernel_rules_are_let_straight_out(void **state)
{
	struct nej_allow found;

	(void)state;
	apply("version: 1\n"
	      "private: [10.1.0.0/16]\n"
	      "rules:\n"
	      "  - allow: [93.184.216.0/24:123, '[2606:2800:220::]/48:443', 10.1.2.0/24:5432]\n"
	      "    transport: kernel\n"
	      "  - allow: 10.0.0.0/8:8443\n"
	      "    transport: kernel\n");
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 123, &found));
	assert_int_equal(found.verdict, NEJ_PASS);
	assert_int_equal(found.expiry_ns, 0);
	assert_false(find_allow4("93.184.217.34", IPPROTO_TCP, 123, &found));
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 124, &found));
	assert_true(find_allow6("2606:2800:220::9", IPPROTO_TCP, 443, &found));
	assert_true(find_allow4("10.1.2.9", IPPROTO_TCP, 5432, &found));
	assert_int_equal(found.is_private_ok, 1);
	/* Only part of it is `private`: the kernel refuses private addresses of it one by one. */
	if (find_allow4("10.9.9.9", IPPROTO_TCP, 8443, &found))
		assert_int_equal(found.is_private_ok, 0);
	apply("version: 1\n");
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 123, &found));
	assert_false(find_allow6("2606:2800:220::9", IPPROTO_TCP, 443, &found));
}

/* Not 65,535 of them. */
static void range_of_every_port_is_one_entry(void **state)
{
	struct nej_allow found;

	(void)state;
	apply("version: 1\n"
	      "rules:\n"
	      "  - allow: 93.0.0.0/8:*\n"
	      "    transport: kernel\n");
	assert_true(find_allow4("93.1.2.3", IPPROTO_TCP, 0, &found));
	assert_int_equal(found.verdict, NEJ_PASS);
	assert_false(find_allow4("93.1.2.3", IPPROTO_TCP, 443, &found));
}

/* --- learning */

struct asked {
	struct learn_request request;
	struct loop *loop;
	int status;
};

static void on_done(struct learn_request *request, int status)
{
	struct asked *a = (struct asked *)request;

	a->status = status;
	loop_stop(a->loop, 0);
}

/* A whole exchange over the real socket; returns the worker's status. */
static int learn(const char *name, const char *const *addrs, size_t n, uint32_t ttl_s)
{
	struct asked a = {.request.on_done = on_done, .status = 1};
	struct addr list[LEARN_MAX_ADDRS];
	struct learn *l;
	struct host host;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(addr_parse(addrs[i], strlen(addrs[i]), &list[i]), 0);
	assert_int_equal(host_parse(name, strlen(name), &host), 0);
	assert_int_equal(loop_new(&a.loop), 0);
	assert_int_equal(learn_new(a.loop, ends[1], &l), 0);
	a.status = learn_addrs(l, &host, list, n, ttl_s, &a.request);
	if (!a.status) {
		assert_int_equal(apply_learn(world.object, policy, ends[0]), 0);
		loop_run(a.loop);
	}
	learn_free(l);
	loop_free(a.loop);
	return a.status;
}

#define LEARN(name, ttl, ...)                                                                      \
	learn(name, (const char *const[]){__VA_ARGS__},                                            \
		ARRAY_SIZE(((const char *const[]){__VA_ARGS__})), ttl)

static const char kernel_rules[] = "version: 1\n"
				   "rules:\n"
				   "  - deny: evil.fast.example.com\n"
				   "  - allow: .fast.example.com\n"
				   "    transport: kernel\n"
				   "  - allow: udp://time.example.com:123\n"
				   "    transport: kernel\n"
				   "  - allow: slow.example.com\n";

static void learnt_address_is_let_out_on_the_names_ports_until_it_expires(void **state)
{
	struct nej_allow found;
	uint64_t now = clock_boot_ns();

	(void)state;
	apply(kernel_rules);
	assert_int_equal(
		LEARN("cdn.fast.example.com", 60, "93.184.216.34", "2606:2800:220:1::1"), 0);
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 80, &found));
	assert_true(found.expiry_ns > now + 60000000000ull);
	assert_true(found.expiry_ns < now + 120000000000ull);
	assert_true(find_allow6("2606:2800:220:1::1", IPPROTO_TCP, 443, &found));
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 22, &found));
	assert_false(find_allow4("93.184.216.34", IPPROTO_UDP, 443, &found));
	assert_int_equal(LEARN("time.example.com", 60, "93.184.216.35"), 0);
	assert_true(find_allow4("93.184.216.35", IPPROTO_UDP, 123, &found));
	assert_false(find_allow4("93.184.216.35", IPPROTO_TCP, 443, &found));
	/* A TTL of years is not believed. */
	assert_int_equal(LEARN("time.example.com", UINT32_MAX, "93.184.216.36"), 0);
	assert_true(find_allow4("93.184.216.36", IPPROTO_UDP, 123, &found));
	assert_true(found.expiry_ns < now + 4000000000000ull);
	/* Another policy is asked about the name. */
	apply(kernel_rules);
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
	apply("version: 1\nrules:\n  - allow: cdn.fast.example.com\n");
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
}

static void worker_cannot_learn_what_the_policy_denies(void **state)
{
	static const char *const bad[] = {"127.0.0.1", "::1", "169.254.169.254", "10.0.0.5",
		"192.168.1.1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "224.0.0.1", "fe80::1",
		"0.0.0.0"};
	struct nej_allow found;

	(void)state;
	apply(kernel_rules);
	assert_int_equal(LEARN("evil.fast.example.com", 60, "93.184.216.34"), -EACCES);
	assert_int_equal(LEARN("other.example.net", 60, "93.184.216.34"), -EACCES);
	/* Allowed, but through the proxy. */
	assert_int_equal(LEARN("slow.example.com", 60, "93.184.216.34"), -EACCES);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(
			LEARN("cdn.fast.example.com", 60, "93.184.216.34", bad[i]), -EACCES);
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
	assert_false(find_allow4("169.254.169.254", IPPROTO_TCP, 443, &found));
}

static int send_raw(const void *data, size_t len)
{
	assert_int_equal(send(ends[1], data, len, 0), len);
	return apply_learn(world.object, policy, ends[0]);
}

static void malformed_message_is_refused(void **state)
{
	struct learn_message m = {
		.id = 1, .ttl_s = 60, .n_addrs = 1, .name_len = 20, .name = "cdn.fast.example.com"};
	struct learn_reply reply;

	(void)state;
	apply(kernel_rules);
	assert_int_equal(apply_learn(world.object, policy, ends[0]), -EAGAIN);
	assert_int_equal(send_raw("x", 1), -EBADMSG);
	assert_int_equal(send_raw(&m, sizeof(m) - 1), -EBADMSG);
	m.n_addrs = LEARN_MAX_ADDRS + 1;
	assert_int_equal(send_raw(&m, sizeof(m)), -EBADMSG);
	m.n_addrs = 0;
	assert_int_equal(send_raw(&m, sizeof(m)), -EBADMSG);
	m.n_addrs = 1;
	m.name_len = sizeof(m.name) + 1;
	assert_int_equal(send_raw(&m, sizeof(m)), -EBADMSG);
	m.name_len = 20;
	m.name[3] = '\0';
	assert_int_equal(send_raw(&m, sizeof(m)), 0);
	assert_int_equal(recv(ends[1], &reply, sizeof(reply), 0), sizeof(reply));
	assert_int_equal(reply.id, 1);
	assert_true(reply.status < 0);
	shutdown(ends[1], SHUT_RDWR);
	assert_int_equal(apply_learn(world.object, policy, ends[0]), -EPIPE);
}

static bool is_hung_up;

static void on_hangup(void *arg)
{
	(void)arg;
	is_hung_up = true;
}

static void worker_hears_when_the_supervisor_is_gone(void **state)
{
	struct asked a = {.request.on_done = on_done, .status = 1};
	struct addr addr = addr_from_v4(0x5db8d822);
	struct learn *l;
	struct host host;

	(void)state;
	load_policy(kernel_rules);
	assert_int_equal(host_parse("cdn.fast.example.com", 20, &host), 0);
	assert_int_equal(loop_new(&a.loop), 0);
	assert_int_equal(learn_new(a.loop, ends[1], &l), 0);
	learn_on_hangup(l, on_hangup, NULL);
	assert_int_equal(learn_addrs(l, &host, &addr, 1, 60, &a.request), 0);
	close(ends[0]);
	ends[0] = -1;
	loop_run(a.loop);
	assert_int_equal(a.status, -EPIPE);
	assert_true(is_hung_up);
	assert_int_equal(learn_addrs(l, &host, &addr, 1, 60, &a.request), -EPIPE);
	learn_free(l);
	loop_free(a.loop);
}

/* --- grants */

static void grant(const char *const *targets, const uint64_t *for_ns, size_t n, bool is_kernel)
{
	struct policy_grant grants[4];
	struct policy *image = NULL;
	struct err_list errs;

	err_init(&errs, "grants");
	for (size_t i = 0; i < n; i++)
		grants[i] = (struct policy_grant){.id = NEJ_MAX_GRANTS + 1 + (uint32_t)i,
			.expiry_ns = clock_boot_ns() + for_ns[i],
			.target = targets[i],
			.is_kernel = is_kernel};
	if (n)
		assert_int_equal(overlay_load(grants, n, &errs, &image), 0);
	policy_free(overlay_lay(policy, image));
	assert_int_equal(apply_grants(world.object, policy), 0);
	assert_int_equal(apply_policy(world.object, policy, &world.settings), 0);
}

#define GRANT(is_kernel, for_ns, ...)                                                              \
	grant((const char *const[]){__VA_ARGS__},                                                  \
		(const uint64_t[]){for_ns, for_ns, for_ns, for_ns},                                \
		ARRAY_SIZE(((const char *const[]){__VA_ARGS__})), is_kernel)
#define HOUR_NS 3600000000000ull
#define FIRST (NEJ_RULE_GRANT | (NEJ_MAX_GRANTS + 1))

static void ports_of_a_grant_are_open_while_it_lasts(void **state)
{
	(void)state;
	apply("version: 1\nrules:\n  - allow: a.example.com\n");
	GRANT(false, HOUR_NS, "tcp://git.example.com:22", "b.example.com:443");
	assert_int_equal(port_flags(22), NEJ_PORT_PROXY | NEJ_PORT_EAGER);
	assert_int_equal(port_flags(443), NEJ_PORT_PROXY | NEJ_PORT_EAGER);
	assert_int_equal(port_flags(80), NEJ_PORT_PROXY);
	grant(NULL, NULL, 0, false);
	assert_int_equal(port_flags(22), -1);
	assert_int_equal(port_flags(443), NEJ_PORT_PROXY);
}

static void range_of_a_grant_has_its_number_and_end(void **state)
{
	uint64_t now = clock_boot_ns();
	struct nej_allow found;
	struct nej_grant row;
	uint32_t slot = 1;

	(void)state;
	apply("version: 1\nrules:\n  - allow: 93.184.216.34:22\n    transport: kernel\n");
	GRANT(true, HOUR_NS, "93.184.217.0/24:123", "93.184.216.34:22");
	assert_true(find_allow4("93.184.217.9", IPPROTO_TCP, 123, &found));
	assert_int_equal(found.rule, FIRST);
	assert_in_range(found.expiry_ns, now + HOUR_NS, now + HOUR_NS + 1000000000);
	/* what does not end is not made to */
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 22, &found));
	assert_int_equal(found.rule, 0);
	assert_int_equal(found.expiry_ns, 0);
	assert_int_equal(
		bpf_map_lookup_elem(object_map_fd(world.object, "grants"), &slot, &row), 0);
	assert_int_equal(row.id, NEJ_MAX_GRANTS + 1);
	grant(NULL, NULL, 0, false);
	assert_false(find_allow4("93.184.217.9", IPPROTO_TCP, 123, &found));
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 22, &found));
	assert_int_equal(
		bpf_map_lookup_elem(object_map_fd(world.object, "grants"), &slot, &row), 0);
	assert_int_equal(row.id, 0);
}

static void worker_cannot_make_a_grant_nor_keep_one(void **state)
{
	struct nej_allow found;

	(void)state;
	apply("version: 1\nrules:\n  - allow: .fast.example.com\n    transport: kernel\n");
	assert_int_equal(LEARN("b.example.com", 60, "93.184.216.34"), -EACCES);
	GRANT(true, 200000000, "b.example.com", "git.fast.example.com");
	assert_int_equal(LEARN("b.example.com", 3600, "93.184.216.34"), 0);
	assert_int_equal(LEARN("git.fast.example.com", 3600, "93.184.216.35"), 0);
	assert_true(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
	assert_int_equal(found.rule, FIRST);
	assert_int_equal(LEARN("b.example.com", 3600, "169.254.169.254"), -EACCES);
	usleep(250000);
	assert_int_equal(LEARN("b.example.com", 3600, "93.184.216.36"), -EACCES);
	assert_false(find_allow4("93.184.216.36", IPPROTO_TCP, 443, &found));
	/* the name that the policy allows as well stays learned, by its rule */
	grant(NULL, NULL, 0, false);
	assert_false(find_allow4("93.184.216.34", IPPROTO_TCP, 443, &found));
	assert_true(find_allow4("93.184.216.35", IPPROTO_TCP, 443, &found));
	assert_int_equal(found.rule, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ports_of_the_rules_are_open_and_no_other),
		T(next_policy_closes_what_it_does_not_open),
		T(policy_that_opens_every_port_needs_no_entries),
		T(ranges_of_kernel_rules_are_let_straight_out),
		T(range_of_every_port_is_one_entry),
		T(learnt_address_is_let_out_on_the_names_ports_until_it_expires),
		T(worker_cannot_learn_what_the_policy_denies),
		T(ports_of_a_grant_are_open_while_it_lasts),
		T(range_of_a_grant_has_its_number_and_end),
		T(worker_cannot_make_a_grant_nor_keep_one),
		T(malformed_message_is_refused),
		T(worker_hears_when_the_supervisor_is_gone),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
