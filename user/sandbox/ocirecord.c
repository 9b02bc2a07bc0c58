/* SPDX-License-Identifier: GPL-2.0-only */
/* Small files, one a container; see ocirecord.h. */
#include "ocirecord.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/htab.h"

#define FOLDER STATE_ROOT "/.oci"
#define LOCK FOLDER ".lock"
#define ENDED ".ended"
#define ID_CHARS 40
#define MAX_BYTES 1024
#define FOLDER_ROUNDS 10

static void path_of(const struct ocirecord *r, const char *suffix, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, FOLDER "/%s%s", r->file, suffix);
}

static const uint64_t key[2]; /* the same in every process */

static void file_of(const struct ocistate *s, char ret[static OCIRECORD_FILE_BYTES])
{
	char both[OCISTATE_ID_BYTES + PATH_MAX];
	int n = snprintf(both, sizeof(both), "%s%c%s", s->id, '/', s->bundle);

	snprintf(ret, OCIRECORD_FILE_BYTES, "%.*s-%016llx", ID_CHARS, s->id,
		(unsigned long long)hash_bytes_keyed(key, both, (size_t)n));
}

int ocirecord_lock(bool waits)
{
	_cleanup_close_ int fd = -1;
	int e = file_mkdirs(STATE_ROOT, 0700);

	if (e < 0)
		return e;
	fd = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, waits ? LOCK_EX : LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* --- writing */

static unsigned long long hash_of(const char *policy)
{
	return (unsigned long long)hash_bytes_keyed(key, policy, strlen(policy));
}

static int put(const char *path, const char *text, size_t len)
{
	_cleanup_close_ int fd = -1;
	int e = file_mkdirs(FOLDER, 0700);

	if (e < 0)
		return e;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : file_write_fd(fd, text, len);
}

int ocirecord_begin(const struct ocistate *s, const char *name, const char *policy)
{
	char path[PATH_MAX], text[MAX_BYTES];
	struct ocirecord r;
	int n, e = -ENOENT;

	if (ocirecord_find(s, &r) == 0 && ocirecord_is_at_work(&r))
		return -EWOULDBLOCK;
	ocirecord_remove(&r);
	n = snprintf(text, sizeof(text), "%s\n%s\n%d %llu %llx\n", name, s->id, getpid(),
		(unsigned long long)state_pid_start(getpid()), hash_of(policy));
	path_of(&r, "", path);
	/* Another's last record may take the folder with it. */
	for (int i = 0; i < FOLDER_ROUNDS && e == -ENOENT; i++)
		e = put(path, text, (size_t)n);
	return e;
}

int ocirecord_mark_ended(const struct ocirecord *r)
{
	char path[PATH_MAX];
	int fd;

	path_of(r, ENDED, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void ocirecord_remove(const struct ocirecord *r)
{
	char path[PATH_MAX];

	path_of(r, ENDED, path);
	unlink(path);
	path_of(r, "", path);
	unlink(path);
	rmdir(FOLDER);
}

/* --- reading */

static int take_line(char **at, char *ret, size_t bytes)
{
	char *end = strchr(*at, '\n');

	if (!end || (size_t)(end - *at) >= bytes)
		return -EBADMSG;
	memcpy(ret, *at, (size_t)(end - *at));
	ret[end - *at] = 0;
	*at = end + 1;
	return 0;
}

/* r->file is set. */
static int read_record(struct ocirecord *r)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX], *at;
	size_t len;
	int e;

	path_of(r, "", path);
	e = file_read(path, MAX_BYTES, &text, &len);
	if (e < 0)
		return e;
	at = text;
	e = take_line(&at, r->name, sizeof(r->name));
	if (e >= 0)
		e = take_line(&at, r->container, sizeof(r->container));
	if (e >= 0 && sscanf(at, "%d %llu %llx", &r->hook, &r->hook_start, &r->policy_hash) != 3)
		e = -EBADMSG;
	path_of(r, ENDED, path);
	r->has_ended = access(path, F_OK) == 0;
	return e;
}

int ocirecord_find(const struct ocistate *s, struct ocirecord *ret)
{
	*ret = (struct ocirecord){0};
	file_of(s, ret->file);
	return read_record(ret);
}

bool ocirecord_is_at_work(const struct ocirecord *r)
{
	return r->hook > 0 && r->hook != getpid() && state_pid_start(r->hook) == r->hook_start;
}

static int is_record(const struct dirent *entry)
{
	const char *dash = strrchr(entry->d_name, '-');

	return dash && strspn(dash + 1, "0123456789abcdef") == strlen(dash + 1) &&
		strlen(entry->d_name) < OCIRECORD_FILE_BYTES;
}

int ocirecord_each(int (*visit)(void *arg, const struct ocirecord *r), void *arg)
{
	struct dirent **entries = NULL;
	int n = scandir(FOLDER, &entries, is_record, NULL), e = 0;

	for (int i = 0; i < n; i++) {
		struct ocirecord r = {0};

		snprintf(r.file, sizeof(r.file), "%.63s", entries[i]->d_name);
		free(entries[i]);
		if (!e && read_record(&r) >= 0)
			e = visit(arg, &r);
	}
	free(entries);
	return e;
}

bool ocirecord_is_by(const struct ocirecord *r, const char *policy)
{
	return r->policy_hash == hash_of(policy);
}

bool ocirecord_is_of(const struct ocirecord *r, const struct state *s)
{
	return strncmp(r->container, s->container, sizeof(s->container) - 1) == 0;
}
