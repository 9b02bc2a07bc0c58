/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Containers under a policy from their first instruction: what the hooks of an OCI runtime do. The
 * runtime has made cgroup and namespaces and waits; ocistate.h is what it says.
 */
#ifndef NEJ_SANDBOX_OCI_H
#define NEJ_SANDBOX_OCI_H

#include "ocichoice.h"
#include "ociguard.h"
#include "ocistate.h"

struct oci_plan {
	struct ocichoice_plan choice;
	struct ociguard_accept accept;
};

/* createRuntime: enforced when this returns 0; else nothing of ours is left and the message is out. An
 * exit status. */
int oci_confine(const struct ocistate *s, const struct oci_plan *plan);
/* poststop: as often as one likes, also for a container that was left alone. What others still live in is
 * left as it is. */
int oci_release(const struct ocistate *s);

#endif
