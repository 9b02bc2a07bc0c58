/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the folder of a gateway's sandboxes; see tenants.h. */
#include "tenants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/htab.h"
#include "../base/log.h"
#include "../tls/hmac.h"

#define MAX_SECRET_BYTES 4096
#define MIN_PASSWORD_BYTES 16
#define HASH_PREFIX "sha256:"

/* --- one file */

/* What tells that a file is another one now. Never 0. */
static uint64_t mark_of(const struct stat *st)
{
	const uint64_t parts[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec, st->st_mode,
		st->st_uid};
	uint64_t mark = hash_bytes(parts, sizeof(parts));

	return mark ? mark : 1;
}

static bool is_ours(const struct stat *st, mode_t forbidden)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & forbidden);
}

bool tenants_is_name(const char *s, size_t len_bytes)
{
	if (!len_bytes || len_bytes >= TENANT_NAME_BYTES || *s == '-' || *s == '.')
		return false;
	for (size_t i = 0; i < len_bytes; i++) {
		char c = s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_' || c == '.'))
			return false;
	}
	return true;
}

static bool is_hash(const char *s, size_t len)
{
	if (len != TENANT_HASH_BYTES - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return true;
}

int tenants_read_secret(const char *text, size_t len_bytes, char ret[static TENANT_HASH_BYTES],
	const char **ret_why)
{
	size_t n_prefix = sizeof(HASH_PREFIX) - 1;

	while (len_bytes && (text[len_bytes - 1] == '\n' || text[len_bytes - 1] == '\r'))
		len_bytes--;
	if (len_bytes > n_prefix && !memcmp(text, HASH_PREFIX, n_prefix)) {
		if (!is_hash(text + n_prefix, len_bytes - n_prefix)) {
			*ret_why = "behind `sha256:` stand 64 hexadecimal digits in lower case";
			return -EINVAL;
		}
		memcpy(ret, text + n_prefix, len_bytes - n_prefix);
		ret[len_bytes - n_prefix] = 0;
		return 0;
	}
	for (size_t i = 0; i < len_bytes; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
			*ret_why = "it has more than one line";
			return -EINVAL;
		}
	if (len_bytes < MIN_PASSWORD_BYTES) {
		*ret_why = "a password has at least 16 bytes: openssl rand -hex 32";
		return -EINVAL;
	}
	*ret_why = "it cannot be hashed";
	return hmac_hash(text, len_bytes, ret);
}

/* --- a sandbox's files */

static void refuse_secret(struct tenant *t, const char *path, const char *why)
{
	log_error("sandbox=%s: nobody can be it: %s: %s", t->name, path, why);
	t->hash[0] = 0;
}

static void load_secret(struct tenant *t, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_free_ char *text = NULL;
	const char *why = NULL;
	struct stat st;
	size_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0) {
		refuse_secret(t, path, strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode) || !is_ours(&st, 077)) {
		refuse_secret(t, path, "it must be a file of root's that nobody else may read");
		return;
	}
	r = file_read_fd(fd, MAX_SECRET_BYTES, &text, &len);
	if (r < 0) {
		refuse_secret(t, path, strerror(-r));
		return;
	}
	if (tenants_read_secret(text, len, t->hash, &why) < 0)
		refuse_secret(t, path, why);
	explicit_bzero(text, len);
}

/* Another policy, or none, is in force. */
static void set_policy(struct tenants *all, struct tenant *t, struct policy *policy)
{
	if (t->old_generation)
		all->on_forget(all->arg, t->old_generation);
	policy_free(t->old);
	t->old = t->policy;
	t->old_generation = t->generation;
	t->policy = policy;
	t->generation = ++all->generation;
}

/* True when that is news. */
static bool refuse_policy(struct tenants *all, struct tenant *t, const char *why)
{
	if (t->generation && !t->policy && strcmp(t->why, why) == 0)
		return false;
	set_policy(all, t, NULL);
	snprintf(t->why, sizeof(t->why), "%s", why);
	log_error("sandbox=%s refused until mended: %s: %s", t->name, t->path, t->why);
	return true;
}

static bool load_policy(struct tenants *all, struct tenant *t, const struct stat *st)
{
	static struct err_list errs;
	struct policy *policy = NULL;
	char why[sizeof(t->why)];
	int r;

	if (!S_ISREG(st->st_mode) || !is_ours(st, 022))
		return refuse_policy(all, t, "others than root could change it");
	err_init(&errs, t->path);
	r = policy_load(t->path, &errs, &policy);
	if (r < 0) {
		snprintf(why, sizeof(why), "%s", strerror(-r));
		if (r == -EINVAL && errs.n_errors)
			snprintf(why, sizeof(why), "line %u: %s", errs.items[0].line,
				errs.items[0].what);
		return refuse_policy(all, t, why);
	}
	set_policy(all, t, policy);
	t->why[0] = 0;
	log_notice("sandbox=%s policy=%s sha256=%s", t->name, t->path, policy_sha256(policy));
	return true;
}

