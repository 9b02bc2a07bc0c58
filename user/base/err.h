/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Errors in what a user gave us, as values: where, what is wrong, what to write instead. They are
 * collected up to NEJ_MAX_ERRORS and printed together. Errors of the machine are negative errnos.
 */
#ifndef NEJ_BASE_ERR_H
#define NEJ_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../../include/bounds.h"

struct err {
	unsigned int line;   /* from 1; 0: the whole file */
	unsigned int column; /* from 1; 0: the whole line */
	bool is_warning;
	char what[256]; /* what is wrong */
	char mend[256]; /* what to write instead; may be empty */
};

struct err_list {
	const char *file; /* not owned */
	struct err items[NEJ_MAX_ERRORS];
	size_t n_errors;   /* all, also those beyond the array */
	size_t n_warnings; /* likewise */
	size_t n_items;
};

void err_init(struct err_list *list, const char *file);

/* Adds an error; `what` and `mend` are formats sharing no arguments: mend is plain text or NULL. */
void err_add(struct err_list *list, unsigned int line, unsigned int column, const char *mend,
	const char *what, ...) __attribute__((format(printf, 5, 6)));
void err_warn(struct err_list *list, unsigned int line, unsigned int column, const char *mend,
	const char *what, ...) __attribute__((format(printf, 5, 6)));

/* Prints `FILE:LINE:COLUMN: error: WHAT; MEND` lines, errors and warnings in order. */
void err_print(const struct err_list *list, FILE *to);

#endif
