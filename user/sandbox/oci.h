/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Containers under a policy from their first instruction: what the hooks of an OCI runtime do. The
 * runtime has made cgroup and namespaces and waits; ocistate.h is what it says.
 */
#ifndef NEJ_SANDBOX_OCI_H
#define NEJ_SANDBOX_OCI_H

#include <stdbool.h>

#include "ocistate.h"

#define OCI_POLICIES "/etc/nej/policies"
#define OCI_DEFAULT "/etc/nej/default.yaml"

struct oci_plan {
	const char *policies; /* where a name of the annotation nej.policy is looked for */
	bool is_closed;       /* the annotation may be no path of its own */
	const char *fallback; /* the policy of containers without the annotation */
	bool is_required;     /* without fallback they do not start; else they are left alone */
};

/* createRuntime: enforced when this returns 0; else nothing of ours is left and the message is out. An
 * exit status. */
int oci_confine(const struct ocistate *s, const struct oci_plan *plan);
/* poststop: as often as one likes, also for a container that was left alone. */
int oci_release(const struct ocistate *s);

#endif