/* The policy, and the files it names. */
static uint64_t mark_policy(const struct tenants *all, const struct tenant *t, struct stat *ret_st)
{
	uint64_t marks[2] = {0, 0};
	const char *file;

	if (stat(t->path, ret_st) < 0)
		return 0;
	marks[0] = mark_of(ret_st);
	for (size_t i = 0; t->policy && (file = policy_list_path(t->policy, i)); i++) {
		char path[8192];
		struct stat st;

		snprintf(path, sizeof(path), "%s%s%s", *file == '/' ? "" : all->dir,
			*file == '/' ? "" : "/", file);
		marks[1] = stat(path, &st) < 0 ? i : mark_of(&st);
		marks[0] = hash_bytes(marks, sizeof(marks));
	}
	return marks[0];
}

/* One that could not be used is tried at every look: what it names may have come. */
static bool look_at_policy(struct tenants *all, struct tenant *t)
{
	struct stat st;
	uint64_t mark = mark_policy(all, t, &st);
	bool is_news = false;

	t->is_seen = mark != 0;
	if (!mark || (mark == t->policy_mark && t->policy))
		return false;
	is_news = load_policy(all, t, &st);
	t->policy_mark = mark_policy(all, t, &st); /* with the files it names now */
	return is_news;
}

static void look_at(struct tenants *all, struct tenant *t)
{
	bool is_new = !t->generation, is_news = look_at_policy(all, t);
	char path[4096 + 16];
	struct stat st;
	uint64_t mark;

	if (!t->is_seen)
		return;
	snprintf(path, sizeof(path), "%s/%s.secret", all->dir, t->name);
	mark = stat(path, &st) < 0 ? 0 : mark_of(&st);
	if (mark != t->secret_mark || is_new) {
		load_secret(t, path);
		t->secret_mark = mark;
		is_news = true;
	}
	if (is_news)
		all->on_change(all->arg, t);
}

/* --- the folder */

static struct tenant *find_or_add(struct tenants *all, const char *name, size_t len)
{
	struct tenant *t;

	for (t = all->first; t; t = t->next)
		if (strlen(t->name) == len && !memcmp(t->name, name, len))
			return t;
	if (all->n >= TENANTS_MAX) {
		if (!all->is_full_told)
			log_error("more than %d sandboxes: the rest is not served", TENANTS_MAX);
		all->is_full_told = true;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	memcpy(t->name, name, len);
	snprintf(t->path, sizeof(t->path), "%s/%s.yaml", all->dir, t->name);
	t->next = all->first;
	all->first = t;
	all->n++;
	return t;
}

static void see(struct tenants *all, const char *file)
{
	static const char ending[] = ".yaml";
	size_t len = strlen(file), n = sizeof(ending) - 1;
	struct tenant *t;

	if (len <= n || strcmp(file + len - n, ending) != 0 || !tenants_is_name(file, len - n))
		return;
	t = find_or_add(all, file, len - n);
	if (t)
		t->is_seen = true;
}

static void tenant_free(struct tenant *t)
{
	policy_free(t->policy);
	policy_free(t->old);
	explicit_bzero(t->hash, sizeof(t->hash));
	free(t);
}

static void drop_gone(struct tenants *all)
{
	struct tenant **at = &all->first;

	while (*at) {
		struct tenant *t = *at;

		if (t->is_seen) {
			at = &t->next;
			continue;
		}
		log_notice("sandbox=%s: gone", t->name);
		if (t->generation)
			all->on_gone(all->arg, t);
		all->on_forget(all->arg, t->generation);
		all->on_forget(all->arg, t->old_generation);
		*at = t->next;
		all->n--;
		tenant_free(t);
	}
}

/* Nobody's policy can be known: all are refused. */
static int refuse_all(struct tenants *all, int error)
{
	for (struct tenant *t = all->first; t; t = t->next)
		if (refuse_policy(all, t,
			    error == -EPERM ? "others than root could change its folder"
					    : strerror(-error)))
			all->on_change(all->arg, t);
	return error;
}

DEFINE_CLEANUP(DIR, closedir);

int tenants_scan(struct tenants *all)
{
	_cleanup_(closedir_ptr)
	DIR *dir = opendir(all->dir);
	struct dirent *e;
	struct stat st;

	if (!dir || fstat(dirfd(dir), &st) < 0)
		return refuse_all(all, -errno);
	if (!is_ours(&st, 022))
		return refuse_all(all, -EPERM);
	for (struct tenant *t = all->first; t; t = t->next)
		t->is_seen = false;
	while ((e = readdir(dir)))
		see(all, e->d_name);
	for (struct tenant *t = all->first; t; t = t->next)
		if (t->is_seen)
			look_at(all, t);
	drop_gone(all);
	return 0;
}

const struct policy *tenants_policy(const struct tenants *all, uint32_t generation)
{
	for (struct tenant *t = all->first; t; t = t->next) {
		if (generation == t->generation)
			return t->policy;
		if (generation == t->old_generation)
			return t->old;
	}
	return NULL;
}

void tenants_free(struct tenants *all)
{
	while (all->first) {
		struct tenant *t = all->first;

		all->first = t->next;
		tenant_free(t);
	}
	all->n = 0;
}
