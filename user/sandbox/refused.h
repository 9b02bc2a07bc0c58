/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets the command's filter refuses (other families, raw, ping), told to the supervisor
 * (seccomp_unotify(2)) so that each attempt is on record. The answer is always no; without a supervisor the kernel says ENOSYS.
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
/* Attempts so far of FAMILY or SOCKET_TYPE; NULL: 0. */
uint64_t refused_count(const struct refused *r, enum nej_reason reason);
void refused_free(struct refused *r);

#endif
