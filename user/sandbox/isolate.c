/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: descriptors come in at exec, everything that reads files is built, then
 * isolate() is passed once and never again. What is lost, in this order: user and groups,
 * capabilities, dumps, the file system (Landlock), system calls (seccomp). Behind it the process can
 * read, write, connect over TCP and UDP, look up one map, and allocate. Read runtime.c next.
 */
#include "isolate.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../kernel/origin.h"

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#define MAX_LOCKED_BYTES (64u << 20)

void isolate_prepare(void)
{
	struct rlimit files, locked = {MAX_LOCKED_BYTES, MAX_LOCKED_BYTES};

	setrlimit(RLIMIT_MEMLOCK, &locked); /* credentials: we lose the right to lock more */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* --- user and capabilities */

static bool can_look_up(int flows_fd)
{
	struct endpoint nobody = {.port = 1};
	struct nej_origin origin;

	return origin_find(flows_fd, &nobody, &origin) == -ENOENT;
}

static int become(uid_t uid, bool keeps_bpf)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (keeps_bpf)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF);
	if (capng_change_id((int)uid, (int)uid,
		    CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING | CAPNG_CLEAR_AMBIENT) != 0)
		return -EPERM;
	return 0;
}

/* CAP_BPF comes along, for the moment it takes to find out whether it is needed. */
static int drop_user(uid_t uid, int flows_fd)
{
	int r = become(uid, flows_fd >= 0);

	if (r < 0 || flows_fd < 0)
		return r;
	capng_clear(CAPNG_SELECT_CAPS);
	capng_update(CAPNG_ADD, CAPNG_PERMITTED, CAP_BPF);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return -EPERM;
	if (can_look_up(flows_fd)) {
		capng_clear(CAPNG_SELECT_CAPS);
		return capng_apply(CAPNG_SELECT_CAPS) != 0 ? -EPERM : 0;
	}
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return -EPERM;
	return can_look_up(flows_fd) ? 0 : -EACCES;
}

