/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a configuration, looks at a process, and says what is wrong with either; see ociguard.h. */
#include "ociguard.h"

#include <cap-ng.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "cgroup.h"
#include "netns.h"
#include "target.h"

#define BIT(n) (UINT64_C(1) << (n))
#define ALONE_ROUNDS 50
#define ROUND_MS 10
#define MAX_PROC_BYTES 65536

/* With these, where it has root of the host, a container is the host's root under another name. */
#define CAPS_OF_HOST                                                                               \
	(BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_MODULE) | BIT(CAP_SYS_RAWIO) |                           \
		BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_BPF) | BIT(CAP_SYS_BOOT) /* kexec(8) */)
/* With these, where there is a device to send by, packets go out that no socket hook sees. */
#define CAPS_OF_NET (BIT(CAP_NET_RAW) | BIT(CAP_NET_ADMIN))
/* With this, where it sees the host's processes, it can be any of them. */
#define CAPS_OF_PROCESSES BIT(CAP_SYS_PTRACE)

__attribute__((format(printf, 3, 4))) static int refuse(
	char *why, size_t why_bytes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, why_bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* --- what the operator accepts */

int ociguard_parse_accept(
	const char *list, struct ociguard_accept *ret, char *why, size_t why_bytes)
{
	_cleanup_free_ char *copy = strdup(list);
	char *rest = NULL;
	int cap;

	if (!copy)
		return -ENOMEM;
	for (char *at = strtok_r(copy, ",", &rest); at; at = strtok_r(NULL, ",", &rest)) {
		cap = capng_name_to_capability(at);
		if (strcmp(at, "mounts") == 0)
			ret->mounts = true;
		else if (strcmp(at, "devices") == 0)
			ret->devices = true;
		else if (strcmp(at, "processes") == 0)
			ret->processes = true;
		else if (cap < 0)
			return refuse(why, why_bytes,
				"`%.32s` is neither a capability (NET_RAW) nor `mounts`, `devices` "
				"or `processes`",
				at);
		else
			ret->caps |= BIT(cap);
	}
	return 0;
}

/* --- the configuration */

static void add_caps(const json_t *set, uint64_t *caps)
{
	size_t i;
	json_t *value;

	json_array_foreach(set, i, value)
	{
		const char *name = json_string_value(value);
		int cap = -1;

		if (name && strncasecmp(name, "CAP_", 4) == 0)
			cap = capng_name_to_capability(name + 4);
		if (cap >= 0)
			*caps |= BIT(cap);
	}
}

static uint64_t read_caps(const json_t *config)
{
	const json_t *all = json_object_get(json_object_get(config, "process"), "capabilities");
	static const char *const sets[] = {
		"bounding", "effective", "permitted", "inheritable", "ambient"};
	uint64_t caps = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		add_caps(json_object_get(all, sets[i]), &caps);
	return caps;
}

/* One of its own, not one that it joins or is left in. */
static bool has_new_namespace(const json_t *config, const char *type)
{
	size_t i;
	json_t *value;

	json_array_foreach(
		json_object_get(json_object_get(config, "linux"), "namespaces"), i, value)
	{
		const char *text = json_string_value(json_object_get(value, "type"));

		if (text && strcmp(text, type) == 0)
			return !json_object_get(value, "path");
	}
	return false;
}

/* A hook that comes after ours may still give it a network, as nerdctl's does. */
static bool has_other_hooks(const json_t *config)
{
	static const char *const stages[] = {
		"prestart", "createRuntime", "createContainer", "startContainer", "poststart"};
	const json_t *hooks = json_object_get(config, "hooks");

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		size_t k;
		json_t *hook;

		json_array_foreach(json_object_get(hooks, stages[i]), k, hook)
		{
			const char *verb =
				json_string_value(json_array_get(json_object_get(hook, "args"), 1));

			if (!verb || strcmp(verb, "oci-hook") != 0)
				return true;
		}
	}
	return false;
}

/* Is there a rule that opens all block devices, the host's disks, for writing? */
static bool has_disks(const json_t *config)
{
	const json_t *resources = json_object_get(json_object_get(config, "linux"), "resources");
	size_t i;
	json_t *rule;

	json_array_foreach(json_object_get(resources, "devices"), i, rule)
	{
		const char *type = json_string_value(json_object_get(rule, "type"));
		const char *access = json_string_value(json_object_get(rule, "access"));
		const json_t *major = json_object_get(rule, "major");

		if (json_is_true(json_object_get(rule, "allow")) &&
			(!type || strcmp(type, "a") == 0 || strcmp(type, "b") == 0) &&
			(!access || strchr(access, 'w')) &&
			(!json_is_integer(major) || json_integer_value(major) < 0))
			return true;
	}
	return false;
}

