/* SPDX-License-Identifier: GPL-2.0-only */
/* Targets that can never match because an earlier rule takes all they name; for warnings. */
#ifndef NEJ_POLICY_SHADOW_H
#define NEJ_POLICY_SHADOW_H

#include "../base/err.h"
#include "draft.h"

void shadow_warn(const struct draft *d, const struct policy *p, struct err_list *errs);

#endif