static int drop_dumps(void)
{
	struct rlimit none = {0, 0};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	/* Changing the user cleared it; we end with the supervisor also by the control socket. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* --- the file system */

/* Access rights by version of the interface (Documentation/userspace-api/landlock.rst). */
static uint64_t landlock_rights(int version)
{
	uint64_t rights = (1ull << 13) - 1; /* EXECUTE to MAKE_SYM, version 1 */

	if (version >= 2)
		rights |= 1ull << 13; /* REFER */
	if (version >= 3)
		rights |= 1ull << 14; /* TRUNCATE */
	if (version >= 5)
		rights |= 1ull << 15; /* IOCTL_DEV */
	return rights;
}

/* A rule set without any rule. Kernels without Landlock have the system call filter alone. */
static int drop_files(void)
{
	struct landlock_ruleset_attr attr = {0};
	int version =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	_cleanup_close_ int fd = -1;

	if (version < 1)
		return 0;
	attr.handled_access_fs = landlock_rights(version);
	/* the size of the first version: what came later is not handled */
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (fd < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* --- system calls */

static const int allowed[] = {
	/* sockets and pipes */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(close),
	SCMP_SYS(connect),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(lseek),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(recv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(recvmmsg_time64),
	SCMP_SYS(recvmsg),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(send),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(splice),
	SCMP_SYS(tee),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	/* the loop */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	/* memory and threads; mapping code is refused below */
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(madvise),
	SCMP_SYS(membarrier),
	SCMP_SYS(lseek), /* credentials that come later (delivery.c) */
	SCMP_SYS(mlock),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(sigaltstack),
	/* time and chance */
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(nanosleep),
	SCMP_SYS(time),
	/* oneself, and the end */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fstat),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

/* Libraries may try these; they live without. Anything else ends the process. */
static const struct {
	int nr;
	uint32_t err;
} refused[] = {
	{SCMP_SYS(open), EACCES}, {SCMP_SYS(openat), EACCES}, {SCMP_SYS(access), EACCES},
	{SCMP_SYS(faccessat), EACCES}, {SCMP_SYS(faccessat2), EACCES}, {SCMP_SYS(stat), EACCES},
	{SCMP_SYS(lstat), EACCES}, {SCMP_SYS(statx), EACCES}, {SCMP_SYS(readlink), EACCES},
	{SCMP_SYS(readlinkat), EACCES}, {SCMP_SYS(newfstatat), EACCES},
	{SCMP_SYS(prlimit64), EPERM}, {SCMP_SYS(getrlimit), EPERM},
	{SCMP_SYS(sched_setaffinity), EPERM},
	{SCMP_SYS(clone3), ENOSYS}, /* libc falls back to clone, whose flags can be seen */
};

#define THREAD_FLAGS (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)
#define HAS(n, mask, value) SCMP_CMP64(n, SCMP_CMP_MASKED_EQ, mask, value)

/* Calls that depend on an argument; a row is allowed as it stands. */
static const struct {
	int nr;
	struct scmp_arg_cmp arg[2];
	unsigned int n_args;
} allowed_so[] = {
	{SCMP_SYS(mmap), {HAS(2, PROT_EXEC, 0)}, 1},
	{SCMP_SYS(mmap2), {HAS(2, PROT_EXEC, 0)}, 1},
	{SCMP_SYS(mprotect), {HAS(2, PROT_EXEC, 0)}, 1},
	{SCMP_SYS(clone), {HAS(0, THREAD_FLAGS, THREAD_FLAGS)}, 1},
	{SCMP_SYS(bpf), {SCMP_CMP64(0, SCMP_CMP_EQ, BPF_MAP_LOOKUP_ELEM)}, 1},
	{SCMP_SYS(socket), {SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET), HAS(1, 0xf, SOCK_STREAM)}, 2},
	{SCMP_SYS(socket), {SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET), HAS(1, 0xf, SOCK_DGRAM)}, 2},
	{SCMP_SYS(socket), {SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET6), HAS(1, 0xf, SOCK_STREAM)}, 2},
	{SCMP_SYS(socket), {SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET6), HAS(1, 0xf, SOCK_DGRAM)}, 2},
	{SCMP_SYS(ioctl), {SCMP_CMP64(1, SCMP_CMP_EQ, FIONREAD)}, 1},
	{SCMP_SYS(ioctl), {SCMP_CMP64(1, SCMP_CMP_EQ, FIONBIO)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_GETFL)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_SETFL)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_GETFD)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_SETFD)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_GET_SEALS)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_SETPIPE_SZ)}, 1},
	{SCMP_SYS(fcntl), {SCMP_CMP64(1, SCMP_CMP_EQ, F_GETPIPE_SZ)}, 1},
	{SCMP_SYS(fcntl64), {SCMP_CMP64(1, SCMP_CMP_EQ, F_SETFL)}, 1},
	{SCMP_SYS(fcntl64), {SCMP_CMP64(1, SCMP_CMP_EQ, F_GETFL)}, 1},
};

static int add_rules(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r >= 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(allowed_so) && r >= 0; i++)
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, allowed_so[i].nr,
			allowed_so[i].n_args, allowed_so[i].arg);
	for (size_t i = 0; i < ARRAY_SIZE(refused) && r >= 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(refused[i].err), refused[i].nr, 0);
	/* abort() of an assertion: to oneself alone */
	if (r >= 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
			SCMP_CMP64(0, SCMP_CMP_EQ, (uint64_t)getpid()));
	return r;
}

static int drop_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	if (r >= 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_SSB, 1);
	if (r >= 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r >= 0)
		r = add_rules(ctx);
	if (r >= 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

int isolate(uid_t uid, int flows_fd, const char **ret_step)
{
	int r;

	clock_monotonic_ns(); /* the vDSO is looked up now, not behind the filter */
	*ret_step = "giving up root";
	r = drop_user(uid, flows_fd);
	if (r >= 0) {
		*ret_step = "limits";
		r = drop_dumps();
	}
	if (r >= 0) {
		*ret_step = "Landlock";
		r = drop_files();
	}
	if (r >= 0) {
		*ret_step = "the system call filter";
		r = drop_calls();
	}
	return r;
}
