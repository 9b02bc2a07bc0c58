/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a configuration, looks at a process, and says what is wrong with either; see ociguard.h. */
#include "ociguard.h"

#include <cap-ng.h>
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
#include "cgroup.h"
#include "netns.h"

#define BIT(n) (UINT64_C(1) << (n))
#define ALONE_ROUNDS 50
#define ROUND_MS 10

/* With these, in the host's user namespace, a container is the host's root under another name. */
#define CAPS_OF_HOST                                                                               \
	(BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_MODULE) | BIT(CAP_SYS_RAWIO) |                           \
		BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_BPF))
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
		if (strcmp(at, "mounts") == 0) {
			ret->mounts = true;
			continue;
		}
		cap = capng_name_to_capability(at);
		if (cap < 0)
			return refuse(why, why_bytes,
				"`%.32s` is neither a capability (NET_RAW) nor `mounts`", at);
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

static bool has_namespace(const json_t *config, const char *type)
{
	size_t i;
	json_t *value;

	json_array_foreach(
		json_object_get(json_object_get(config, "linux"), "namespaces"), i, value)
	{
		const char *text = json_string_value(json_object_get(value, "type"));

		if (text && strcmp(text, type) == 0)
			return true;
	}
	return false;
}

/* Is one of the two the other, or below it? */
static bool do_overlap(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), min = n < m ? n : m;

	if (strcmp(a, "/") == 0 || strcmp(b, "/") == 0)
		return true;
	return strncmp(a, b, min) == 0 && (n == m || (n < m ? b : a)[min] == '/');
}

/* What a folder of the host would give away to whoever can write there; NULL: nothing of ours. */
static const char *find_treasure(const char *folder)
{
	static const struct {
		const char *path, *what;
	} ours[] = {
		{"/run/nej", "nej's control sockets"},
		{"/sys/fs/bpf", "nej's programs and maps"},
		{"/sys/fs/cgroup", "the host's cgroups"},
		{"/etc/nej", "the policies"},
		{"/var/log/nej", "nej's audit logs"},
		{"/proc", "the host's kernel settings and processes"},
	};
	char real[PATH_MAX];

	/* One that is not there yet is judged by its letters: its runtime may make it. */
	if (!realpath(folder, real))
		snprintf(real, sizeof(real), "%s", folder);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (do_overlap(real, ours[i].path))
			return ours[i].what;
	return NULL;
}

static void judge_folder(struct ociguard_facts *f, const char *path)
{
	const char *what = f->why_exposed ? NULL : find_treasure(path);

	if (!what)
		return;
	f->why_exposed = what;
	snprintf(f->exposed, sizeof(f->exposed), "%s", path);
}

static bool has_option(const json_t *mount, const char *const *words)
{
	size_t i;
	json_t *value;

	json_array_foreach(json_object_get(mount, "options"), i, value)
	{
		const char *text = json_string_value(value);

		for (const char *const *word = words; text && *word; word++)
			if (strcmp(text, *word) == 0)
				return true;
	}
	return false;
}

static void read_mounts(const json_t *config, struct ociguard_facts *f)
{
	static const char *const binds[] = {"bind", "rbind", NULL};
	static const char *const read_only[] = {"ro", "rro", NULL};
	size_t i;
	json_t *mount;

	json_array_foreach(json_object_get(config, "mounts"), i, mount)
	{
		const char *source = json_string_value(json_object_get(mount, "source"));
		const char *type = json_string_value(json_object_get(mount, "type"));

		if (!type)
			type = "";
		if (has_option(mount, read_only))
			continue;
		/* Seen from the host's cgroup namespace it is the host's hierarchy. */
		if (strncmp(type, "cgroup", 6) == 0 && !f->has_own_cgroup_ns)
			judge_folder(f, "/sys/fs/cgroup");
		else if (source && source[0] == '/' &&
			(strcmp(type, "bind") == 0 || has_option(mount, binds)))
			judge_folder(f, source);
	}
}

static void read_root(const json_t *config, const char *bundle, struct ociguard_facts *f)
{
	const json_t *root = json_object_get(config, "root");
	const char *path = json_string_value(json_object_get(root, "path"));
	char full[PATH_MAX];

	if (!path || json_is_true(json_object_get(root, "readonly")))
		return;
	if (snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : bundle,
		    *path == '/' ? "" : "/", path) < (int)sizeof(full))
		judge_folder(f, full);
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
	ret->has_own_cgroup_ns = has_namespace(config, "cgroup");
	read_mounts(config, ret);
	read_root(config, bundle, ret);
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

static bool has_network(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	if (shares(pid, "net"))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || netns_is_alone(fd) <= 0;
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

	if (caps & CAPS_OF_HOST && shares(pid, "user"))
		return refuse_cap(caps & CAPS_OF_HOST,
			"by which it could take nej's programs away, as privileged containers can",
			why, why_bytes);
	if (caps & CAPS_OF_PROCESSES && shares(pid, "pid") && shares(pid, "user"))
		return refuse_cap(caps & CAPS_OF_PROCESSES,
			"by which it could act as any process of the host, whose processes it sees",
			why, why_bytes);
	if (caps & CAPS_OF_NET && has_network(pid))
		return refuse_cap(caps & CAPS_OF_NET,
			"by which it could send packets past every hook of sockets on a network "
			"that has devices",
			why, why_bytes);
	return 0;
}

struct crowd {
	pid_t pid;
	pid_t stranger; /* in the cgroup, and not of the container; 0: none */
	bool has_own_pid_ns;
};

static bool is_same_pid_ns(pid_t a, pid_t b)
{
	char path[2][64];
	struct stat st[2];

	snprintf(path[0], sizeof(path[0]), "/proc/%d/ns/pid", a);
	snprintf(path[1], sizeof(path[1]), "/proc/%d/ns/pid", b);
	return stat(path[0], &st[0]) == 0 && stat(path[1], &st[1]) == 0 &&
		st[0].st_ino == st[1].st_ino;
}

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
		"cgroup "
		"of its own (cgroupsPath, --cgroups=enabled)",
		cg.path, c.stranger);
	return -EPERM;
}

int ociguard_check(const struct ociguard_facts *facts, pid_t pid,
	const struct ociguard_accept *accept, char *why, size_t why_bytes)
{
	int r = check_caps(facts, pid, accept->caps, why, why_bytes);

	if (r < 0)
		return r;
	if (facts->why_exposed && !accept->mounts) {
		refuse(why, why_bytes,
			"it can write to %s of the host, and with it to %s: mount it read-only, or "
			"let the hook have `--accept mounts`",
			facts->exposed, facts->why_exposed);
		return -EPERM;
	}
	return check_cgroup(pid, why, why_bytes);
}
