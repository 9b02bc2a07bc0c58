/* SPDX-License-Identifier: GPL-2.0-only */
/* Picks the users of a sandbox; see identity.h. Becoming them is confine.c's and isolate.c's. */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/num.h"
#include "state.h"

#define SLOTS_DIR STATE_ROOT "/+slots" /* `+` begins no sandbox's name */

static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a: the same slot at every start */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static int lock_slot(uint32_t slot)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), SLOTS_DIR "/%u", slot);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : TAKE_FD(fd);
}

static int take_slot(const char *sandbox, struct identity *id)
{
	uint32_t first = hash_name(sandbox) % IDENTITY_SLOTS;
	int r = file_mkdirs(SLOTS_DIR, 0700);

	for (uint32_t i = 0; r >= 0 && i < IDENTITY_SLOTS; i++) {
		uint32_t slot = (first + i) % IDENTITY_SLOTS;
		int fd = lock_slot(slot);

		if (fd < 0 && fd != -EWOULDBLOCK)
			return fd;
		if (fd >= 0) {
			id->slot_fd = fd;
			id->worker_uid = IDENTITY_WORKER_UID + slot;
			return (int)slot;
		}
	}
	return r < 0 ? r : -EUSERS;
}

/* /etc/passwd itself first: no name service is asked, and none may be there (static binary). */
static bool find_entry(const char *name, uid_t uid, struct identity *id)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw = NULL;

	while (f && (pw = fgetpwent(f)))
		if (name ? strcmp(pw->pw_name, name) == 0 : pw->pw_uid == uid)
			break;
	id->needs_entry = !pw;
	if (!pw)
		pw = name ? getpwnam(name) : getpwuid(uid);
	if (!pw)
		return false;
	id->uid = pw->pw_uid;
	id->gid = pw->pw_gid;
	snprintf(id->name, sizeof(id->name), "%s", pw->pw_name);
	snprintf(id->home, sizeof(id->home), "%s", pw->pw_dir);
	snprintf(id->shell, sizeof(id->shell), "%s", pw->pw_shell);
	return true;
}

static void make_own(uint32_t uid, struct identity *id)
{
	id->uid = uid;
	id->gid = uid;
	id->needs_entry = true;
	snprintf(id->name, sizeof(id->name), "nej-%u", uid);
	snprintf(id->home, sizeof(id->home), IDENTITY_PRIVATE_HOME);
	snprintf(id->shell, sizeof(id->shell), "/bin/sh");
}

static int find_user(const char *user, struct identity *id, char *why, size_t why_bytes)
{
	uint64_t uid;

	if (find_entry(user, 0, id))
		return 0;
	if (num_parse_u64(user, strlen(user), UINT32_MAX - 1, &uid) < 0) {
		snprintf(why, why_bytes, "there is no user `%.64s`", user);
		return -EINVAL;
	}
	if (!find_entry(NULL, (uid_t)uid, id))
		make_own((uint32_t)uid, id);
	return 0;
}

static bool find_sudo_user(struct identity *id)
{
	const char *text = getenv("SUDO_UID");
	uint64_t uid;

	if (!text || num_parse_u64(text, strlen(text), UINT32_MAX - 1, &uid) < 0 || !uid)
		return false;
	return find_entry(NULL, (uid_t)uid, id);
}

int identity_find(
	const char *user, const char *sandbox, struct identity *ret, char *why, size_t why_bytes)
{
	struct identity id = {.slot_fd = -1};
	int slot = take_slot(sandbox, &id), r = 0;

	if (slot < 0) {
		snprintf(why, why_bytes, "no user for the sandbox: %s", strerror(-slot));
		return slot;
	}
	if (user) {
		r = find_user(user, &id, why, why_bytes);
	} else if (!find_sudo_user(&id)) {
		make_own(IDENTITY_SANDBOX_UID + (uint32_t)slot, &id);
		id.is_own = true;
	}
	if (r >= 0 && id.uid == 0) {
		snprintf(why, why_bytes,
			"the command cannot run as root: root's files are the host's, so nothing "
			"would keep it from the policy, the audit log and other processes; "
			"choose another user with -u");
		r = -EPERM;
	}
	if (r < 0) {
		identity_done(&id);
		return r;
	}
	*ret = id;
	return 0;
}

int identity_of(uid_t uid, const char *sandbox, struct identity *ret)
{
	struct identity id = {.slot_fd = -1};
	int slot = take_slot(sandbox, &id);

	if (slot < 0)
		return slot;
	if (!find_entry(NULL, uid, &id))
		make_own(uid, &id);
	*ret = id;
	return 0;
}

void identity_done(struct identity *id)
{
	if (id->slot_fd >= 0)
		close(id->slot_fd);
	id->slot_fd = -1;
}
