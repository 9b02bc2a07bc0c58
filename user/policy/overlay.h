/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Temporary allow rules at the head of a policy. They are an image of their own that lies over the
 * policy's, so that the policy is neither read nor compiled again; decide.c passes over those whose
 * time is up. Who grants what to whom is sandbox/grants.c's.
 */
#ifndef NEJ_POLICY_OVERLAY_H
#define NEJ_POLICY_OVERLAY_H

#include "policy.h"

#define OVERLAY_MAX_TARGET_BYTES 1000

struct policy_grant {
	uint32_t id;        /* 1 to NEJ_MAX_GRANT_ID */
	uint64_t expiry_ns; /* CLOCK_BOOTTIME */
	const char *target; /* one target of a rule, no list */
	const char *note;   /* NULL without one */
	bool is_kernel;     /* transport: kernel */
};

/* An image of n grants, the first of which is tried first. Errors and warnings stand in errs; their
 * line is the grant's place in the list, from 1. 0, -EINVAL with errors, other negative errno. */
int overlay_load(
	const struct policy_grant *grants, size_t n, struct err_list *errs, struct policy **ret);
/* The same from its memfd (policy_fd), for the worker. -EINVAL: these are no grants. */
int overlay_map(int fd, struct policy **ret);

/* Lays an image of grants (owned from now on; NULL: none) over a policy, and gives back what lay
 * there, the caller's to free. */
struct policy *overlay_lay(struct policy *p, struct policy *grants);
/* What lies there, or NULL. Its ports and kernel ranges are asked for as those of any policy. */
const struct policy *overlay_of(const struct policy *p);

/* Number and end of grant i of an image; false behind the last. */
bool overlay_grant(
	const struct policy *grants, size_t i, uint32_t *ret_id, uint64_t *ret_expiry_ns);

/* Would a target of grants, laid over a policy, open nothing at all? The reason, or NONE. */
enum nej_reason overlay_refusal(
	const struct policy *p, struct policy *grants, const struct policy_grant *grant);

/* The image of the grant with this number and, in its place, the index there. NULL: it does not lie
 * over p. */
const struct policy *overlay_find(const struct policy *p, uint32_t *rule);

#endif
