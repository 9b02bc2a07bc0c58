/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `nej watch` shows: grants in force, then denied attempts folded by what was asked for. Which row is
 * selected is known by the row, not by its place. Knows no terminal.
 */
#ifndef NEJ_CLI_WATCH_LIST_H
#define NEJ_CLI_WATCH_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/bounds.h"
#include "../audit/read.h"
#include "../base/htab.h"
#include "target.h"

#define WATCH_MAX_ROWS 512 /* denied: the one longest without an attempt goes */

/* Texts of rows may hold any byte: they are for screen.h. */
struct watch_row {
	struct htab_node node;
	char *key;
	uint32_t grant; /* its number; 0: a denied attempt */
	char *target;   /* a grant's, or where the attempt went */
	char *request;  /* method and path; NULL */
	char *reason;   /* with the rule's text, if one denied it; of a grant its note; NULL */
	char *process;  /* the last one; NULL */
	uint32_t uid;
	uint64_t expiry_ms; /* of a grant, by the caller's clock */
	struct target wanted;
	uint64_t count;
	char time[9];         /* of the last attempt, HH:MM:SS */
	uint64_t first, last; /* which one it was */
	bool is_ignored, is_stale;
};

enum watch_order {
	WATCH_BY_FIRST, /* what is new first: rows stay in their order */
	WATCH_BY_LAST,  /* the newest attempt first */
	WATCH_BY_COUNT,
	WATCH_ORDERS,
};

struct watch_list {
	struct watch_row **rows;
	size_t n, cap;
	struct htab index;
	struct watch_row *selected; /* NULL: the first */
	enum watch_order order;
	uint64_t n_attempts, n_denied; /* rows ever, and attempts */
	uint64_t n_dropped;            /* rows that had to go */
	size_t n_ignored;
};

void watch_list_init(struct watch_list *l);
void watch_list_done(struct watch_list *l);
/* Another sandbox of that name has begun. */
void watch_list_clear(struct watch_list *l);

/* A denied attempt; other records are passed over. 1: there is news, 0, -ENOMEM. */
int watch_list_add(struct watch_list *l, const struct audit_record *r);
/* status' `grants`, in place of those before. 0 or -ENOMEM. */
int watch_list_set_grants(struct watch_list *l, const json_t *grants, uint64_t now_ms);

/* Those that are to be seen, in order: grants first. Returns how many, at most max. */
size_t watch_list_view(struct watch_list *l, struct watch_row **ret, size_t max);
/* The selected row, and its place in the view. NULL: there is none. */
struct watch_row *watch_list_selected(struct watch_list *l, size_t *ret_place);
/* So many rows down (or up). */
void watch_list_move(struct watch_list *l, long by);

void watch_list_ignore(struct watch_list *l, struct watch_row *row); /* no grant */
void watch_list_show_all(struct watch_list *l);
/* It comes back with the next attempt. */
void watch_list_forget(struct watch_list *l, struct watch_row *row);

#endif
