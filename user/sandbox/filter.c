/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes and loads the command's filter; see filter.h. By hand, not by libseccomp's rules: `any
 * family but these` is three instructions here and ninety rules there. Numbers of calls are
 * libseccomp's, for each ABI of this machine: a 32 bit program must not pass unfiltered.
 */
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(err) (SECCOMP_RET_ERRNO | (err))
#define TIOCLINUX_NR 0x541c
#define X32_BIT 0x40000000u
#define NETLINK_ROUTE_NR 0
#define SOCK_TYPE_BITS 0xf

/* Refused whole. ENOSYS where programs have a way without. */
static const struct {
	const char *name;
	uint16_t err;
} refused_calls[] = {
	/* sockets, connects and sends of io_uring pass no filter of system calls */
	{"io_uring_setup", ENOSYS},
	{"io_uring_enter", ENOSYS},
	{"io_uring_register", ENOSYS},
	/* the keyring is the one of who started nej */
	{"add_key", EPERM},
	{"request_key", EPERM},
	{"keyctl", EPERM},
	/* much of the kernel for no program's need */
	{"bpf", EPERM},
	{"perf_event_open", EPERM},
	{"kexec_load", EPERM},
	{"kexec_file_load", EPERM},
	{"init_module", EPERM},
	{"finit_module", EPERM},
	{"delete_module", EPERM},
	{"open_by_handle_at", EPERM},
	{"acct", EPERM},
	{"quotactl", EPERM},
	{"swapon", EPERM},
	{"swapoff", EPERM},
	{"reboot", EPERM},
	/* its arguments lie in memory, where no filter sees them; C libraries use socket() */
	{"socketcall", ENOSYS},
};

struct writer {
	struct sock_filter *out;
	int n; /* beyond FILTER_MAX: too long */
};

static void emit(struct writer *w, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	if (w->n < FILTER_MAX)
		w->out[w->n] = (struct sock_filter){code, if_true, if_false, k};
	w->n++;
}

static void load_field(struct writer *w, size_t offset)
{
	emit(w, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The lower half of an argument: the kernel drops the upper one of an int. */
static void load_arg(struct writer *w, unsigned int n)
{
	size_t offset = offsetof(struct seccomp_data, args) + n * sizeof(uint64_t);

	load_field(w, offset + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0));
}

static void ret(struct writer *w, uint32_t action)
{
	emit(w, BPF_RET | BPF_K, action, 0, 0);
}

/* Returns the action if the accumulator is k. */
static void ret_if(struct writer *w, uint32_t k, uint32_t action)
{
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	ret(w, action);
}

/* Begins a block that is skipped unless the accumulator is k; block_end sets how far. */
static int block_begin(struct writer *w, uint32_t k)
{
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 0);
	return w->n;
}

static void block_end(struct writer *w, int begin)
{
	if (w->n <= FILTER_MAX)
		w->out[begin - 1].jf = (uint8_t)(w->n - begin);
}

/* Calls of i386 that libseccomp knows only as parts of socketcall; direct ones since Linux 4.3. */
static const struct {
	const char *name;
	int nr;
} direct_calls_x86[] = {{"socket", 359}, {"socketpair", 360}};

/* Number of a call in an ABI; -1: it has no such call. */
static int number(uint32_t arch, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(arch, name);

	for (size_t i = 0; arch == SCMP_ARCH_X86 && i < ARRAY_SIZE(direct_calls_x86); i++)
		if (strcmp(direct_calls_x86[i].name, name) == 0)
			nr = direct_calls_x86[i].nr;
	return nr < 0 ? -1 : nr;
}

static void judge_ioctl(struct writer *w, uint32_t arch)
{
	int begin = block_begin(w, (uint32_t)number(arch, "ioctl"));

	load_arg(w, 1);
	/* type into the terminal of whoever reads it next */
	ret_if(w, TIOCSTI, REFUSE(EPERM));
	ret_if(w, TIOCLINUX_NR, REFUSE(EPERM));
	ret(w, ALLOW);
	block_end(w, begin);
}

