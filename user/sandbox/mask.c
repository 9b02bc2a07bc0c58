/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mounts over what must not be found; see mask.h. Folders get an empty one, files and sockets a file
 * nobody may open: connecting to it is EACCES at once. Which sockets is sockets.c's.
 */
#include "mask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/file.h"
#include "mounts.h"
#include "shadow.h"
#include "sockets.h"

#define OWN_DIR MASK_OWN_DIR
#define EMPTY_DIR OWN_DIR "/empty"
#define NO_FILE OWN_DIR "/none"
#define MAX_FILE_BYTES (4u << 20)
#define DEFAULT_RESOLV_CONF "nameserver 127.0.0.1\n" /* any address is the stub */

/* Folders of services that resolve, connect or start processes for their callers. */
static const char *const service_dirs[] = {"/run/nscd", "/run/unscd", "/run/dbus", "/run/systemd",
	"/run/user", "/run/avahi-daemon", "/run/containerd", "/run/docker", "/run/podman",
	"/run/crio", "/run/buildkit", "/run/k3s", "/run/libvirt", "/run/incus", "/run/lxd",
	"/var/lib/lxd", "/var/lib/incus", "/var/lib/nej", "/var/log/nej"};

struct mask {
	const struct mask_plan *plan;
	char *what;
	size_t what_bytes;
};

static int failed(struct mask *m, int err, const char *what)
{
	snprintf(m->what, m->what_bytes, "%s", what);
	return err;
}

