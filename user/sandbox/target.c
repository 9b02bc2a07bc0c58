/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds and examines what to attach to; see target.h. Changes nothing. */
#include "target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../kernel/occupied.h"
#include "../kernel/probe.h"
#include "netns.h"

#define CONTAINER_DIGITS (TARGET_CONTAINER_BYTES - 1)
#define MAX_PROC_BYTES 65536
#define POD "pod"
#define SLICE ".slice"

struct search {
	const struct target_plan *plan;
	struct target *t;
	char root[PATH_MAX]; /* where cgroup2 is mounted */
	char *why;
	size_t why_bytes;
	bool is_refused;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct search *s, const char *fmt, ...)
{
	va_list args;

	if (!s->is_refused) {
		va_start(args, fmt);
		vsnprintf(s->why, s->why_bytes, fmt, args);
		va_end(args);
	}
	s->is_refused = true;
	return -EINVAL;
}

/* --- the cgroup */

/* A path as it is, or below where cgroup2 is mounted. */
static int resolve_path(struct search *s)
{
	const char *asked = s->plan->cgroup_path;
	char below[PATH_MAX + 8];

	if (realpath(asked, s->t->cgroup.path))
		return 0;
	if (snprintf(below, sizeof(below), "%s/%s", s->root, asked) < (int)sizeof(below) &&
		realpath(below, s->t->cgroup.path))
		return 0;
	return refuse(s, "there is no cgroup %s: %s", asked, strerror(errno));
}

/* cgroupfs: `podUID`; systemd: `kubepods-CLASS-podUID.slice`, with `_` where the uid has `-`. */
bool target_names_pod(const char *name, const char *uid)
{
	size_t len = strlen(name), n = strlen(uid);

	if (len > strlen(SLICE) && strcmp(name + len - strlen(SLICE), SLICE) == 0)
		len -= strlen(SLICE);
	if (!n || len < strlen(POD) + n)
		return false;
	name += len - n;
	for (size_t i = 0; i < n; i++)
		if (name[i] != uid[i] && !(name[i] == '_' && uid[i] == '-'))
			return false;
	return strncmp(name - strlen(POD), POD, strlen(POD)) == 0 &&
		(len == strlen(POD) + n || name[-1 - (ssize_t)strlen(POD)] == '-');
}

bool target_climb_to_pod(char *path, const char *uid)
{
	char above[PATH_MAX];
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while (uid && (slash = strrchr(above, '/')) && slash != above) {
		*slash = 0;
		slash = strrchr(above, '/');
		if (!slash || !target_names_pod(slash + 1, uid))
			continue;
		strcpy(path, above);
		return true;
	}
	return false;
}

static int resolve_pid(struct search *s)
{
	char path[PATH_MAX], below[2 * PATH_MAX];
	int r = cgroup_path_of(s->plan->pid, path);

	if (r < 0)
		return refuse(s, "process %d: %s", s->plan->pid,
			r == -ENOENT ? "it is in no cgroup2" : strerror(-r));
	if (strncmp(path, "/..", 3) == 0)
		return refuse(s,
			"process %d is in a cgroup outside of nej's cgroup namespace: start nej on "
			"the host",
			s->plan->pid);
	(void)target_climb_to_pod(path, s->plan->pod_uid);
	snprintf(below, sizeof(below), "%s%s", s->root, path);
	if (!realpath(below, s->t->cgroup.path))
		return refuse(s, "the cgroup of process %d (%s): %s", s->plan->pid, path,
			strerror(errno));
	return 0;
}

static int open_cgroup(struct search *s)
{
	struct cgroup *cg = &s->t->cgroup;
	struct statfs fs;
	struct stat st;

	cg->fd = open(cg->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cg->fd < 0 || fstatfs(cg->fd, &fs) < 0 || fstat(cg->fd, &st) < 0)
		return refuse(s, "cannot open %s: %s", cg->path, strerror(errno));
	if ((unsigned long)fs.f_type != CGROUP2_SUPER_MAGIC)
		return refuse(s,
			"%s is no cgroup2: nej's programs attach to nothing else; cgroup2 is "
			"mounted at %s",
			cg->path, s->root);
	cg->id = st.st_ino;
	return 0;
}

