/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: what may be written is bound to a place aside; folders for what is temporary get
 * a file system of their own; every mount becomes read-only; then what was put aside is bound back where
 * it was, writable. Links, /proc/PID/root and renames lead to mounts that are read-only, hard links do
 * not cross mounts. Last, credentials are covered, also those inside of the workspace: a mount point can
 * be neither removed nor renamed from inside.
 */
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "mounts.h"

/* What programs write everywhere, and nobody else needs to see. */
static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/shm"};

/* Below the user's home: keys, tokens, cookies, and histories, in which passwords are typed. */
static const char *const credentials[] = {".ssh", ".gnupg", ".pki", ".netrc", ".authinfo",
	".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub",
	".config/glab-cli", ".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".oci",
	".config/rclone", ".config/doctl", ".config/hcloud", ".kube", ".docker/config.json",
	".config/containers/auth.json", ".config/helm", ".npmrc", ".yarnrc.yml", ".pypirc",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".gradle/gradle.properties", ".composer/auth.json", ".nuget/NuGet", ".terraform.d",
	".terraformrc", ".vault-token", ".config/op", ".password-store", ".local/share/keyrings",
	".local/share/kwalletd", ".pgpass", ".my.cnf", ".mylogin.cnf", ".config/sops",
	".config/age", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	".config/microsoft-edge", ".config/opera", ".config/vivaldi", ".mozilla", ".thunderbird",
	".cache/mozilla", ".cache/google-chrome", ".cache/chromium", "snap/firefox",
	"snap/chromium", ".var/app", ".bash_history", ".zsh_history",
	".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history",
	".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst"};

/* --- what was asked for */

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, WORKSPACE_WHY_BYTES, fmt, args);
	va_end(args);
	return -EINVAL;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (!path[len] || path[len] == '/');
}

/* Mounts of the kernel's, and folders that are the sandbox's own or hidden from it. */
static bool is_out_of_question(const char *path)
{
	static const char *const dirs[] = {"/proc", "/sys", "/dev", "/run"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (is_below(path, dirs[i]))
			return true;
	return strcmp(path, "/") == 0;
}

static int add_path(char **list, size_t *n, const char *asked, const char *option, char *why)
{
	char *path;

	if (*n == WORKSPACE_MAX_PATHS)
		return refuse(why, "at most %d paths of %s", WORKSPACE_MAX_PATHS - 1, option);
	path = realpath(asked, NULL);
	if (!path)
		return errno == ENOMEM
			? -ENOMEM
			: refuse(why, "%s %.200s: %s", option, asked, strerror(errno));
	list[(*n)++] = path;
	return 0;
}

static int add_writable(struct workspace *w, const char *asked, const char *option, char *why)
{
	int r = add_path(w->writable, &w->n_writable, asked, option, why);

	if (r < 0)
		return r;
	if (is_out_of_question(w->writable[w->n_writable - 1]))
		return refuse(why, "%s %.200s: name a folder that is for the command's work alone",
			option, w->writable[w->n_writable - 1]);
	return 0;
}

static int check_workspace(const char *path, const struct identity *id, char *why)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return refuse(why, "--workspace %.200s is no folder", path);
	if (st.st_uid != id->uid && !(st.st_gid == id->gid && st.st_mode & S_IWGRP) &&
		!(st.st_mode & S_IWOTH))
		return refuse(why,
			"--workspace %.200s: the sandbox's user %s may not write there (chown it, "
			"or "
			"choose the user with -u)",
			path, id->name);
	return 0;
}

int workspace_resolve(const struct workspace_ask *ask, const struct identity *id,
	struct workspace *ret, char why[static WORKSPACE_WHY_BYTES])
{
	int r = add_writable(ret, ask->dir, "--workspace", why);

	if (r >= 0)
		r = check_workspace(ret->writable[0], id, why);
	for (size_t i = 0; i < ask->n_writable && r >= 0; i++)
		r = add_writable(ret, ask->writable[i], "--write", why);
	for (size_t i = 0; i < ask->n_readable && r >= 0; i++)
		r = add_path(ret->readable, &ret->n_readable, ask->readable[i], "--read", why);
	return r;
}

void workspace_done(struct workspace *w)
{
	for (size_t i = 0; i < w->n_writable; i++)
		free(w->writable[i]);
	for (size_t i = 0; i < w->n_readable; i++)
		free(w->readable[i]);
	*w = (struct workspace){0};
}

/* --- mounts */

struct mounting {
	const struct workspace *w;
	const char *own_dir;
	char *what;
	size_t what_bytes;
};

static int failed(struct mounting *m, int err, const char *what)
{
	snprintf(m->what, m->what_bytes, "%s", what);
	return err;
}

static void aside_path(const struct mounting *m, size_t i, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/aside-%zu", m->own_dir, i);
}

/* A folder for a folder, a file for a file. */
static int make_like(const char *path, bool is_dir)
{
	int fd;

	if (is_dir)
		return file_mkdirs(path, 0755);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int put_aside(struct mounting *m)
{
	for (size_t i = 0; i < m->w->n_writable; i++) {
		const char *path = m->w->writable[i];
		char aside[PATH_MAX];
		struct stat st;
		int r;

		aside_path(m, i, aside);
		r = stat(path, &st) < 0 ? -errno : make_like(aside, S_ISDIR(st.st_mode));
		if (r >= 0 && mount(path, aside, NULL, MS_BIND | MS_REC, NULL) < 0)
			r = -errno;
		if (r < 0)
			return failed(m, r, path);
	}
	return 0;
}

static int make_temporary(struct mounting *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(temporary); i++) {
		struct stat st;

		if (lstat(temporary[i], &st) < 0 || !S_ISDIR(st.st_mode))
			continue; /* a link leads to one of the others, or to what is read-only */
		if (mount("nej", temporary[i], "tmpfs", MS_NOSUID | MS_NODEV,
			    "mode=1777,size=50%") < 0)
			return failed(m, -errno, temporary[i]);
	}
	return 0;
}