/* Raw and ping sockets fail in the kernel before any hook could tell of them. */
static void judge_inet(struct writer *w, uint32_t family, uint32_t action)
{
	int begin = block_begin(w, family);

	load_arg(w, 2);
	ret_if(w, IPPROTO_ICMP, action);
	ret_if(w, IPPROTO_ICMPV6, action);
	load_arg(w, 1);
	emit(w, BPF_ALU | BPF_AND | BPF_K, SOCK_TYPE_BITS, 0, 0);
	ret_if(w, SOCK_RAW, action);
	ret_if(w, SOCK_PACKET, action); /* the kernel takes it for AF_PACKET */
	ret(w, ALLOW);
	block_end(w, begin);
}

/* Told like a family; where nobody is told the errno is the kernel's own. */
static uint32_t raw_action(uint32_t family_action)
{
	return family_action == SECCOMP_RET_USER_NOTIF ? family_action : REFUSE(EPERM);
}

static void judge_socket(struct writer *w, uint32_t arch, uint32_t family_action)
{
	int begin = block_begin(w, (uint32_t)number(arch, "socket")), netlink;

	load_arg(w, 0);
	ret_if(w, AF_UNIX, ALLOW);
	judge_inet(w, AF_INET, raw_action(family_action));
	judge_inet(w, AF_INET6, raw_action(family_action));
	netlink = block_begin(w, AF_NETLINK);
	load_arg(w, 2);
	ret_if(w, NETLINK_ROUTE_NR, ALLOW); /* how programs ask for addresses and routes */
	ret(w, REFUSE(EPROTONOSUPPORT));
	block_end(w, netlink);
	ret(w, family_action);
	block_end(w, begin);
}

static void judge_socketpair(struct writer *w, uint32_t arch)
{
	int begin = block_begin(w, (uint32_t)number(arch, "socketpair"));

	load_arg(w, 0);
	ret_if(w, AF_UNIX, ALLOW);
	ret(w, REFUSE(EAFNOSUPPORT));
	block_end(w, begin);
}

static void judge_calls(struct writer *w, uint32_t arch, uint32_t family_action)
{
	load_field(w, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	if (arch == SCMP_ARCH_X86_64) {
		emit(w, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
		ret(w, REFUSE(ENOSYS));
	}
#endif
	judge_socket(w, arch, family_action);
	judge_ioctl(w, arch);
	judge_socketpair(w, arch);
	for (size_t i = 0; i < ARRAY_SIZE(refused_calls); i++) {
		int nr = number(arch, refused_calls[i].name);

		if (nr >= 0)
			ret_if(w, (uint32_t)nr, REFUSE(refused_calls[i].err));
	}
	ret(w, ALLOW);
}

int filter_build(struct sock_filter out[static FILTER_MAX], unsigned int family_action)
{
	/* the values of SCMP_ARCH_ are AUDIT_ARCH_'s, which struct seccomp_data carries */
	const uint32_t arches[] = {
		seccomp_arch_native(),
#if defined(__x86_64__)
		SCMP_ARCH_X86,
#elif defined(__aarch64__)
		SCMP_ARCH_ARM,
#endif
	};
	struct writer w = {.out = out};

	for (size_t i = 0; i < ARRAY_SIZE(arches); i++) {
		int begin;

		load_field(&w, offsetof(struct seccomp_data, arch));
		begin = block_begin(&w, arches[i]);
		judge_calls(&w, arches[i], family_action);
		if (w.n - begin > UINT8_MAX)
			return -E2BIG;
		block_end(&w, begin);
	}
	ret(&w, REFUSE(ENOSYS));
	return w.n > FILTER_MAX ? -E2BIG : w.n;
}

static int load(uint32_t family_action, unsigned int flags)
{
	struct sock_filter code[FILTER_MAX];
	int n = filter_build(code, family_action);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	long r;

	if (n < 0)
		return n;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		&program);
	return r < 0 ? -errno : (int)r;
}

int filter_load(int *ret_fd)
{
	int r = load(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	*ret_fd = r;
	if (r >= 0)
		return 0;
	/* An outer sandbox holds the one listener there may be, or the kernel has none. */
	*ret_fd = -1;
	return load(REFUSE(EAFNOSUPPORT), 0);
}
