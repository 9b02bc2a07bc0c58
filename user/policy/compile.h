/* SPDX-License-Identifier: GPL-2.0-only */
/* A draft to an image (image.h) in a sealed memfd. Reads the draft's lists, the big part. */
#ifndef NEJ_POLICY_COMPILE_H
#define NEJ_POLICY_COMPILE_H

#include "../base/err.h"
#include "draft.h"

/* sha256: 64 hex digits. *ret_fd is the caller's. The draft's list data is freed on the way. 0;
 * -EINVAL with errors in errs (lists); other negative errno. */
int compile_policy(struct draft *d, const char *sha256, struct err_list *errs, int *ret_fd);

#endif