int ociguard_read(const char *text, size_t len, const char *bundle, struct ociguard_facts *ret,
	char *why, size_t why_bytes)
{
	json_error_t error;
	json_t *config = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	*ret = (struct ociguard_facts){0};
	if (!json_is_object(config)) {
		json_decref(config);
		return refuse(why, why_bytes, "the bundle's config.json: %s",
			config ? "it is no JSON object" : error.text);
	}
	ret->caps = read_caps(config);
	ret->has_new_mntns = has_new_namespace(config, "mount");
	ret->has_new_netns = has_new_namespace(config, "network");
	ret->has_other_hooks = has_other_hooks(config);
	ret->has_disks = has_disks(config);
	ocimounts_read(config, bundle, has_new_namespace(config, "cgroup"), &ret->mounts);
	json_decref(config);
	return 0;
}

/* --- the process */

/* Its namespace of this kind is the one that we are in. */
static bool shares(pid_t pid, const char *kind)
{
	char theirs[64], ours[64];
	struct stat a, b;

	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", pid, kind);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kind);
	return stat(theirs, &a) < 0 || stat(ours, &b) < 0 ||
		(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* Is a user of its namespace root of the host, by whose number files and kernel settings go? */
static bool has_host_root(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *rest = NULL;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (shares(pid, "user") || file_read(path, MAX_PROC_BYTES, &text, &len) < 0)
		return true;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long inside, outside;

		if (sscanf(line, "%lu %lu", &inside, &outside) != 2 || !outside)
			return true;
	}
	return false;
}

static bool has_network(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	if (shares(pid, "net"))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || netns_is_bare(fd) <= 0;
}

/* Now, or by the time it runs: what a runtime has made just now an engine may connect afterwards (`ctr run
 * --cni`, podman with a user namespace), and so may a hook. */
static bool may_have_network(const struct ociguard_facts *f, pid_t pid)
{
	return f->has_new_netns || f->has_other_hooks || has_network(pid);
}

static int refuse_cap(uint64_t caps, const char *what, char *why, size_t why_bytes)
{
	const char *name = capng_capability_to_name((unsigned int)__builtin_ctzll(caps));
	char upper[32] = "";

	for (size_t i = 0; name && name[i] && i < sizeof(upper) - 1; i++)
		upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
	refuse(why, why_bytes,
		"it has CAP_%s, %s: start it without (drop: [%s], --cap-drop %s), or let the hook "
		"have `--accept %s`",
		upper, what, upper, upper, upper);
	return -EPERM;
}

static int check_caps(
	const struct ociguard_facts *f, pid_t pid, uint64_t accepted, char *why, size_t why_bytes)
{
	uint64_t caps = f->caps & ~accepted;

	if (caps & CAPS_OF_HOST && has_host_root(pid))
		return refuse_cap(caps & CAPS_OF_HOST,
			"by which it could take nej's programs away, as privileged containers can",
			why, why_bytes);
	if (caps & CAPS_OF_PROCESSES && shares(pid, "pid") && shares(pid, "user"))
		return refuse_cap(caps & CAPS_OF_PROCESSES,
			"by which it could act as any process of the host, whose processes it sees",
			why, why_bytes);
	if (caps & CAPS_OF_NET && may_have_network(f, pid))
		return refuse_cap(caps & CAPS_OF_NET,
			"by which it could send packets past every hook of sockets on a network "
			"that has devices, or is given some after this hook",
			why, why_bytes);
	return 0;
}

/* --- whom it sees */

static bool is_same_pid_ns(pid_t a, pid_t b)
{
	char path[2][64];
	struct stat st[2];

	snprintf(path[0], sizeof(path[0]), "/proc/%d/ns/pid", a);
	snprintf(path[1], sizeof(path[1]), "/proc/%d/ns/pid", b);
	return stat(path[0], &st[0]) == 0 && stat(path[1], &st[1]) == 0 &&
		st[0].st_ino == st[1].st_ino;
}

/* Whoever sees a process of the same user can have it do what it likes (ptrace(2)), and the container's
 * root can be any user. */
struct view {
	pid_t pid;
	char cgroup
		[PATH_MAX]; /* of the container, or its pod's: who is there is confined with it */
	pid_t stranger;
};

static void look_at(struct view *v, pid_t pid)
{
	size_t n = strlen(v->cgroup);
	char path[PATH_MAX];

	if (v->stranger || !is_same_pid_ns(pid, v->pid) || cgroup_path_of(pid, path) < 0)
		return;
	if (strncmp(path, v->cgroup, n) != 0 || (path[n] && path[n] != '/'))
		v->stranger = pid;
}

/* Is it the first of a pid namespace that was made for it? */
static bool is_first(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at, *end;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, MAX_PROC_BYTES, &text, &len) < 0)
		return false;
	at = strstr(text, "\nNSpid:");
	end = at ? strchr(at + 1, '\n') : NULL;
	return end && end - at > 2 && strncmp(end - 2, "\t1", 2) == 0;
}

