/* SPDX-License-Identifier: GPL-2.0-only */
/* Gathers roots and writes the sandbox's trust files; see anchors.h. */
#include "anchors.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../tls/bundle.h"
#include "../tls/keystore.h"
#include "environment.h"
#include "options.h"

#define MAX_BUNDLES 32

const char *const anchors_names[ANCHORS_COUNT] = {
	[ANCHORS_BUNDLE] = "bundle.pem",
	[ANCHORS_CA] = "ca.pem",
	[ANCHORS_JAVA] = "cacerts.jks",
};

/* --- roots */

static int fail(const char *path, int r)
{
	log_error("cannot take the certificates of %s: %s", path,
		r == 0 || r == -EINVAL ? "it holds none in PEM form, or one that is broken"
				       : strerror(-r));
	return SANDBOX_EXIT_USAGE;
}

/* What was taken already, so that nothing is taken twice. */
struct collecting {
	struct buf *roots;
	struct stat taken[MAX_BUNDLES];
	size_t n;
};

static bool is_taken(struct collecting *c, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (c->taken[i].st_dev == st.st_dev && c->taken[i].st_ino == st.st_ino)
			return true;
	if (c->n < MAX_BUNDLES)
		c->taken[c->n++] = st;
	return false;
}

/* One that is wrong makes the caller's own programs fail, or is for programs that take a folder. */
static void take_named(void *arg, const char *variable, const char *path)
{
	struct collecting *c = arg;

	if (!is_taken(c, path) && bundle_add_file(c->roots, path, true) < 1)
		log_warning(
			"%s names %s, which holds no certificates: passed over", variable, path);
}

int anchors_collect(const char *const *extra, size_t n_extra, struct anchors *ret)
{
	struct collecting c = {.roots = &ret->roots};
	const char *system = bundle_find_system();
	int r = 0;

	if (system && !is_taken(&c, system))
		r = bundle_add_file(&ret->roots, system, false);
	if (r < 0)
		return fail(system, r);
	environment_each_bundle(take_named, &c);
	for (size_t i = 0; i < n_extra; i++) {
		r = bundle_add_file(&ret->roots, extra[i], true);
		if (r < 1)
			return fail(extra[i], r);
	}
	if (ret->roots.len)
		return 0;
	log_error("this machine has no certificate authorities (%s and the like): install "
		  "ca-certificates, or name a file with --ca",
		bundle_system_paths[0]);
	return SANDBOX_EXIT_USAGE;
}

int anchors_roots_fd(const struct anchors *a)
{
	_cleanup_close_ int fd = memfd_create("nej-roots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, a->roots.data, a->roots.len);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* --- files */

int anchors_open(struct anchors *a, const char *sandbox)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ANCHORS_COUNT; i++) {
		state_path(sandbox, anchors_names[i], path, sizeof(path));
		/* that of a dead supervisor is still mounted in its sandbox: another file */
		unlink(path);
		a->fds[i] = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (a->fds[i] < 0 || fchmod(a->fds[i], 0644) < 0)
			return -errno;
	}
	return 0;
}

/* In place: it is mounted where it is. Whoever reads it meanwhile finds the roots, which stand first
 * and never change. */
static int rewrite(int fd, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = pwrite(fd, b->data + at, b->len - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return ftruncate(fd, (off_t)b->len) < 0 ? -errno : 0;
}

int anchors_write(struct anchors *a, const void *der, size_t der_len)
{
	_cleanup_(buf_done)
	struct buf ca = {0}, bundle = {0}, java = {0};
	int r = 0;

	if (der_len)
		r = bundle_hash_name(der, der_len, a->hash);
	if (r >= 0 && der_len)
		r = bundle_add_der(&ca, der, der_len);
	buf_add(&bundle, a->roots.data, a->roots.len);
	buf_add(&bundle, ca.data, ca.len);
	if (r >= 0)
		r = bundle.is_failed ? -ENOMEM : keystore_print(&bundle, &java);
	if (r >= 0)
		r = rewrite(a->fds[ANCHORS_BUNDLE], &bundle);
	if (r >= 0)
		r = rewrite(a->fds[ANCHORS_CA], &ca);
	if (r >= 0)
		r = rewrite(a->fds[ANCHORS_JAVA], &java);
	buf_done(&bundle);
	buf_done(&java);
	return r;
}

void anchors_done(struct anchors *a)
{
	for (size_t i = 0; i < ANCHORS_COUNT; i++)
		cleanup_close(&a->fds[i]);
	buf_done(&a->roots);
}

/* --- Java */

#define STORE "lib/security/cacerts"

/* Debian and its kin; Fedora and its kin; installations side by side, the older form too. */
static const char *const java_stores[] = {"/etc/ssl/certs/java/cacerts",
	"/etc/pki/ca-trust/extracted/java/cacerts", "/etc/pki/java/cacerts",
	"/usr/lib/jvm/*/" STORE, "/usr/lib/jvm/*/jre/" STORE, "/usr/java/*/" STORE,
	"/opt/java/*/" STORE, "/opt/java/" STORE};

static size_t take_pattern(
	const char *pattern, void (*on_path)(void *arg, const char *path), void *arg)
{
	glob_t found = {0};
	size_t n = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		for (; n < found.gl_pathc; n++)
			on_path(arg, found.gl_pathv[n]);
	globfree(&found);
	return n;
}

/* The `java` that PATH leads to: BIN/java and BIN/../lib/security/cacerts. */
static size_t take_path(void (*on_path)(void *arg, const char *path), void *arg)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX], real[PATH_MAX];

	while (path && *path) {
		size_t n = strcspn(path, ":");
		char *slash;

		snprintf(file, sizeof(file), "%.*s/java", (int)n, path);
		path += n + (path[n] == ':');
		if (!realpath(file, real) || !(slash = strrchr(real, '/')))
			continue;
		snprintf(slash, sizeof(real) - (size_t)(slash - real), "/../" STORE);
		if (access(real, F_OK) < 0)
			return 0;
		on_path(arg, real);
		return 1;
	}
	return 0;
}

size_t anchors_each_java(void (*on_path)(void *arg, const char *path), void *arg)
{
	const char *home = getenv("JAVA_HOME");
	char path[PATH_MAX];
	size_t n = take_path(on_path, arg);

	for (size_t i = 0; i < ARRAY_SIZE(java_stores); i++)
		n += take_pattern(java_stores[i], on_path, arg);
	if (home && *home) {
		snprintf(path, sizeof(path), "%s/" STORE, home);
		if (access(path, F_OK) == 0) {
			on_path(arg, path);
			n++;
		}
	}
	return n;
}
