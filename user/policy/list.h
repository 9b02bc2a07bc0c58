/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of a `list:` target: a host a line, or lines of a hosts file; `#` comments. */
#ifndef NEJ_POLICY_LIST_H
#define NEJ_POLICY_LIST_H

#include "../base/buf.h"
#include "../base/err.h"
#include "draft.h"

/*
 * Appends each host of list->data to names as a record: one length byte, then the key (key.h). At
 * most max hosts. Fills n_names and top. Errors name file and line, and the place in the policy.
 * 0, -EINVAL (errors in errs) or -ENOMEM.
 */
int list_read(struct arena *a, struct draft_list *list, size_t max, struct err_list *errs,
	struct buf *names);

#endif
