/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sandboxes a gateway serves, as a folder: NAME.yaml is a sandbox's policy, NAME.secret its
 * password or `sha256:` and the password's SHA-256. Read again when anything changed. One whose
 * files cannot be used stays known, so that it can be refused with the reason. Read gateway.c next.
 */
#ifndef NEJ_SANDBOX_TENANTS_H
#define NEJ_SANDBOX_TENANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../policy/policy.h"

#define TENANTS_MAX 1024 /* further ones are not served, with a message */
#define TENANT_NAME_BYTES 64
#define TENANT_HASH_BYTES 65 /* SHA-256 in hexadecimal and a NUL */

struct tenant {
	struct tenant *next;
	char name[TENANT_NAME_BYTES];
	char path[4096];              /* of the policy */
	char hash[TENANT_HASH_BYTES]; /* of the password; empty: nobody can be it */
	struct policy *policy;        /* NULL: `why` */
	char why[320];
	uint64_t policy_mark, secret_mark; /* of the files as they were read; 0: none */
	uint32_t generation;               /* of the policy, unique among all; 0: none yet */
	struct policy *old;                /* the one before, whose last events may be under way */
	uint32_t old_generation;
	bool is_seen;
};

struct tenants {
	const char *dir;
	struct tenant *first;
	size_t n;
	bool is_full_told;
	uint32_t generation; /* the newest */
	/* One is new, or its policy or password is another. */
	void (*on_change)(void *arg, struct tenant *t);
	/* Its policy's file is gone; it is freed after the call. */
	void (*on_gone)(void *arg, struct tenant *t);
	/* What was decided by this generation can no more be explained. */
	void (*on_forget)(void *arg, uint32_t generation);
	void *arg;
};

/* Looks at the folder. 0; -EPERM: others than root could change it; other negative errno: then all
 * are told of as without a policy. */
int tenants_scan(struct tenants *t);
/* The policy of a generation, also one that was just replaced. NULL: unknown, or there was none. */
const struct policy *tenants_policy(const struct tenants *t, uint32_t generation);
void tenants_free(struct tenants *t);

/* May a sandbox be called this? */
bool tenants_is_name(const char *s, size_t len_bytes);
/* What a NAME.secret holds. 0, or -EINVAL with a sentence in *ret_why. */
int tenants_read_secret(const char *text, size_t len_bytes, char ret[static TENANT_HASH_BYTES],
	const char **ret_why);

#endif
