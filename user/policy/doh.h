/* SPDX-License-Identifier: GPL-2.0-only */
/* Well-known resolvers over HTTPS: `default: allow` leaves them out unless a rule allows them. */
#ifndef NEJ_POLICY_DOH_H
#define NEJ_POLICY_DOH_H

/* Each with everything under it; NULL behind the last. */
extern const char *const doh_names[];

#endif
