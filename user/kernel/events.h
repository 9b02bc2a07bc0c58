/* SPDX-License-Identifier: GPL-2.0-only */
/* Drains the ring buffer and the folded counts of the BPF programs into audit events. */
#ifndef NEJ_KERNEL_EVENTS_H
#define NEJ_KERNEL_EVENTS_H

#include "../audit/event.h"
#include "../base/loop.h"
#include "object.h"

struct events;

/* on_event is called from the loop, at most 50 ms after the refusal and never while idle. */
int events_new(struct loop *loop, struct object *o,
	void (*on_event)(void *arg, const struct audit_event *event), void *arg,
	struct events **ret);
/* Drains all that is there now, folds included; call once more before the end. */
void events_drain(struct events *e);
/* Refusals the ring could not take and folds forgot, since the last call: an EVENTS_LOST record. */
uint64_t events_lost(struct events *e);
void events_free(struct events *e);

#endif
