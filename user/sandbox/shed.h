/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives back the memory that only the start needed. */
#ifndef NEJ_SANDBOX_SHED_H
#define NEJ_SANDBOX_SHED_H

/* Free heap, and pages of code and constants: what is needed again is mapped again. */
void shed_memory(void);

#endif
