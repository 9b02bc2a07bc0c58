/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel can, found by trying. libbpf's own feature probes are not asked: on newer kernels
 * they report every helper as available.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "object.h"
#include "probe_socket.h"

#define SAY(r, ...) snprintf((r)->detail, sizeof((r)->detail), __VA_ARGS__)

/* --- single instructions, enough for probes */

#define INSN_MOV(dst, value)                                                                       \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value)})
#define INSN_CALL(helper) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (helper)})
#define INSN_EXIT ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})
#define HELPER_SET_RETVAL 187 /* linux/bpf.h since 5.18 */

static int load(
	enum bpf_prog_type type, unsigned int attach, const struct bpf_insn *insns, size_t n)
{
	struct bpf_prog_load_opts opts = {
		.sz = sizeof(opts), .expected_attach_type = (enum bpf_attach_type)attach};
	int fd = bpf_prog_load(type, "nej_probe", "GPL", insns, n, &opts);

	return fd < 0 ? -errno : fd;
}

static int load_allow(enum bpf_prog_type type, unsigned int attach)
{
	const struct bpf_insn insns[] = {INSN_MOV(BPF_REG_0, 1), INSN_EXIT};

	return load(type, attach, insns, ARRAY_SIZE(insns));
}

bool probe_has_set_retval(void)
{
	const struct bpf_insn insns[] = {
		INSN_MOV(BPF_REG_1, -1),
		INSN_CALL(HELPER_SET_RETVAL),
		INSN_MOV(BPF_REG_0, 0),
		INSN_EXIT,
	};
	_cleanup_close_ int fd = load(
		BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, insns, ARRAY_SIZE(insns));

	return fd >= 0;
}

static bool has_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

bool probe_has_connect_unix(void)
{
	_cleanup_close_ int fd =
		load_allow(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, PROBE_ATTACH_UNIX_CONNECT);

	return fd >= 0 && has_btf();
}

/* --- cgroups and file systems */

/* The second to last fields of a mountinfo line: `- TYPE SOURCE OPTIONS`. */
static bool is_mount_of(const char *line, const char *type, const char *option)
{
	const char *dash = strstr(line, " - ");
	size_t len = strlen(type);

	return dash && !strncmp(dash + 3, type, len) && dash[3 + len] == ' ' &&
		(!option || strstr(dash, option));
}

/* Another mount may lie over it, or over a folder above. */
static bool is_on_top(const char *point, const char *type)
{
	unsigned long magic = strcmp(type, "cgroup2") == 0 ? CGROUP2_SUPER_MAGIC
		: strcmp(type, "bpf") == 0                 ? BPF_FS_MAGIC
							   : CGROUP_SUPER_MAGIC;
	struct statfs fs;

	return statfs(point, &fs) == 0 && (unsigned long)fs.f_type == magic;
}

/* The mount point of the first such mount that can be seen. */
static int find_mount(const char *type, const char *option, char *ret, size_t max_bytes)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], point[2048];

	while (f && fgets(line, sizeof(line), f))
		if (is_mount_of(line, type, option) &&
			sscanf(line, "%*s %*s %*s %*s %2047s", point) == 1 &&
			strlen(point) < max_bytes && is_on_top(point, type)) {
			strcpy(ret, point);
			return 0;
		}
	return -ENOENT;
}

int probe_cgroup2(char *ret_path, size_t max_bytes)
{
	return find_mount("cgroup2", NULL, ret_path, max_bytes);
}

static bool probe_cgroup(struct probe_result *r)
{
	return probe_cgroup2(r->detail, sizeof(r->detail)) == 0;
}

static bool probe_bpffs(struct probe_result *r)
{
	_cleanup_free_ char *list = NULL;
	size_t len;

	if (find_mount("bpf", NULL, r->detail, sizeof(r->detail)) == 0)
		return true;
	SAY(r, "not mounted; nej mounts it");
	return file_read("/proc/filesystems", 1 << 16, &list, &len) == 0 && strstr(list, "\tbpf\n");
}

