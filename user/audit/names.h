/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which name a synthetic address stands for, as the worker told: the kernel's refusals know only
 * the address, and a record without the name would help nobody. Owned by the sink.
 */
#ifndef NEJ_AUDIT_NAMES_H
#define NEJ_AUDIT_NAMES_H

#include "event.h"

struct names;

struct names *names_new(void); /* NULL: no memory */
void names_free(struct names *names);

/* Takes a NAME_GIVEN event. Beyond 2 * NEJ_MAX_SYNTH addresses new ones are not remembered. */
void names_learn(struct names *names, const struct audit_event *event);

/* The name of an address, valid until the next learn; ptr NULL when it has none. */
struct audit_text names_find(const struct names *names, const struct addr *addr);

#endif
