/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a container's annotations to a policy's file and a sandbox's name. Whoever writes annotations
 * chooses among the policies of the operator's folder, and cannot name another file of the host.
 */
#ifndef NEJ_SANDBOX_OCICHOICE_H
#define NEJ_SANDBOX_OCICHOICE_H

#include <limits.h>
#include <stdbool.h>

#include "ocistate.h"
#include "state.h"

#define OCICHOICE_ROOT "/etc/nej"
#define OCICHOICE_POLICIES OCICHOICE_ROOT "/policies"
#define OCICHOICE_DEFAULT OCICHOICE_ROOT "/default.yaml"
#define OCICHOICE_NAME_BYTES (sizeof(((struct state *)NULL)->name))

struct ocichoice_plan {
	const char *policies; /* NULL: OCICHOICE_POLICIES, and paths below OCICHOICE_ROOT */
	const char *
		fallback; /* for containers without the annotation; NULL: OCICHOICE_DEFAULT if it is there */
	bool is_required; /* without fallback they do not start; else they are left alone */
};

/* 0, with an empty path for a container that is left alone; or -EINVAL with a sentence why. The file
 * may still be missing, or not root's alone. */
int ocichoice_policy(const struct ocistate *s, const struct ocichoice_plan *plan,
	char ret[static PATH_MAX], char *why, size_t why_bytes);
/* 0, or -EINVAL with a sentence why. Two ids never give one name. */
int ocichoice_name(const struct ocistate *s, char ret[static OCICHOICE_NAME_BYTES], char *why,
	size_t why_bytes);

#endif