/* Every socket of the host would be the sandbox's, ours too. */
static int check_root(struct search *s)
{
	bool is_root = faccessat(s->t->cgroup.fd, "cgroup.type", F_OK, 0) < 0;

	if (is_root && !s->plan->is_everywhere)
		return refuse(s,
			"%s is the cgroup root: the whole machine would be confined, nej with it; "
			"put the sandbox's processes into a cgroup of their own%s",
			s->t->cgroup.path,
			s->plan->cgroup_path ? "" : " (or name one with --cgroup)");
	return 0;
}

/* We would cut ourselves off: the listeners, and what the worker dials. */
static int check_not_ours(struct search *s)
{
	char own[PATH_MAX], path[2 * PATH_MAX];
	const struct cgroup *cg = &s->t->cgroup;
	int r = cgroup_path_of(getpid(), own);
	struct stat st;

	if (r < 0 || s->plan->is_everywhere)
		return 0;
	snprintf(path, sizeof(path), "%s%s", s->root, own);
	for (;;) {
		char *slash = strrchr(path, '/');

		if (stat(path, &st) == 0 && st.st_ino == cg->id)
			return refuse(s,
				"nej itself is in %s: it would cut itself off; start it from "
				"another cgroup (systemd-run does, or a system service)",
				cg->path);
		if (!slash || strlen(path) <= strlen(s->root))
			return 0;
		*slash = 0;
	}
}

static bool is_occupied(const struct search *s, int dir_fd, bool is_effective,
	char ret_name[static PINS_NAME_BYTES])
{
	const struct occupied_plan plan = {
		.except = s->plan->name,
		.is_effective = is_effective,
		.has_uid = s->plan->has_uid,
		.uid = s->plan->uid,
	};

	return occupied_by(dir_fd, &plan, ret_name) > 0;
}

static void check_below(void *arg, int dir_fd)
{
	struct search *s = arg;
	char name[PINS_NAME_BYTES];

	if (is_occupied(s, dir_fd, false, name))
		refuse(s, "the sandbox %s of nej is on it already, or in it: `nej detach %s`", name,
			name);
}

static int check_free(struct search *s)
{
	uint64_t left = occupied_cgroup(s->plan->name);
	char name[PINS_NAME_BYTES];

	if (left && left != s->t->cgroup.id)
		return refuse(s,
			"a dead supervisor of the name %s left another cgroup confined: `nej "
			"detach %s` lets it go, or choose another name with -n",
			s->plan->name, s->plan->name);
	s->t->is_leftover = left != 0;
	if (is_occupied(s, s->t->cgroup.fd, true, name))
		return refuse(
			s, "%s is confined by the sandbox %s already", s->t->cgroup.path, name);
	if (!s->plan->is_everywhere)
		cgroup_each(&s->t->cgroup, check_below, s);
	return s->is_refused ? -EINVAL : 0;
}

bool target_container_of(const char *path, char ret[static TARGET_CONTAINER_BYTES])
{
	size_t n = 0;

	for (const char *at = path;; at++) {
		if (isdigit((unsigned char)*at) || (*at >= 'a' && *at <= 'f')) {
			n++;
			continue;
		}
		if (n == CONTAINER_DIGITS) {
			memcpy(ret, at - n, n);
			ret[n] = 0;
			return true;
		}
		if (!*at)
			return false;
		n = 0;
	}
}

/* --- its processes */

