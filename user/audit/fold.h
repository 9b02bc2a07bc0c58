/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floods of refusals kept small without losing their number. The first of a kind is written at once,
 * its repeats within a second become one event; when too many different ones come in a second, they
 * are gathered by site or network. Knows nothing of files; the sink writes what comes out.
 */
#ifndef NEJ_AUDIT_FOLD_H
#define NEJ_AUDIT_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define FOLD_WINDOW_MS 1000
#define FOLD_MAX_DISTINCT 2000 /* written one by one in a second; above, by site or network */
#define FOLD_MAX_SITES 1000    /* of these in a second; above, by layer and reason */

struct folds;

int folds_new(struct folds **ret); /* 0, -ENOMEM */
void folds_free(struct folds *f);

/* True: taken, it comes out of folds_close later. False: write it now. Only refusals are taken. */
bool folds_take(struct folds *f, const struct audit_event *e, uint64_t now_ms);

/* Gives what is due at now_ms (UINT64_MAX: all) to on_event: `count` is the number of attempts, the
 * time that of the last one; texts are valid for the call. */
void folds_close(struct folds *f, uint64_t now_ms,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg);

/* ms until folds_close has something to do, -1: nothing is pending. */
int folds_next_ms(const struct folds *f, uint64_t now_ms);

#endif