static int bind_over(const char *source, const char *target)
{
	return mount(source, target, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

/* What is not there needs no mask. */
static int hide(struct mask *m, const char *target)
{
	struct stat st;
	int r;

	if (stat(target, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP
			? 0
			: failed(m, -errno, target);
	r = bind_over(S_ISDIR(st.st_mode) ? EMPTY_DIR : NO_FILE, target);
	return r < 0 && r != -ENOENT ? failed(m, r, target) : 0;
}

static int make_file(const char *path, const void *data, size_t len_bytes, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) < 0)
		return -errno;
	return file_write_fd(fd, data, len_bytes);
}

/* A small file system over nej's state folder: masks it and holds what is mounted elsewhere. */
static int make_own_dir(struct mask *m)
{
	const struct identity *id = m->plan->id;

	if (mount("nej", OWN_DIR, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=25%") < 0)
		return failed(m, -errno, OWN_DIR);
	if (mkdir(EMPTY_DIR, 0555) < 0 || mkdir(IDENTITY_PRIVATE_HOME, 0700) < 0 ||
		chmod(EMPTY_DIR, 0555) < 0 || chown(IDENTITY_PRIVATE_HOME, id->uid, id->gid) < 0)
		return failed(m, -errno, EMPTY_DIR);
	int r = make_file(NO_FILE, "", 0, 0);

	return r < 0 ? failed(m, r, NO_FILE) : 0;
}

/* --- mounts of the kernel's own file systems */

static bool is_type(const struct mount_row *row, const char *type)
{
	return strcmp(row->type, type) == 0;
}

/* A socket that was mounted by itself was passed in from elsewhere, into a container say: whoever
 * listens does so in another network namespace, where no table we can read shows it. */
static bool is_passed_in(const struct mask *m, const struct mount_row *row)
{
	struct statx st;

	/* what is known: a file server that is away, or not mounted yet, is not asked */
	return statx(AT_FDCWD, row->target, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE,
		       &st) == 0 &&
		S_ISSOCK(st.stx_mode) && !sockets_is_open(m->plan->unix_open, row->target);
}

/* Another instance of proc would show the host's processes, whose root/ leads to unmasked files. */
static int treat_mount(void *arg, const struct mount_row *row)
{
	struct mask *m = arg;

	if (is_passed_in(m, row))
		return hide(m, row->target);
	if (is_type(row, "bpf") || (is_type(row, "proc") && strcmp(row->target, "/proc") != 0))
		return hide(m, row->target);
	if (!is_type(row, "cgroup2") && !is_type(row, "cgroup"))
		return 0;
	return mounts_remount(row, MS_RDONLY) < 0 ? hide(m, row->target) : 0;
}

static int treat_mounts(struct mask *m)
{
	int r = mounts_each(treat_mount, m);

	return r < 0 && !m->what[0] ? failed(m, r, "/proc/self/mountinfo") : r;
}

/* --- the name service's files */

/* Over a symbolic link itself, too: where it leads may be masked or not exist. */
static int bind_over_link(const char *source, const char *target)
{
	char path[64];
	_cleanup_close_ int fd = open(target, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return bind_over(source, path);
}

static int mask_resolv_conf(struct mask *m, const char *text, size_t len)
{
	static const char path[] = "/etc/resolv.conf";
	static const char copy[] = OWN_DIR "/resolv.conf";
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return 0; /* without it every resolver asks 127.0.0.1 */
	r = make_file(copy, text, len, 0644);
	if (r < 0)
		return failed(m, r, copy);
	r = bind_over_link(copy, path);
	/* A link that cannot be mounted over leads where only the stub answers, or nowhere. */
	return r < 0 && !S_ISLNK(st.st_mode) ? failed(m, r, path) : 0;
}

static int add_entry(struct mask *m, const char *path, const char *copy, const char *entry)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	struct buf b;
	int r = file_read(path, MAX_FILE_BYTES, &text, &len);

	if (r < 0)
		return r == -ENOENT ? 0 : failed(m, r, path);
	buf_init(&b);
	buf_add(&b, text, len);
	if (len && text[len - 1] != '\n')
		buf_add_char(&b, '\n');
	buf_add_str(&b, entry);
	r = b.is_failed ? -ENOMEM : make_file(copy, b.data, b.len, 0644);
	buf_done(&b);
	if (r >= 0)
		r = bind_over(copy, path);
	return r < 0 ? failed(m, r, path) : 0;
}

static int add_user(struct mask *m)
{
	const struct identity *id = m->plan->id;
	char entry[768];
	int r;

	if (!id->needs_entry)
		return 0;
	snprintf(entry, sizeof(entry), "%s:x:%u:%u:nej sandbox:%s:%s\n", id->name, id->uid, id->gid,
		id->home, id->shell);
	r = add_entry(m, "/etc/passwd", OWN_DIR "/passwd", entry);
	if (r < 0 || !id->is_own)
		return r;
	snprintf(entry, sizeof(entry), "%s:x:%u:\n", id->name, id->gid);
	return add_entry(m, "/etc/group", OWN_DIR "/group", entry);
}

/* --- all of it */

static int hide_list(struct mask *m, const char *const *paths)
{
	int r = 0;

	for (; paths && *paths && r >= 0; paths++)
		r = hide(m, *paths);
	return r;
}

static int hide_service_dirs(struct mask *m)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(service_dirs) && r >= 0; i++)
		if (!sockets_is_open_below(m->plan->unix_open, service_dirs[i]))
			r = hide(m, service_dirs[i]);
	return r;
}

static int hide_path(void *arg, const char *path)
{
	return hide(arg, path);
}

static int hide_sockets(struct mask *m)
{
	struct sockets_plan plan = {
		.unix_open = m->plan->unix_open,
		.cwd = m->plan->cwd,
		.home = m->plan->id->home,
		.uid = m->plan->id->uid,
	};

	return sockets_each(&plan, hide_path, m);
}

/* The working folder was opened before the masks: where one lies over it, it would still show what is
 * beneath. Where even root may not go again (some network file systems) no mask lies. */
static int enter_again(struct mask *m)
{
	const char *cwd = m->plan->cwd;

	if (cwd && chdir(cwd) == 0)
		return 0;
	if (cwd && errno == EACCES && strncmp(cwd, "/run/", 5) != 0 &&
		strncmp(cwd, "/var/", 5) != 0)
		return 0;
	return chdir("/") < 0 ? failed(m, -errno, "/") : 0;
}

/* Every failure is fatal: a mask that is missing is a way out. */
int mask_apply(const struct mask_plan *plan, char *ret_what, size_t what_bytes)
{
	struct mask m = {.plan = plan, .what = ret_what, .what_bytes = what_bytes};
	_cleanup_free_ char *resolv = NULL;
	size_t resolv_len = 0;
	struct shadow shadow;
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return failed(&m, -errno, "private mount propagation");
	if (file_read("/etc/resolv.conf", MAX_FILE_BYTES, &resolv, &resolv_len) < 0) {
		resolv = strdup(DEFAULT_RESOLV_CONF);
		resolv_len = resolv ? strlen(resolv) : 0;
	}
	r = resolv ? 0 : -ENOMEM;
	if (r >= 0 && plan->anchors_of)
		r = shadow_open(&shadow, plan->anchors_of);
	if (r < 0)
		return failed(&m, r, "trust files");
	r = make_own_dir(&m);
	if (r >= 0 && plan->anchors_of) {
		r = shadow_show(&shadow);
		if (r < 0)
			return failed(&m, r, ANCHORS_DIR);
	}
	if (r >= 0)
		r = hide_sockets(&m); /* reads proc: before ours covers it */
	if (r >= 0)
		r = treat_mounts(&m);
	if (r >= 0)
		r = hide_list(&m, plan->files);
	if (r >= 0)
		r = hide_service_dirs(&m);
	if (r >= 0)
		r = mask_resolv_conf(&m, resolv, resolv_len);
	if (r >= 0)
		r = add_user(&m);
	if (r >= 0 && plan->workspace)
		r = workspace_mount(
			plan->workspace, plan->id, OWN_DIR, hide_path, &m, ret_what, what_bytes);
	if (r >= 0 && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		r = failed(&m, -errno, "/proc");
	return r < 0 ? r : enter_again(&m);
}
