/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A YAML 1.2 text as a tree of nodes with their places. Only what the policy language uses: one
 * document of maps, lists and scalars; anchors, aliases and tags are errors. Knows no keys: that
 * is parse.c.
 */
#ifndef NEJ_POLICY_YAML_H
#define NEJ_POLICY_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/err.h"
#include "arena.h"

enum yaml_kind {
	YAML_SCALAR,
	YAML_MAP,
	YAML_LIST,
};

struct yaml_node {
	enum yaml_kind kind;
	bool is_plain;             /* a scalar without quotes */
	bool is_null;              /* a plain scalar that is empty, ~ or null */
	unsigned int line, column; /* from 1 */
	const char *text;          /* of a scalar; NUL-terminated */
	size_t len;
	const struct yaml_node *key;    /* of a value in a map: its key, a scalar */
	struct yaml_node *first, *next; /* first of a map or list; next sibling */
	size_t n;                       /* children */
};

/* *ret_root is NULL for a text without a document. 0; -EINVAL with errors in errs; -ENOMEM. */
int yaml_parse(const char *text, size_t len_bytes, struct arena *a, struct err_list *errs,
	struct yaml_node **ret_root);

#endif
