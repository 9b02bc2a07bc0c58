/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of cgroup2's controllers (Documentation/admin-guide/cgroup-v2.rst). A controller has to be
 * handed on by every cgroup above ours: cgroup.subtree_control of the root and of `nej`.
 */
#include "resources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../kernel/probe.h"

#define PERIOD_US 100000u
#define MAX_FILE_BYTES 4096

static const struct controller {
	enum limit limit;
	const char *name;
} controllers[] = {
	{LIMIT_MEMORY, "memory"},
	{LIMIT_PIDS, "pids"},
	{LIMIT_CPUS, "cpu"},
};

/* --- handing on */

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') &&
			(!at[len] || at[len] == ' ' || at[len] == '\n'))
			return true;
	return false;
}

static bool is_listed(const char *dir, const char *file, const char *controller)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX + 32];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return file_read(path, MAX_FILE_BYTES, &text, &len) >= 0 && has_word(text, controller);
}

static int hand_on(const char *dir, const char *controller)
{
	char path[PATH_MAX + 32], word[32];

	if (is_listed(dir, "cgroup.subtree_control", controller))
		return 0;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	snprintf(word, sizeof(word), "+%s", controller);
	return file_put(path, word);
}

static int open_controller(const struct cgroup *cg, const struct controller *c, char *why)
{
	char root[PATH_MAX], above[PATH_MAX];
	int r = probe_cgroup2(root, sizeof(root));

	if (r >= 0 && !is_listed(root, "cgroup.controllers", c->name)) {
		snprintf(why, RESOURCES_WHY_BYTES,
			"--%s needs the cgroup2 controller `%s`, which %.200s does not have: it is "
			"bound to a cgroup1 hierarchy (boot with systemd.unified_cgroup_hierarchy=1"
			"), switched off in the kernel, or not delegated to this container",
			limit_word(c->limit), c->name, root);
		return -EOPNOTSUPP;
	}
	snprintf(above, sizeof(above), "%s", cg->path);
	*strrchr(above, '/') = 0;
	if (r >= 0)
		r = hand_on(root, c->name);
	if (r >= 0)
		r = hand_on(above, c->name);
	if (r >= 0)
		return 0;
	snprintf(why, RESOURCES_WHY_BYTES,
		"--%s needs the cgroup2 controller `%s`, and %.200s does not hand it on: %s%s",
		limit_word(c->limit), c->name, root, strerror(-r),
		r == -EBUSY ? " (processes are in it: move them into a cgroup below)" : "");
	return -EOPNOTSUPP;
}

/* --- values */

static int put(const struct cgroup *cg, const char *file, const char *value)
{
	_cleanup_close_ int fd = openat(cg->fd, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* Swap would let it use more than was said, and slowly; out of memory ends all of it, not one process
 * of which the others know nothing. Kernels without swap accounting have no such file. */
static int set_memory(const struct cgroup *cg, uint64_t bytes)
{
	char text[32];
	int r;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	r = put(cg, "memory.max", text);
	if (r < 0)
		return r;
	r = put(cg, "memory.swap.max", "0");
	if (r < 0 && r != -ENOENT)
		return r;
	return put(cg, "memory.oom.group", "1");
}

static int set_value(const struct cgroup *cg, enum limit which, uint64_t value)
{
	char text[64];

	if (which == LIMIT_MEMORY)
		return set_memory(cg, value);
	if (which == LIMIT_PIDS)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	else
		snprintf(text, sizeof(text), "%llu %u",
			(unsigned long long)(value * PERIOD_US / 1000), PERIOD_US);
	return put(cg, which == LIMIT_PIDS ? "pids.max" : "cpu.max", text);
}

int resources_set(const struct cgroup *cg, const uint64_t limits[static LIMIT_COUNT],
	char why[static RESOURCES_WHY_BYTES])
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		const struct controller *c = &controllers[i];
		int r = limits[c->limit] ? open_controller(cg, c, why) : 0;

		if (r < 0)
			return r;
		r = limits[c->limit] ? set_value(cg, c->limit, limits[c->limit]) : 0;
		if (r < 0) {
			snprintf(why, RESOURCES_WHY_BYTES, "--%s cannot be set: %s",
				limit_word(c->limit), strerror(-r));
			return -EOPNOTSUPP;
		}
	}
	return 0;
}

/* --- what became of it */

static uint64_t read_event(const struct cgroup *cg, const char *file, const char *key)
{
	_cleanup_close_ int fd = openat(cg->fd, file, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t len;
	char *at;

	if (fd < 0 || file_read_fd(fd, MAX_FILE_BYTES, &text, &len) < 0)
		return 0;
	at = strncmp(text, key, strlen(key)) == 0 ? text : strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void resources_events(const struct cgroup *cg, struct resources_events *ret)
{
	ret->n_oom_kills = read_event(cg, "memory.events", "oom_kill ");
	ret->n_pids_refused = read_event(cg, "pids.events", "max ");
}

void resources_available(char *ret, size_t bytes)
{
	char root[PATH_MAX];
	size_t at = 0;

	*ret = 0;
	if (probe_cgroup2(root, sizeof(root)) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(controllers) && at < bytes; i++)
		if (is_listed(root, "cgroup.controllers", controllers[i].name))
			at += (size_t)snprintf(
				ret + at, bytes - at, "%s%s", at ? " " : "", controllers[i].name);
}
