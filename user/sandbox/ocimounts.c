/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares paths; looks at nothing in a container, which does not run yet. See ocimounts.h. */
#include "ocimounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/unix_paths.h"
#include "../base/cleanup.h"
#include "state.h"

struct treasure {
	const char *path, *what;
	/* connect(2), bpf(2) of a pinned object and a way through /proc/PID/root ask the mode alone */
	bool is_in_reach_read_only;
};

static const struct treasure treasures[] = {
	{STATE_ROOT, "nej's control sockets", true},
	{"/run/docker.sock", "Docker's socket", true},
	{"/run/containerd/containerd.sock", "containerd's socket", true},
	{"/run/containerd/s", "the sockets of containerd's shims", true},
	{"/run/crio/crio.sock", "CRI-O's socket", true},
	{"/run/podman", "Podman's socket", true},
	{"/run/dbus", "the sockets of the host's D-Bus", true},
	{"/run/systemd/private", "systemd's socket", true},
	{"/run/netns", "the host's network namespaces", true},
	{"/run/docker/netns", "the host's network namespaces", true},
	{"/sys/fs/bpf", "nej's programs and maps", true},
	{"/proc", "the host's processes and kernel settings", true},
	{"/sys/fs/cgroup", "the host's cgroups", false},
	{"/sys/kernel", "the host's kernel settings", false},
	{"/etc", "the policies, and what runs on the host", false},
	{"/usr/bin", "the host's programs", false},
	{"/usr/sbin", "the host's programs", false},
	{"/usr/lib", "the host's libraries", false},
	{"/usr/lib64", "the host's libraries", false},
	{"/usr/libexec", "the host's programs", false},
	{"/usr/local/bin", "the host's programs", false},
	{"/usr/local/sbin", "the host's programs", false},
	{"/usr/local/lib", "the host's libraries", false},
	{"/boot", "the host's kernel", false},
	{"/var/log/nej", "nej's audit logs", false},
};

/* --- folders of the host */

static bool is_in(const char *path, const char *folder)
{
	size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/');
}

/* Whatever the folder is in: the names by which engines and the like call their sockets. */
static const char *find_socket(const char *path)
{
	static const struct {
		const char *end, *who;
	} sockets[] = {
#define X(end, who, is_quiet) {end, who},
		NEJ_UNIX_PATHS(X)
#undef X
	};
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		size_t n = strlen(sockets[i].end);

		if (len > n && path[len - n - 1] == '/' &&
			strcmp(path + len - n, sockets[i].end) == 0)
			return sockets[i].who;
	}
	return NULL;
}

static const char *find_treasure(const char *real, bool is_read_only)
{
	char exe[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(treasures); i++)
		if ((treasures[i].is_in_reach_read_only || !is_read_only) &&
			(is_in(real, treasures[i].path) || is_in(treasures[i].path, real)))
			return treasures[i].what;
	if (!is_read_only && realpath("/proc/self/exe", exe) && is_in(exe, real))
		return "nej itself";
	return find_socket(real);
}

static void judge(struct ocimounts *m, const char *path, bool is_read_only)
{
	char real[PATH_MAX];

	/* One that is not there yet is judged by its letters: its runtime may make it. */
	if (!realpath(path, real))
		snprintf(real, sizeof(real), "%s", path);
	if (m->what)
		return;
	m->what = find_treasure(real, is_read_only);
	m->is_in_reach_read_only = m->what && find_treasure(real, true);
	if (m->what)
		snprintf(m->path, sizeof(m->path), "%s", path);
}

/* --- the configuration */

static bool has_text(const json_t *list, const char *const *words)
{
	size_t i;
	json_t *value;

	json_array_foreach(list, i, value)
	{
		const char *text = json_string_value(value);

		for (const char *const *word = words; text && *word; word++)
			if (strcmp(text, *word) == 0)
				return true;
	}
	return false;
}

/* Is /proc/sys of the container's own /proc closed, as every engine does by default? */
static bool closes_settings(const json_t *config)
{
	static const char *const paths[] = {"/proc/sys", "/proc/sys/", "/proc", "/proc/", NULL};
	const json_t *linux_part = json_object_get(config, "linux");

	return has_text(json_object_get(linux_part, "readonlyPaths"), paths) ||
		has_text(json_object_get(linux_part, "maskedPaths"), paths);
}

static void read_mount(
	const json_t *config, const json_t *mount, bool has_own_cgroup_ns, struct ocimounts *m)
{
	static const char *const binds[] = {"bind", "rbind", NULL};
	static const char *const read_only[] = {"ro", "rro", NULL};
	const json_t *options = json_object_get(mount, "options");
	const char *source = json_string_value(json_object_get(mount, "source"));
	const char *type = json_string_value(json_object_get(mount, "type"));
	bool is_read_only = has_text(options, read_only);

	if (!type)
		type = "";
	if (source && source[0] == '/' && (strcmp(type, "bind") == 0 || has_text(options, binds)))
		judge(m, source, is_read_only);
	else if (is_read_only)
		return;
	/* Seen from the host's cgroup namespace it is the host's hierarchy. */
	else if (strncmp(type, "cgroup", 6) == 0 && !has_own_cgroup_ns)
		judge(m, "/sys/fs/cgroup", false);
	else if (strcmp(type, "sysfs") == 0)
		m->settings = "/sys";
	else if (strcmp(type, "proc") == 0 && !closes_settings(config))
		m->settings = "/proc/sys";
}

static void read_root(const json_t *config, const char *bundle, struct ocimounts *m)
{
	const json_t *root = json_object_get(config, "root");
	const char *path = json_string_value(json_object_get(root, "path"));
	char full[PATH_MAX];

	if (path &&
		snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : bundle,
			*path == '/' ? "" : "/", path) < (int)sizeof(full))
		judge(m, full, json_is_true(json_object_get(root, "readonly")));
}

void ocimounts_read(
	const json_t *config, const char *bundle, bool has_own_cgroup_ns, struct ocimounts *ret)
{
	size_t i;
	json_t *mount;

	*ret = (struct ocimounts){0};
	json_array_foreach(json_object_get(config, "mounts"), i, mount)
	{
		read_mount(config, mount, has_own_cgroup_ns, ret);
	}
	read_root(config, bundle, ret);
}
