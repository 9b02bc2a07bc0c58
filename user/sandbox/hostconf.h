/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /etc/nej/nej.yaml: what every `nej run` of this host gets when it asks for nothing, and what none may
 * ask for more than. Root's file; see nej(8).
 */
#ifndef NEJ_SANDBOX_HOSTCONF_H
#define NEJ_SANDBOX_HOSTCONF_H

#include "../base/err.h"
#include "limits.h"

#define HOSTCONF_PATH "/etc/nej/nej.yaml"

struct hostconf {
	uint64_t defaults[LIMIT_COUNT], ceilings[LIMIT_COUNT]; /* 0: none */
};

/* 0, -EINVAL with errors in errs. */
int hostconf_parse(const char *text, size_t len_bytes, struct err_list *errs, struct hostconf *ret);

/* Fills in what was not asked for. A default that is not there is the ceiling. False: a request is over
 * its ceiling, and *ret_which it is. */
bool hostconf_settle(
	const struct hostconf *c, uint64_t limits[static LIMIT_COUNT], enum limit *ret_which);

/* Both of the file, if there is one. 0 or an exit status; the message is out. */
int hostconf_apply(uint64_t limits[static LIMIT_COUNT]);

#endif
