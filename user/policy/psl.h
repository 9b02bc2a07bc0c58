/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a name one under which strangers can register? Asked by warnings only, never by a verdict. */
#ifndef NEJ_POLICY_PSL_H
#define NEJ_POLICY_PSL_H

#include <stdbool.h>

enum psl_kind {
	PSL_NONE,
	PSL_PUBLIC, /* a registry's suffix: com, co.uk */
	PSL_SHARED, /* a host's suffix for its customers: github.io, s3.amazonaws.com */
};

/* name: lower case A-labels without trailing dot. */
enum psl_kind psl_kind_of(const char *name);

/* Is it served from addresses that serve other names too (a content network, a cloud's front)? */
bool psl_is_on_shared_range(const char *name);

#endif
