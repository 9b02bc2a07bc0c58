/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sandbox may use at most and how long it may live idle, as people write it: one table for the
 * command line, nej.yaml and the audit. resources.h puts the first three into the kernel, idle.h
 * keeps the others.
 */
#ifndef NEJ_SANDBOX_LIMITS_H
#define NEJ_SANDBOX_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum limit {
	LIMIT_MEMORY, /* bytes, of all its processes */
	LIMIT_PIDS,   /* processes and threads */
	LIMIT_CPUS,   /* thousandths of a CPU */
	LIMIT_IDLE,   /* seconds */
	LIMIT_GRACE,  /* seconds from SIGTERM to SIGKILL */
	LIMIT_COUNT,
};

#define LIMIT_TEXT_BYTES 48

const char *limit_word(enum limit which);  /* as in nej.yaml, `memory`; the option is `--memory` */
const char *limit_forms(enum limit which); /* what can be written, for messages */
/* `512M`, `100`, `1.5`, `30m`. 0, -EINVAL, -ERANGE. Never gives 0. */
int limit_parse(enum limit which, const char *text, uint64_t *ret);
void limit_print(enum limit which, uint64_t value, char out[static LIMIT_TEXT_BYTES]);

#endif