static int check_processes(pid_t pid, const char *pod_uid, char *why, size_t why_bytes)
{
	struct view v = {.pid = pid};
	struct dirent *entry;
	DIR *proc;

	if (is_first(pid) || !shares(pid, "user"))
		return 0;
	if (cgroup_path_of(pid, v.cgroup) < 0 || !(proc = opendir("/proc")))
		return refuse(why, why_bytes, "cannot look at the processes that it sees");
	(void)target_climb_to_pod(v.cgroup, pod_uid);
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at(&v, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(proc);
	if (!v.stranger)
		return 0;
	refuse(why, why_bytes,
		"it shares its pid namespace with processes that are not confined with it, %d "
		"among them, and could act as one: give it a pid namespace of its own, or let the "
		"hook "
		"have `--accept processes`",
		v.stranger);
	return -EPERM;
}

/* --- the cgroup */

struct crowd {
	pid_t pid;
	pid_t stranger; /* in the cgroup, and not of the container; 0: none */
	bool has_own_pid_ns;
};

static void meet(void *arg, pid_t pid)
{
	struct crowd *c = arg;

	if (pid == c->pid || (c->has_own_pid_ns && is_same_pid_ns(pid, c->pid)))
		return;
	c->stranger = pid;
}

static void meet_all(void *arg, int dir_fd)
{
	cgroup_each_process(dir_fd, meet, arg);
}

/* The runtime's own helpers may be there a moment longer. */
static int check_cgroup(pid_t pid, char *why, size_t why_bytes)
{
	const struct timespec pause = {.tv_nsec = ROUND_MS * 1000000};
	struct crowd c = {.pid = pid, .has_own_pid_ns = !shares(pid, "pid")};
	struct cgroup cg = {.fd = -1};
	int r = cgroup_of(pid, &cg);

	if (r < 0)
		return refuse(
			why, why_bytes, "the cgroup of its process %d: %s", pid, strerror(-r));
	for (int i = 0; i < ALONE_ROUNDS; i++) {
		c.stranger = 0;
		cgroup_each(&cg, meet_all, &c);
		if (!c.stranger)
			break;
		nanosleep(&pause, NULL);
	}
	cgroup_close(&cg);
	if (!c.stranger)
		return 0;
	refuse(why, why_bytes,
		"its cgroup %s holds others too, process %d among them: give the container a "
		"cgroup of its own (cgroupsPath, --cgroups=enabled)",
		cg.path, c.stranger);
	return -EPERM;
}

/* --- all of it */

static int check_mounts(const struct ocimounts *m, pid_t pid, char *why, size_t why_bytes)
{
	if (m->what)
		refuse(why, why_bytes,
			"it %s %s of the host, and with it %s: %s, or let the hook "
			"have `--accept mounts`",
			m->is_in_reach_read_only ? "has" : "can write to", m->path, m->what,
			m->is_in_reach_read_only ? "leave it out (read-only does not close it)"
						 : "mount it read-only");
	else if (m->settings && has_host_root(pid))
		refuse(why, why_bytes,
			"its root can write to %s, where the host can be told to run a program: "
			"mount it read-only (`ro` for /sys, linux.readonlyPaths for /proc/sys), or "
			"let the hook have `--accept mounts`",
			m->settings);
	else
		return 0;
	return -EPERM;
}

/* Where it has only a root folder of its own, chroot(2) leads out of that. */
static int check_root(const struct ociguard_facts *f, char *why, size_t why_bytes)
{
	if (f->has_new_mntns)
		return 0;
	refuse(why, why_bytes,
		"it has no mount namespace of its own, and could leave its root folder: give it "
		"one, or let the hook have `--accept mounts`");
	return -EPERM;
}

int ociguard_check(const struct ociguard_facts *facts, pid_t pid, const char *pod_uid,
	const struct ociguard_accept *accept, char *why, size_t why_bytes)
{
	int r = check_caps(facts, pid, accept->caps, why, why_bytes);

	if (r >= 0 && !accept->mounts)
		r = check_root(facts, why, why_bytes);
	if (r >= 0 && !accept->mounts)
		r = check_mounts(&facts->mounts, pid, why, why_bytes);
	if (r >= 0 && facts->has_disks && !accept->devices) {
		refuse(why, why_bytes,
			"its device rules open every disk of the host for writing: leave that rule "
			"out, or let the hook have `--accept devices`");
		r = -EPERM;
	}
	if (r >= 0 && !accept->processes)
		r = check_processes(pid, pod_uid, why, why_bytes);
	return r < 0 ? r : check_cgroup(pid, why, why_bytes);
}