static bool probe_net_cls(struct probe_result *r)
{
	char point[128];

	if (find_mount("cgroup", "net_cls", point, sizeof(point)) < 0 &&
		find_mount("cgroup", "net_prio", point, sizeof(point)) < 0)
		return true;
	SAY(r, "%.100s is mounted", point);
	return false;
}

/* --- BPF */

static bool say_fd(struct probe_result *r, int fd)
{
	if (fd >= 0) {
		close(fd);
		return true;
	}
	SAY(r, "%s", strerror(-fd));
	return false;
}

static bool probe_bpf(struct probe_result *r)
{
	const struct bpf_insn insns[] = {INSN_MOV(BPF_REG_0, 0), INSN_EXIT};

	return say_fd(r, load(BPF_PROG_TYPE_SOCKET_FILTER, 0, insns, ARRAY_SIZE(insns)));
}

static bool probe_cgroup_bpf(struct probe_result *r)
{
	return say_fd(r, load_allow(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_GETPEERNAME));
}

static bool probe_ring(struct probe_result *r)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "nej_probe", 0, 0, 4096, NULL);

	return say_fd(r, fd < 0 ? -errno : fd);
}

/* The truth: every program and map of nej as it is. */
static bool probe_programs(struct probe_result *r)
{
	struct object_error error = {0};
	struct object *o;

	if (object_load("doctor", &o, &error) < 0) {
		SAY(r, "%.127s", error.what);
		return false;
	}
	object_release(o);
	return true;
}

static bool probe_btf(struct probe_result *r)
{
	(void)r;
	return has_btf();
}

static bool probe_jit(struct probe_result *r)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (file_read("/proc/sys/net/core/bpf_jit_enable", 16, &text, &len) < 0 || !len)
		return false;
	SAY(r, "bpf_jit_enable=%c", text[0]);
	return text[0] != '0';
}

static bool probe_set_retval(struct probe_result *r)
{
	(void)r;
	return probe_has_set_retval();
}

static bool probe_connect_unix(struct probe_result *r)
{
	(void)r;
	return probe_has_connect_unix();
}

