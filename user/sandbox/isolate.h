/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker locks itself in: it parses hostile bytes, so it keeps nothing it does not need. */
#ifndef NEJ_SANDBOX_ISOLATE_H
#define NEJ_SANDBOX_ISOLATE_H

#include <sys/types.h>

/* Raises the limit of descriptors as far as it goes, while still allowed to. */
void isolate_prepare(void);

/* From root to a user of its own without groups, capabilities, file system, exec or any system call
 * it does not need; for good, and for threads started later. flows_fd: a BPF map whose lookup must
 * still work; CAP_BPF is kept only if the kernel refuses it otherwise (before 5.19). 0 or negative
 * errno, with the step in *ret_step. */
int isolate(uid_t uid, int flows_fd, const char **ret_step);

#endif