static bool stays_writable(const struct mounting *m, const struct mount_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(temporary); i++)
		if (strcmp(row->target, temporary[i]) == 0 && strcmp(row->type, "tmpfs") == 0)
			return true;
	return is_below(row->target, m->own_dir) || strcmp(row->type, "devpts") == 0 ||
		is_below(row->target, "/proc");
}

static int make_read_only(void *arg, const struct mount_row *row)
{
	struct mounting *m = arg;
	int r = stays_writable(m, row) ? 0 : mounts_remount(row, MS_RDONLY);

	return r < 0 ? failed(m, r, row->target) : 0;
}

/* Whatever the kernel answered: a mount that can still be written to is a way out. */
static int check_read_only(void *arg, const struct mount_row *row)
{
	struct mounting *m = arg;
	struct statvfs st;

	if (stays_writable(m, row) || statvfs(row->target, &st) < 0 || st.f_flag & ST_RDONLY)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(temporary); i++)
		if (strcmp(row->target, temporary[i]) == 0)
			return 0; /* beneath ours */
	return failed(m, -EROFS, row->target);
}

/* Its mounts, and those inside of it, come back as they were. */
static int bind_back(struct mounting *m, size_t i)
{
	const char *path = m->w->writable[i];
	char aside[PATH_MAX];
	struct stat st;
	int r;

	aside_path(m, i, aside);
	r = stat(aside, &st) < 0 ? -errno : 0;
	/* beneath a new /tmp it is not there any more */
	if (r >= 0 && access(path, F_OK) < 0)
		r = make_like(path, S_ISDIR(st.st_mode));
	if (r >= 0 && mount(aside, path, NULL, MS_BIND | MS_REC, NULL) < 0)
		r = -errno;
	if (r < 0)
		return failed(m, r, path);
	return umount2(aside, MNT_DETACH) < 0 ? failed(m, -errno, aside) : 0;
}

/* --- credentials */

/* Named itself, or a folder above it, or something inside of it. */
static bool is_named(const struct workspace *w, const char *path)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return true; /* it is not there */
	for (size_t i = 0; i < w->n_readable; i++)
		if (is_below(real, w->readable[i]) || is_below(w->readable[i], real))
			return true;
	return false;
}

static int hide_credentials(struct mounting *m, const struct identity *id,
	int (*hide)(void *arg, const char *path), void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
		char path[PATH_MAX];
		int r;

		snprintf(path, sizeof(path), "%s/%s", id->home, credentials[i]);
		if (is_named(m->w, path))
			continue;
		r = hide(arg, path);
		if (r < 0)
			return failed(m, r, path);
	}
	return 0;
}

int workspace_mount(const struct workspace *w, const struct identity *id, const char *own_dir,
	int (*hide)(void *arg, const char *path), void *arg, char *ret_what, size_t what_bytes)
{
	struct mounting m = {
		.w = w, .own_dir = own_dir, .what = ret_what, .what_bytes = what_bytes};
	int r = put_aside(&m);

	if (r >= 0)
		r = make_temporary(&m);
	if (r >= 0)
		r = mounts_each(make_read_only, &m);
	if (r >= 0)
		r = mounts_each(check_read_only, &m);
	for (size_t i = 0; i < w->n_writable && r >= 0; i++)
		r = bind_back(&m, i);
	return r < 0 ? r : hide_credentials(&m, id, hide, arg);
}

/* --- Landlock */

#define RIGHT_REFER (1ull << 13)
#define RIGHT_TRUNCATE (1ull << 14)
#define RIGHTS_OF_FILES (LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)
#define RIGHTS                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                    \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                      \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | RIGHT_REFER |        \
		RIGHT_TRUNCATE)

/* What is not there needs no rule. A rule of a file takes no rights of folders. */
static int open_below(int ruleset, const char *path, uint64_t rights)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= RIGHTS_OF_FILES;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		? -errno
		: 0;
}

static int open_all(const struct workspace *w, const char *own_dir, int ruleset, uint64_t rights)
{
	static const char *const devices[] = {"/dev", "/proc"};
	int r = open_below(ruleset, own_dir, rights);

	for (size_t i = 0; i < w->n_writable && r >= 0; i++)
		r = open_below(ruleset, w->writable[i], rights);
	for (size_t i = 0; i < ARRAY_SIZE(temporary) && r >= 0; i++)
		r = open_below(ruleset, temporary[i], rights);
	for (size_t i = 0; i < ARRAY_SIZE(devices) && r >= 0; i++)
		r = open_below(ruleset, devices[i], rights & RIGHTS_OF_FILES);
	return r;
}

/* Version 1 forbids every rename between folders, which git lives by: the mounts hold alone there. */
int workspace_restrict(const struct workspace *w, const char *own_dir)
{
	int version =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = {.handled_access_fs = RIGHTS};
	_cleanup_close_ int fd = -1;
	int r;

	if (version < 2)
		return 0;
	if (version < 3)
		attr.handled_access_fs &= ~RIGHT_TRUNCATE;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (fd < 0)
		return -errno;
	r = open_all(w, own_dir, fd, attr.handled_access_fs);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}
