/* SPDX-License-Identifier: GPL-2.0-only */
/* What identifies a policy: a SHA-256 over its text and the files of its lists. */
#ifndef NEJ_POLICY_DIGEST_H
#define NEJ_POLICY_DIGEST_H

#include <stddef.h>

#include "draft.h"

#define DIGEST_HEX_BYTES 65

/* Of the text alone it is what sha256sum(1) prints; each list, then each `ca`, adds the digest of
 * its own content behind it. 0 or -EIO. */
int digest_policy(const char *text, size_t len_bytes, const struct draft *d,
	char ret_hex[static DIGEST_HEX_BYTES]);

#endif