const char *target_other_kernel(const char *exe)
{
	static const struct {
		const char *head, *why;
	} others[] = {
		{"runsc",
			"gVisor: its own kernel makes the sockets, and only gVisor can confine "
			"them"},
		{"qemu-system-", "a virtual machine: its own kernel makes the sockets"},
		{"qemu-kvm", "a virtual machine: its own kernel makes the sockets"},
		{"firecracker", "a virtual machine: its own kernel makes the sockets"},
		{"cloud-hypervisor", "a virtual machine: its own kernel makes the sockets"},
		{"crosvm", "a virtual machine: its own kernel makes the sockets"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(exe, others[i].head, strlen(others[i].head)) == 0)
			return others[i].why;
	return NULL;
}

/* The uid that a login gave (PAM), or -1: services and containers have none. */
static uid_t read_login(pid_t pid)
{
	char path[64];
	_cleanup_free_ char *text = NULL;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/loginuid", pid);
	return file_read(path, 32, &text, &len) < 0 ? (uid_t)-1 : (uid_t)strtoul(text, NULL, 10);
}

/* A uid guard is for a user that nobody is. */
static void check_login(void *arg, pid_t pid)
{
	struct search *s = arg;

	if (read_login(pid) == s->plan->uid)
		refuse(s,
			"the user %u is logged in (process %d): a uid guard would confine "
			"that session too; give the sandbox a user of its own",
			s->plan->uid, pid);
}

static void check_logins(void *arg, int dir_fd)
{
	cgroup_each_process(dir_fd, check_login, arg);
}

/* CAP_NET_RAW in whatever user namespace: it may well be the one that owns the network's. */
static bool has_net_raw(pid_t pid)
{
	char path[64];
	_cleanup_free_ char *text = NULL;
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, MAX_PROC_BYTES, &text, &len) < 0)
		return false;
	at = strstr(text, "\nCapEff:");
	return at && strtoull(at + 8, NULL, 16) >> CAP_NET_RAW & 1;
}

static void check_process(void *arg, pid_t pid)
{
	char path[64], exe[PATH_MAX];
	struct search *s = arg;
	const char *slash, *why;
	ssize_t n;

	if (!s->t->pid)
		s->t->pid = pid;
	s->t->n_raw += has_net_raw(pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	why = target_other_kernel(slash ? slash + 1 : exe);
	if (why)
		refuse(s, "process %d is %s: run nej inside it", pid, why);
}

static void check_processes(void *arg, int dir_fd)
{
	cgroup_each_process(dir_fd, check_process, arg);
}

static int find_owner(struct target *t)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", t->pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	t->uid = st.st_uid;
	return 0;
}

/* --- its network */

static bool is_same_netns(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
		a.st_dev == b.st_dev;
}

static int find_netns(struct search *s)
{
	struct target *t = s->t;
	char path[64] = "/proc/thread-self/ns/net";
	int r;

	if (t->pid && !s->plan->is_everywhere)
		snprintf(path, sizeof(path), "/proc/%d/ns/net", t->pid);
	t->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t->netns_fd < 0)
		return refuse(s, "process %d, its network namespace: %s", t->pid, strerror(errno));
	if (is_same_netns(t->netns_fd, "/proc/thread-self/ns/net")) {
		t->net = TARGET_NET_HOST;
		return 0;
	}
	r = netns_is_alone(t->netns_fd);
	t->net = r > 0 ? TARGET_NET_NONE : TARGET_NET_SHARED;
	return r < 0 ? refuse(s, "the network namespace of process %d: %s", t->pid, strerror(-r))
		     : 0;
}

int target_find(const struct target_plan *plan, struct target *ret, char *why, size_t why_bytes)
{
	struct search s = {.plan = plan, .t = ret, .why = why, .why_bytes = why_bytes};
	int r;

	*ret = (struct target){.cgroup.fd = -1, .netns_fd = -1, .pid = plan->pid};
	if (probe_cgroup2(s.root, sizeof(s.root)) < 0)
		return refuse(&s, "cgroup2 is not mounted");
	if (plan->is_everywhere)
		snprintf(ret->cgroup.path, sizeof(ret->cgroup.path), "%s", s.root);
	r = plan->is_everywhere ? 0 : plan->cgroup_path ? resolve_path(&s) : resolve_pid(&s);
	if (!r)
		r = open_cgroup(&s);
	if (!r)
		r = check_root(&s);
	if (!r)
		r = check_not_ours(&s);
	if (!r)
		r = check_free(&s);
	if (!r)
		cgroup_each(&ret->cgroup, plan->is_everywhere ? check_logins : check_processes, &s);
	if (s.is_refused)
		return -EINVAL;
	if (ret->pid && find_owner(ret) < 0)
		return refuse(&s, "process %d is gone", ret->pid);
	target_container_of(ret->cgroup.path, ret->container);
	return find_netns(&s);
}
