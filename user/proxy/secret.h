/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The credentials of the sandbox, in the worker: placeholders, and the values that stand in for them
 * on the wire. The values are in locked memory that no core dump has, and wiped when the last user is
 * done. Shared by the threads of a worker. Read inject.h next for what a request has to do with it.
 */
#ifndef NEJ_PROXY_SECRET_H
#define NEJ_PROXY_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../policy/secret.h"
#include "../wire/needle.h"

struct secret_text {
	const char *ptr; /* not NUL-terminated */
	size_t len;      /* 0: there is none now */
};

/* One secret of the policy, by its number there. */
struct secret {
	const char *name;
	struct secret_text placeholder, value;
	struct secret_text key_id; /* of AWS Signature V4 */
	uint8_t in;                /* enum policy_secret_in, or-ed */
	bool is_aws;
};

/* One state of all secrets. Whoever takes it gives it back. */
struct secret_book;
struct secret_store;

int secret_store_new(struct secret_store **ret);
void secret_store_free(struct secret_store *store); /* books that are still in use live on */

/* Replaces the state: items (of which the texts are copied) are the policy's secrets, in its order.
 * -EINVAL: not as many as the policy has; a placeholder that is too short to be told from other
 * text; a control character in a value, which would end a header line. The old state stays then. */
int secret_store_set(struct secret_store *store, const struct policy *policy,
	const struct secret *items, size_t n);

/* No state: what needs a credential is refused from now on. */
void secret_store_clear(struct secret_store *store);

/* The state for requests that this policy decides. NULL: there are no secrets, or they belong to
 * another policy. store may be NULL. */
struct secret_book *secret_take(struct secret_store *store, const struct policy *policy);
struct secret_book *secret_share(struct secret_book *book); /* once more */
void secret_drop(struct secret_book *book);                 /* NULL is fine */

size_t secret_count(const struct secret_book *book);
uint64_t secret_serial(const struct secret_book *book); /* another one for each state */
const struct secret *secret_at(const struct secret_book *book, size_t i);
const struct needles *secret_placeholders(
	const struct secret_book *book); /* id: the secret's number */
const struct needles *secret_values(const struct secret_book *book);

#endif
