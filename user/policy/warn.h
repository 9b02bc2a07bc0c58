/* SPDX-License-Identifier: GPL-2.0-only */
/* What is allowed but looks like a mistake, said as warnings; never refuses anything. */
#ifndef NEJ_POLICY_WARN_H
#define NEJ_POLICY_WARN_H

#include "../base/err.h"
#include "draft.h"

/* The draft's lists may be without their data by now. */
void warn_policy(const struct draft *d, const struct policy *p, struct err_list *errs);

#endif
