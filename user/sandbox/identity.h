/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom the command and the worker run as. Users of their own come from a range that no
 * distribution, container engine or systemd hands out (systemd's UIDS-GIDS: 1879048192 to
 * 2147352575 is unused), one slot a sandbox, held by a lock as long as its supervisor lives.
 */
#ifndef NEJ_SANDBOX_IDENTITY_H
#define NEJ_SANDBOX_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define IDENTITY_SLOTS 10000u
#define IDENTITY_SANDBOX_UID 2000000000u /* + slot: a command without a user of its own */
#define IDENTITY_WORKER_UID 2000100000u  /* + slot */
/* Inside the sandbox's mount namespace: the home of a user that has none. */
#define IDENTITY_PRIVATE_HOME "/run/nej/home"

struct identity {
	uid_t uid;
	gid_t gid;
	uid_t worker_uid;
	bool is_own;      /* of the reserved range */
	bool needs_entry; /* /etc/passwd does not know it */
	char name[64];
	char home[256];
	char shell[128];
	int slot_fd; /* the lock */
};

/* user: name or number, or NULL for who called sudo, else one of the sandbox's own. sandbox picks
 * the slot, so that a name keeps its user. On failure `why` is a sentence: -EINVAL (unknown user),
 * -EPERM (root), -EUSERS (no slot), other errno. */
int identity_find(
	const char *user, const char *sandbox, struct identity *ret, char *why, size_t why_bytes);
/* Of processes that are there: this user, root too. 0 or -EUSERS, other negative errno. */
int identity_of(uid_t uid, const char *sandbox, struct identity *ret);
void identity_done(struct identity *id);

#endif