/* A child without any privilege reads a map through a descriptor it was given. */
static bool probe_map_fd(struct probe_result *r)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nej_probe", 4, 4, 1, NULL);
	int status = -1;
	pid_t pid;

	if (fd < 0)
		return say_fd(r, -errno);
	pid = fork();
	if (pid == 0) {
		__u32 zero = 0, value;

		if (setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		_exit(bpf_map_lookup_elem(fd, &zero, &value) < 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* With nothing left of the limit a map can only be made where it does not count (5.11). */
static bool is_memlock_unused(void)
{
	struct rlimit limit, none;
	int fd;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return false;
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nej_probe", 4, 4096, 64, NULL);
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool probe_memlock(struct probe_result *r)
{
	struct rlimit limit;

	if (is_memlock_unused()) {
		SAY(r, "not limited");
		return true;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return false;
	SAY(r, "%llu KiB", (unsigned long long)limit.rlim_max / 1024);
	return limit.rlim_max >= 64ull << 20;
}

/* --- confinement of processes */

static bool probe_landlock(struct probe_result *r)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		SAY(r, "ABI %ld", abi);
	return abi > 0;
}

static bool probe_seccomp(struct probe_result *r)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	(void)r;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool probe_namespaces(struct probe_result *r)
{
	static const char *const files[] = {"net", "pid", "mnt", "ipc"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", files[i]);
		if (access(path, F_OK) < 0) {
			SAY(r, "no %s namespaces", files[i]);
			return false;
		}
	}
	return true;
}

/* A descriptor that is not open: EBADF where the flag is known. */
static bool probe_clone_cgroup(struct probe_result *r)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = INT32_MAX};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	(void)r;
	if (pid == 0)
		_exit(0);
	return pid < 0 && errno == EBADF;
}

static bool probe_ipv6(struct probe_result *r)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (fd < 0) {
		SAY(r, "%s", strerror(errno));
		return false;
	}
	if (file_read("/proc/sys/net/ipv6/conf/all/disable_ipv6", 16, &text, &len) == 0 && len &&
		text[0] == '1') {
		SAY(r, "disable_ipv6=1");
		return false;
	}
	return true;
}

static bool probe_sock_destroy(struct probe_result *r)
{
	int status = probe_socket_destroy();

	if (status < 0)
		SAY(r, "%s", strerror(-status));
	return status == 0;
}

static bool probe_nf_tables(struct probe_result *r)
{
	int status = probe_socket_nf_tables();

	if (status < 0)
		SAY(r, "%s", strerror(-status));
	return status == 0;
}

struct probe_row {
	const char *name, *what, *without;
	enum probe_level level;
	bool (*is_present)(struct probe_result *r);
};

static const struct probe_row probe_rows[] = {
	{"cgroup2", "what a sandbox's sockets are known by", "nej cannot run", PROBE_REQUIRED,
		probe_cgroup},
	{"bpf", "loads the programs that decide in the kernel", "nej cannot run", PROBE_REQUIRED,
		probe_bpf},
	{"cgroup_bpf", "hooks on connect, sendmsg, bind and packets", "nej cannot run",
		PROBE_REQUIRED, probe_cgroup_bpf},
	{"ring_buffer", "carries refusals to the audit log", "nej cannot run", PROBE_REQUIRED,
		probe_ring},
	{"bpffs", "keeps hooks in force when nej dies", "nej cannot run", PROBE_REQUIRED,
		probe_bpffs},
	{"programs", "all of nej's programs, loaded as they are", "nej cannot run", PROBE_REQUIRED,
		probe_programs},
	{"namespaces", "a network, process and mount namespace of the sandbox's own",
		"nej run needs them; nej attach does not", PROBE_REQUIRED, probe_namespaces},
	{"seccomp", "refuses socket families that no hook sees", "nej run cannot run",
		PROBE_REQUIRED, probe_seccomp},
	{"clone_into_cgroup", "starts the command inside its cgroup",
		"the command joins the cgroup before it is executed", PROBE_OPTIONAL,
		probe_clone_cgroup},
	{"set_retval", "gives a refused call the errno that names the cause",
		"every refused call says EPERM", PROBE_OPTIONAL, probe_set_retval},
	{"connect_unix", "refuses Unix sockets that lead out, by a hook",
		"the mount namespace alone masks them", PROBE_OPTIONAL, probe_connect_unix},
	{"btf", "kernel types, for connect_unix", "only connect_unix is missing", PROBE_OPTIONAL,
		probe_btf},
	{"jit", "runs BPF programs at native speed", "the same, more slowly", PROBE_OPTIONAL,
		probe_jit},
	{"map_fd", "lets the unprivileged proxy read the flow table", "the proxy keeps CAP_BPF",
		PROBE_OPTIONAL, probe_map_fd},
	{"landlock", "a second fence around the proxy", "seccomp and its own user alone fence it",
		PROBE_OPTIONAL, probe_landlock},
	{"sock_destroy", "cuts connections that a halt or a new policy forbids",
		"they end at their next packet", PROBE_OPTIONAL, probe_sock_destroy},
	{"ipv6", "IPv6 inside the sandbox", "the sandbox has IPv4 alone", PROBE_OPTIONAL,
		probe_ipv6},
	{"memlock", "room for BPF maps on Linux before 5.11", "loading may fail with EPERM",
		PROBE_OPTIONAL, probe_memlock},
	{"no_net_cls", "no cgroup v1 controller that takes the mark of a socket's cgroup",
		"before Linux 5.15 a net_cls user could hide sockets from nej", PROBE_OPTIONAL,
		probe_net_cls},
	{"nf_tables", "nothing: nej filters without it", "everything works", PROBE_UNUSED,
		probe_nf_tables},
};

size_t probe_all(struct probe_result *ret, size_t max)
{
	size_t n = max < ARRAY_SIZE(probe_rows) ? max : ARRAY_SIZE(probe_rows);

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct probe_result){.name = probe_rows[i].name,
			.what = probe_rows[i].what,
			.without = probe_rows[i].without,
			.level = probe_rows[i].level};
		ret[i].is_present = probe_rows[i].is_present(&ret[i]);
	}
	return n;
}
