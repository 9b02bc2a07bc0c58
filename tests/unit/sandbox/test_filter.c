/* SPDX-License-Identifier: GPL-2.0-only */
/* The command's filter, run by a small interpreter of classic BPF over made-up calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/sandbox/filter.h"

#define NOTIFY SECCOMP_RET_USER_NOTIF
#define NO(err) (SECCOMP_RET_ERRNO | (err))
#define YES SECCOMP_RET_ALLOW

static struct sock_filter code[FILTER_MAX];
static int code_len;

static uint32_t run(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (int pc = 0; pc < code_len; pc++) {
		const struct sock_filter *in = &code[pc];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(in->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + in->k, 4);
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= in->k ? in->jt : in->jf;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_RET | BPF_K:
			return in->k;
		default:
			fail_msg("instruction %d: code %x", pc, in->code);
		}
	}
	fail_msg("ran past the end");
	return 0;
}

#define X86_SOCKET 359

static uint32_t judge(uint32_t arch, const char *call, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = {.arch = arch,
		.nr = arch == SCMP_ARCH_X86 && strcmp(call, "socket") == 0
			? X86_SOCKET
			: seccomp_syscall_resolve_name_arch(arch, call),
		.args = {a0, a1, a2}};

	assert_true(data.nr >= 0);
	return run(&data);
}

static int build(void **state)
{
	(void)state;
	code_len = filter_build(code, NOTIFY);
	return code_len > 0 ? 0 : -1;
}

static void only_four_families_are_allowed(void **state)
{
	const uint32_t arch = seccomp_arch_native();

	(void)state;
	for (uint64_t family = 0; family < 80; family++) {
		uint32_t want = family == AF_UNIX || family == AF_INET || family == AF_INET6 ? YES
			: family == AF_NETLINK                                               ? YES
					       : NOTIFY;

		assert_int_equal(judge(arch, "socket", family, SOCK_STREAM, 0), want);
		/* the kernel drops the upper half, so must the filter */
		assert_int_equal(judge(arch, "socket", family | 1ull << 32, SOCK_STREAM, 0), want);
	}
}

static void raw_and_ping_sockets_are_told(void **state)
{
	const uint32_t arch = seccomp_arch_native();

	(void)state;
	assert_int_equal(judge(arch, "socket", AF_INET, SOCK_RAW, 1), NOTIFY);
	assert_int_equal(judge(arch, "socket", AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 255), NOTIFY);
	assert_int_equal(judge(arch, "socket", AF_INET, SOCK_DGRAM, 1), NOTIFY);
	assert_int_equal(judge(arch, "socket", AF_INET6, SOCK_DGRAM, 58), NOTIFY);
	assert_int_equal(judge(arch, "socket", AF_INET, SOCK_PACKET, 0), NOTIFY);
	assert_int_equal(judge(arch, "socket", AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 17), YES);
}

static void only_routing_of_netlink_is_allowed(void **state)
{
	const uint32_t arch = seccomp_arch_native();

	(void)state;
	for (uint64_t protocol = 1; protocol < 32; protocol++)
		assert_int_equal(
			judge(arch, "socket", AF_NETLINK, SOCK_RAW, protocol), NO(EPROTONOSUPPORT));
}

static void calls_are_judged_one_by_one(void **state)
{
	static const struct {
		const char *call;
		uint64_t a0, a1;
		uint32_t want;
	} cases[] = {
		{"read", 0, 0, YES},
		{"execve", 0, 0, YES},
		{"connect", 3, 0, YES},
		{"ptrace", 0, 0, YES},
		{"unshare", 0, 0, YES},
		{"socketpair", AF_UNIX, SOCK_STREAM, YES},
		{"socketpair", AF_TIPC, SOCK_STREAM, NO(EAFNOSUPPORT)},
		{"ioctl", 0, TCGETS, YES},
		{"ioctl", 0, TIOCSTI, NO(EPERM)},
		{"ioctl", 0, TIOCSTI | 1ull << 32, NO(EPERM)},
		{"ioctl", 0, 0x541c, NO(EPERM)},
		{"io_uring_setup", 8, 0, NO(ENOSYS)},
		{"io_uring_enter", 3, 0, NO(ENOSYS)},
		{"bpf", 0, 0, NO(EPERM)},
		{"keyctl", 0, 0, NO(EPERM)},
		{"perf_event_open", 0, 0, NO(EPERM)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			judge(seccomp_arch_native(), cases[i].call, cases[i].a0, cases[i].a1, 0),
			cases[i].want);
}

static void other_abis_are_no_way_around(void **state)
{
	(void)state;
#if defined(__x86_64__)
	struct seccomp_data x32 = {.arch = SCMP_ARCH_X86_64, .nr = 0x40000000 | 41};

	assert_int_equal(judge(SCMP_ARCH_X86, "socket", 40, SOCK_STREAM, 0), NOTIFY);
	assert_int_equal(judge(SCMP_ARCH_X86, "socket", AF_INET, SOCK_STREAM, 0), YES);
	struct seccomp_data multiplexed = {.arch = SCMP_ARCH_X86, .nr = 102};

	assert_int_equal(run(&multiplexed), NO(ENOSYS));
	assert_int_equal(judge(SCMP_ARCH_X86, "io_uring_setup", 8, 0, 0), NO(ENOSYS));
	assert_int_equal(judge(SCMP_ARCH_X86, "ioctl", 0, TIOCSTI, 0), NO(EPERM));
	assert_int_equal(run(&x32), NO(ENOSYS));
#endif
	struct seccomp_data unknown = {.arch = 0x1234, .nr = 1};

	assert_int_equal(run(&unknown), NO(ENOSYS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_four_families_are_allowed),
		cmocka_unit_test(raw_and_ping_sockets_are_told),
		cmocka_unit_test(only_routing_of_netlink_is_allowed),
		cmocka_unit_test(calls_are_judged_one_by_one),
		cmocka_unit_test(other_abis_are_no_way_around),
	};

	return cmocka_run_group_tests(tests, build, NULL);
}
