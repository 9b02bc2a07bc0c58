/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The secrets a policy names: where their values come from, where they may go. Values are nowhere in
 * a policy; sandbox/secrets.c reads them.
 */
#ifndef NEJ_POLICY_SECRET_H
#define NEJ_POLICY_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/host.h"

#define POLICY_MAX_SECRETS 64 /* error */

struct policy;

enum policy_secret_in {
	POLICY_SECRET_HEADERS = 1,
	POLICY_SECRET_QUERY = 2,
	POLICY_SECRET_BODY = 4,
};

struct policy_secret {
	const char *name;   /* of it and of its variable in the sandbox */
	uint8_t in;         /* enum policy_secret_in, or-ed; never 0 */
	bool is_aws;        /* signs AWS Signature V4 anew */
	const char *key_id; /* the secret or variable with the access key id, or NULL */
};

enum policy_source_kind {
	POLICY_SOURCE_ENV,     /* argument 0: the variable's name */
	POLICY_SOURCE_FILE,    /* argument 0: an absolute path */
	POLICY_SOURCE_COMMAND, /* the words to execute */
};

/* Secrets are numbered as the policy lists them. */
size_t policy_secret_count(const struct policy *p);
/* False behind the last. */
bool policy_secret(const struct policy *p, size_t i, struct policy_secret *ret);

/* Where the value of secret i comes from, and argument k of that source, NULL behind the last. */
enum policy_source_kind policy_secret_source(const struct policy *p, size_t i);
const char *policy_secret_arg(const struct policy *p, size_t i, size_t k);

/* The secrets whose `for` covers the host, ascending. A host there is meant with every port; an
 * address is covered by none. Returns how many, at most max. */
size_t policy_secrets_for(
	const struct policy *p, const struct host *host, uint16_t port, uint16_t *ret, size_t max);

#endif
