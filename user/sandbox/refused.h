/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Socket families the command's filter refuses, told to the supervisor (seccomp_unotify(2)) so that
 * each attempt is on record. The answer is always no; without a supervisor the kernel says ENOSYS.
 */
#ifndef NEJ_SANDBOX_REFUSED_H
#define NEJ_SANDBOX_REFUSED_H

#include "../audit/event.h"
#include "../base/loop.h"

struct refused;

/* fd: of filter_load, owned from now on. on_event is called from the loop, once an attempt. */
int refused_new(struct loop *loop, int fd,
	void (*on_event)(void *arg, const struct audit_event *event), void *arg,
	struct refused **ret);
uint64_t refused_count(const struct refused *r); /* attempts so far; NULL: 0 */
void refused_free(struct refused *r);

#endif
